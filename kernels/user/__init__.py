"""Aggregates that users wrote: (init, incr, merge, final), as loops over dense group ids.

Idea. A user's functions take one row, or two states, at a time; the loops around them go over all rows of a batch.

Way in. `folds` has what a user gives. `loops.user_loops` returns the loops of `plain`, in Python, or of `compiled`,
which Numba compiles around the user's functions. Native kernels use the latter, because C cannot call Python functions.
`checked` has what all loops check, and `fingerprints` identifies functions in the same way in every process.
"""
