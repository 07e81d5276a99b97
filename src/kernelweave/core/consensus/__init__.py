"""The self-weighted consensus of kernels."""
