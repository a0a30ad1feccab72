"""Whole stages at once: spread over shards, derived by the compiled kernels inside Arrow tasks."""
