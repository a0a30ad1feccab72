"""Relations as DataFrames: committed, while a large change goes through them, and as users read them."""
