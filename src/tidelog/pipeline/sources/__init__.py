"""From records as Spark reads them to clean facts, and to rejects with a reason."""
