"""Pictures of a program's hyper rules dependency graph: what to draw, where to put it, and three ways to write it."""
