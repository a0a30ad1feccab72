"""The compiled, in-process backend: constants as integers, kernels compiled with Numba."""
