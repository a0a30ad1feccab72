"""What the reports measure: programs with their facts, read from files or generated."""
