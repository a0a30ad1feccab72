"""The main job measured: a million facts and two hundred update files (big.py), half an hour of following (soak.py)."""
