"""Seeing what a run does: logs, progress and metrics.

What      : three small modules, one for each reader: logs for a person afterwards, progress for a person waiting,
            metrics for a program that watches.
Never     : nothing here changes a result, and nothing here imports another room of Tidelog except `errors`.
"""
