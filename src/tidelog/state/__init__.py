"""DURABLE VERSIONS: an engine's facts, rules and batches on disk, as an open table with time travel (see log.py)."""
