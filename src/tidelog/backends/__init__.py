"""Where facts live and joins run: one folder per backend, each supplying the same handful of coarse operations."""
