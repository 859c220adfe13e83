"""For testing pipelines: streams as text tables, a harness, a hand-cranked clock, disorder, and the laws.

Idea. What an operator must do follows from its promises, so it can be tested on random streams. `check_operator` holds
an operator to the laws that every operator must keep; `Harness` drives a pipeline step by step.

>>> import oop
>>> from oop.testing import Harness
>>> h = Harness(lambda s: s.window(oop.tumbling(10)).agg(n=oop.count()), {"ts": "int64"})
>>> h.push({"ts": [3, 1]})
>>> h.promise(ts=10)
>>> h.rows()
[{'window_start': 0, 'window_end': 10, 'n': 2}]
>>> h.promises()
[Punctuation(window_start < 10), Punctuation(window_end < 20)]

Way in. `harness.py` drives a pipeline by hand, `tables.py` writes streams as text, and `laws.py` has `check_operator`.
`promising.py` checks the promises of a run for it. `disorder.py` permutes rows within promises and cuts batches anew,
`clock.py` is a clock that moves only when told to, `aggregates.py` has the laws of merging, `exact.py` the strongest
promises that rows allow, `forced.py` an aggregate that must run one way.

The laws: any order of rows within the promises, and any cut into batches, gives the same rows and the same late rows.
Purging never changes an answer. Rows that have been put out do not change. A bound never retreats and is never promised
twice. The end is promised once. Nothing is held after the end. A saved and loaded operator goes on as if nothing had
happened. The promises that are put out add up to what the crossings give for all that the inputs have promised.
"""

from oop.testing.aggregates import check_aggregate
from oop.testing.clock import ManualClock
from oop.testing.disorder import disorder, resplit
from oop.testing.exact import exact
from oop.testing.forced import forced
from oop.testing.harness import Harness
from oop.testing.laws import bag, check_operator
from oop.testing.tables import elements, stream

__all__ = [
    "Harness",
    "ManualClock",
    "bag",
    "check_aggregate",
    "check_operator",
    "disorder",
    "elements",
    "exact",
    "forced",
    "resplit",
    "stream",
]
