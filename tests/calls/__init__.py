"""How many Python calls a batch costs, stored as the instructions of the C kernels are."""
