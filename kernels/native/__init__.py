"""The bodies of the kernels in C, through cffi. The C loops run without the GIL and report failure by a return code.

Idea. Each file has the bodies of the kernels that the file of the same name in `oop.kernels.signatures` declares. The
declarations say what kernels do, and check their arguments. The pair of the same name in `csrc/` has the loops.

Way in. Read `late.py`, a short stem, beside the file of that name in `oop.kernels.signatures`. `library` is the only
file that imports the compiled module. Call kernels through `oop.kernels.dispatch.kernels("native")`.
"""

FINDS_OUTSIDE = True
"""C finds ids and row numbers that are out of range in its pass over them, so declarations do not look for them."""
