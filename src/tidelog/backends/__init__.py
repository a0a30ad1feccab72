"""Where facts live and joins run: one folder per backend."""
