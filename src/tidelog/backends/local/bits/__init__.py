"""Stages as words of bits: relations of pairs become bit matrices for one fixpoint, and its result becomes rows."""
