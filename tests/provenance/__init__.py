"""Proofs: found by one hand, checked by another."""
