"""The Spark backend: Spark partitions, exchanges, keeps and recovers; our kernels compute.

Never     : importing this package starts nothing and needs neither Java nor PySpark; its modules do when they are used.
"""
