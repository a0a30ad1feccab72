"""The compiled, in-process backend: dictionary-encoded facts, hash indexes, Numba kernels."""
