"""Stored state: what is saved comes back, whole or not at all."""
