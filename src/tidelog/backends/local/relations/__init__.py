"""Facts at rest: rows, marks, hash indexes, derivation counts, and sets of row numbers."""
