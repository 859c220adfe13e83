"""Aggregates that users wrote: (init, incr, merge, final), as loops over dense group ids.

`folds` says what a user gives, and `loops.user_loops` is the way in: it gives loops of `plain`, in Python, or of
`compiled`, which Numba compiles around the user's functions; native kernels use the latter, since C knows no Python.
`fingerprints` tells functions apart in every process alike.
"""
