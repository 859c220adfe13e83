"""The bodies of the kernels in Numba: loops that are compiled at their first call, in each process.

Idea. Each file has the bodies of the kernels that the file of the same name in `oop.kernels.signatures` declares. The
declarations say what kernels do, and check their arguments.

Way in. Read `late.py`, a short stem, beside the file of that name in `oop.kernels.signatures`. `compiler` is the only
file that imports numba, and `tables` has the loops of hash tables. Call kernels through
`oop.kernels.dispatch.kernels("jit")`: the package is imported only if these kernels are chosen, or a user's aggregate
is compiled.
"""
