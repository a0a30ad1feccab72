"""The maintenance reports: the experiments of four papers, with every strategy on one machine.

Data that are not public or too large are substituted by data of the same structure; docs/papers.md says which.
"""
