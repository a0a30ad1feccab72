"""Tests of the language: text to program and back."""
