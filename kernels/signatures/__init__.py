"""Kernels as they are called: each is declared once, with its signature, what it does, and the checks of its arguments.

Idea. A file of this package is a stem: one idea, with the same name as the files of its bodies in
`oop.kernels.reference`, `oop.kernels.jit` and `oop.kernels.native`, and as its pair in `csrc/`. The kernels of a stem
are the methods of its class, which is a `Stem`; all stems together are `oop.kernels.dispatch.Kernels`, which is how
they are reached. A method checks its arguments and ends in a call of its body, `self.run.name_of_the_kernel`: bodies
check nothing, and are given what was checked, in a form that suits all three. A kernel with state is a class: the
declaration is its base (`GroupTableBase`, say), whose methods check and call `run_…` methods of the body.

Way in. Read `stem.py`, then `late.py`, a short stem.

A check that looks at every row is made only once too. Where `finds_outside` says so, the declaration leaves it out,
because C makes it in its own pass over the rows. If C finds something, the body repeats the check to say what is wrong.
"""
