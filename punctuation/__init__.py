"""Promises about what a stream will no longer bring, as pure values that need the standard library alone.

Idea. A `Punctuation` is a promise: no later row of the stream matches all of its patterns. A `Frontier` is everything
that a stream has promised so far. It only grows, and `advance` answers whether a promise adds anything, so nobody
compares bounds by hand. How promises get across an operator is one value, a crossing, which its spec declares.

Way in. Read `promise.py` first, then `frontier.py`: the examples in their docstrings run as tests and say what a
promise implies. After that:

- `patterns.py`, `ranges.py`, `named_groups.py`: what a promise is made of, from `<` to ranges and groups.
- `promised.py`, `corners.py`, `staircase.py`, `grouping.py`, `several_columns.py`, `group_corners.py`,
  `group_promises.py`, `group_bounds.py`, `many_bounds.py`, `slowest.py`: how a frontier keeps promises, so that
  questions about many groups stay cheap.
- `crossing.py`, `translate.py`, `meeting.py`: how the promises of the inputs become those of the output. The page
  `docs/crossings.md` lists the result for every operator.
- `interest.py`: which promises help a consumer, and the `Gate` that holds back the others.
- `policies.py`, `policy_fields.py`, `progress.py`, `progress_groups.py`, `clocked_groups.py`, `trackers.py`,
  `above.py`, `remembered.py`: how a source comes to promise.
- `durations.py`, `encoding.py`, `search.py`: durations as users write them, promises as JSON, and the least bound for
  which something holds.

Decisions are in `DECISIONS.md` beside this file. The tests in `tests/punctuation` compare the frontier with a naive
model.
"""

from oop.punctuation.corners import Corners
from oop.punctuation.frontier import Frontier
from oop.punctuation.group_promises import GroupPromises
from oop.punctuation.interest import Gate, Interest
from oop.punctuation.patterns import Below, Equal, In, NotIn, Range, not_in
from oop.punctuation.policies import arrival, at_end, exact, ordered, punctuated, slack, timer
from oop.punctuation.policy import Policy
from oop.punctuation.promise import END, Punctuation

__all__ = [
    "END",
    "Below",
    "Corners",
    "Equal",
    "Frontier",
    "Gate",
    "GroupPromises",
    "In",
    "Interest",
    "NotIn",
    "Policy",
    "Punctuation",
    "Range",
    "arrival",
    "at_end",
    "exact",
    "not_in",
    "ordered",
    "punctuated",
    "slack",
    "timer",
]
