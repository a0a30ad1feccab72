"""The long tiers of the guarantees' figures, the command that runs them, and what they found: one JSON file each."""
