"""Questions about a program, one per file, answered by pure functions before anything is evaluated.

Nothing here reads text, touches facts of an engine or knows how rules are evaluated.
"""
