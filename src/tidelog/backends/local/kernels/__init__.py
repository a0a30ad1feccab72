"""What every compiled kernel stands on: how it is compiled, memory by address, hash tables over rows."""
