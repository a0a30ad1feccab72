"""WHY: proofs of facts, found in the materialisation (explain.py) and checked by somebody else (checker.py)."""
