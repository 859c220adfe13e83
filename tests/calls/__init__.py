"""The number of Python calls that a batch costs, stored like the instructions of the C kernels."""
