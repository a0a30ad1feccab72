"""Readers for the rule languages of other engines; each makes the same program object."""
