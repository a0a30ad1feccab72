"""The maintenance reports: four papers' experiments, repeated with every strategy on one machine."""
