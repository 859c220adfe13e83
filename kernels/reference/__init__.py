"""The bodies of the kernels in NumPy and plain Python: the executable specification that `oop.kernels.jit` and
`oop.kernels.native` are proven equal to.

Idea. Each file has the bodies of the kernels that the file of the same name in `oop.kernels.signatures` declares. The
declarations say what kernels do, and check their arguments.

Way in. Read `late.py`, a short stem, beside the file of that name in `oop.kernels.signatures`. Call kernels through
`oop.kernels.dispatch.kernels("reference")`.
"""
