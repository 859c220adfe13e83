"""The bodies of the kernels in NumPy and plain Python: the executable specification that `oop.kernels.jit` and
`oop.kernels.native` are proven equal to.

Each file has the bodies of the kernels that the file of the same name in `oop.kernels.signatures` declares, which also
says what they do and has checked what they are given. Call them through `oop.kernels.dispatch.kernels("reference")`.
"""
