"""Measurements. They are about the steady state, so kernels are compiled from the start."""

import os

os.environ.setdefault("TIDELOG_KERNELS", "compiled")
