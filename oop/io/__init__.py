"""Data from outside and results to outside, as batches and promises of one schema.

The ways in: `oop.io.opening.open_data` makes `Data` of anything that a source may be given. `oop.io.targets` reads what
``run(to=…)`` names, and `oop.io.sinks.open_sink` opens it. File formats are in `oop.io.formats`, one module for each.
"""
