"""LUBM, the papers' benchmark: a generator of universities, the fourteen queries, and measurements beside others."""
