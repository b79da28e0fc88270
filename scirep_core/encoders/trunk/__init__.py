"""The packed transformer and its kernels."""
