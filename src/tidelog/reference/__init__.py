"""The papers, literally: short pure Python over sets of facts, one module per algorithm; the executable specification."""
