"""What the driver holds of facts on Spark: which look-ups a call makes, what is there already, how the rest comes."""
