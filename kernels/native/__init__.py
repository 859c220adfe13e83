"""The bodies of the kernels in C, through cffi. The C loops run without the GIL and report failure by a return code.

Each file has the bodies of the kernels that the file of the same name in `oop.kernels.signatures` declares, which also
says what they do and has checked what they are given; the pair of the same name in `csrc/` has the loops. `library` is
the only file that imports the compiled module. Call them through `oop.kernels.dispatch.kernels("native")`.
"""

FINDS_OUTSIDE = True
"""C finds ids and rows that are outside in its pass over them: nobody looks for them before that."""
