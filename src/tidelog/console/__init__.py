"""THE SHELL: lines typed by a person become questions, updates and commands."""
