"""Strategies on the naive twin of the store, and on every store that claims to be one."""
