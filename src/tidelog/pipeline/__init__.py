"""THE MAIN JOB: facts from anywhere, a followed stream of updates, durable versions, published changes (see job.py).

Never     : importing this package starts nothing; its modules import Spark when they are used.
"""
