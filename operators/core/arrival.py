"""The virtual arrival attribute: how the clock reaches operators that look at it (Aurora's Timeout and WSort).

The second hook of an operator takes nothing but promises, so the clock is given as one: "no later row arrives before
now". The engine makes this promise from its clock for the boxes whose spec is ``clocked``, when no row waits in front
of them, and gives it to their first port. It crosses no arc: an operator must take it out (`arrival_of`,
`without_ticks`) before it looks at other promises.

>>> from oop.punctuation import Punctuation
>>> arrival_of(arrives_at(7)), arrival_of(Punctuation({"ts": 5}))
(7, None)
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TypeVar

import pyarrow as pa

from oop.errors import OopError, WrongArgument
from oop.operators.core.times import duration_in
from oop.punctuation import Punctuation
from oop.punctuation.durations import Duration
from oop.punctuation.group_promises import Promise
from oop.punctuation.patterns import Bound
from oop.site import user_line

PromiseT = TypeVar("PromiseT", bound=Promise)
ARRIVAL = "__arrival"
CLOCK = pa.timestamp("us")
"""The unit of arrival times. A clock that a test moves may count in another unit."""


def arrives_at(now: Bound) -> Punctuation:
    """The promise that all later rows arrive at this time or later."""
    return Punctuation({ARRIVAL: now})


def arrival_of(punct: Punctuation) -> Bound | None:
    """What the clock shows, if this is a promise of the clock."""
    return punct.below.get(ARRIVAL)


NowT = TypeVar("NowT", int, int | None)


def without_ticks(promises: Sequence[PromiseT], now: NowT) -> tuple[list[PromiseT], NowT]:
    """The other promises of an advance, and what the clock shows after it; ``now`` is what it showed before.

    >>> without_ticks([arrives_at(7), Punctuation({"ts": 5}), arrives_at(8)], now=0)
    ([Punctuation(ts < 5)], 8)
    """
    others: list[PromiseT] = []
    for promise in promises:
        seen = arrival_of(promise) if isinstance(promise, Punctuation) else None
        if seen is None:
            others.append(promise)
        else:
            now = int(seen)
    return others, now


def timeout_in(timeout: Duration) -> int:
    """A timeout in the clock's unit; ValueError if it is not one.

    >>> timeout_in("250ms")
    250000
    """
    try:
        found = duration_in(timeout, CLOCK)
    except OopError as wrong:
        raise wrong.located(user_line()) from None
    if found <= 0:
        raise WrongArgument(f"a timeout is a span of time, not {timeout!r}", at=user_line(), hint="write '250ms', '5s'")
    return int(found)
