"""Data from outside and results to outside, as batches and promises of one schema.

Idea. Whatever a source is given becomes `Data`: its schema, and its elements (batches and promises) in trains, each
batch checked and with exactly the stream's schema. A sink takes the elements of a result; a file appears under its name
only when it is complete.

Way in. Read `opening.py`: `open_data` makes `Data` (`data.py`) of anything that a source may be given. `targets.py`
reads what ``run(to=…)`` names, and `open_sink` in `sinks.py` opens it. File formats are in `oop.io.formats`, one module
for each. After that: `fitting.py` and `sound.py` (batches as the stream needs them), `policies.py` (policies fitted to
a column), `lulls.py` (sources that are asked how far they are), `low_water.py` (the promises of `exact()`), `ring.py`
(a source for measurements).

Decisions are in `DECISIONS.md` beside this file.
"""
