"""Versions on their way out: the change feed, the outbox, the sinks."""
