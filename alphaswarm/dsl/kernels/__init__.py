"""Compiled kernels of the operators."""
