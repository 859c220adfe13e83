"""What users compose: `oop.source` gives a `Stream`, each method of which gives another.

The ways in: `oop.streams.sources.source` and `oop.streams.stream.Stream`. A method of a stream is its words and its
example; what it does is in the module that its idea has here, which takes a plan so far (`oop.plan.flow.Flow`), checks
what the user wrote, and gives the plan with one more operator.
"""
