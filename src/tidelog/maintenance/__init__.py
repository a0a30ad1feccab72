"""Keeping a materialisation true: the store protocol (the narrow waist) and one strategy per file."""
