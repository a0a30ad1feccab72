"""QUESTIONS: a rule body asked of the materialisation, answered as a table."""
