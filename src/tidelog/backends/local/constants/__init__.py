"""Constants as dense integer ids, and what functions, comparisons and aggregates mean on them."""
