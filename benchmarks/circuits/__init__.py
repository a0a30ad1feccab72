"""What the circuit costs: DYRE's Figures 4-6 with our strategies, and pydbsp on its notebooks' workloads."""
