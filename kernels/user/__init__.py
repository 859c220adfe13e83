"""Aggregates that users wrote: (init, incr, merge, final), as loops over dense group ids.

`folds` has what a user gives, and `loops.user_loops` is the way in: it returns the loops of `plain`, in Python, or of
`compiled`, which Numba compiles around the user's functions. Native kernels use the latter, because C cannot call
Python functions. `checked` has what all loops check, and `fingerprints` identifies functions in the same way in every
process.
"""
