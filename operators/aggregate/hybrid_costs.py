"""Which implementation of sliding windows is cheaper for a stream as it is now? Counts alone decide, so that a repeated
run decides the same (OOP paper, sections 5.4 and 5.5).

With panes a row is looked at once, and each window merges the partial aggregates of its panes: cheap where many rows
share a group. Buffered, a row is looked at once for each of its windows: cheap where almost every row is a group of its
own, where windows have few rows, and where aggregates cannot merge.

The constants are nanoseconds of one core, fitted to runs of 90 workloads (15 shapes of streams, from 1,000 to 1,000,000
rows a second and from 10 to 1,000,000 groups, with six sets of aggregates) on the machine of `benchmarks/README.md`;
`benchmarks/hybrid.py` holds them to the better side.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from oop.frozen import frozen
from oop.operators.aggregate.window_tables import AT_ONCE

INCREMENTAL, BUFFERED = "incremental", "buffered"

# incremental
_TOUCH = 40_000  # a batch that brings rows to a pane
_WINDOW, _WINDOW_EACH = 350_000, 100_000  # a window put together of panes, and for each aggregate of it
_MERGED = 40  # a partial aggregate merged
_MERGED_HELD = 90  # a row that a partial aggregate holds (a list, distinct values, a quantile), merged
# incremental, where panes have few rows and windows are put together many at a time (`pane_windows.py`)
_GATHERING, _GATHERING_EACH = 1_000_000, 150_000  # a promise that closes windows, and for each aggregate
_GATHERED, _GATHERED_EACH = 150, 20  # a partial aggregate gathered
_PUT_OUT, _MERGED_THERE = 80, 20  # a group of a window, and each merge for it
# incremental, where nothing merges
_REPEATED, _REPEATED_EACH = 5, 15  # without merging: a row into one of its windows, and for each aggregate
# buffered
_CLOSING, _CLOSING_EACH = 600_000, 100_000  # a promise that closes windows, and for each aggregate
_HELD = 60  # a row that waits
_PAIR, _PAIR_EACH = 10, 10  # a row in one of its windows, and for each aggregate
_PAIR_HELD = 85  # for an aggregate that holds rows
_TOGETHER = 25  # more for a row of a window that is aggregated together with others

_WORK = 20_000_000  # of estimated work, by the dearer implementation, after which to decide anew
_BETTER = 1.3  # switch only if the other one is so many times cheaper: costs vary with every stream
_SMALLER = 2.0  # or if the other one is no dearer, and holds so many times less
_LARGER = 4.0  # buffered rows may take so many times the bytes of partials, and in any case these bytes:
_LITTLE, _LARGE = 2**14, 2**28  # where partials merge; where they do not, and buffering saves most of the work
_GROUP_BYTES, _GROUP_BYTES_EACH = 36, 16  # of a group: `benchmarks/state.py` has 52 for a count


@dataclass
class PeriodCounts:
    """What was counted in a period: the rows, the panes that each batch touched, and the windows that rows opened; the
    promises that closed windows (``closings``), these windows, and their groups. ``open`` windows are open now."""

    rows: int = 0
    touches: int = 0
    opened: int = 0
    closings: int = 0
    closed: int = 0
    groups: int = 0
    open: int = 0

    def took(self, rows: int, panes: int, opened: int) -> None:
        """Count a batch: its rows, the panes they are spread over, and the windows beyond the greatest so far."""
        self.rows += rows
        self.touches += min(rows, panes)
        self.opened += min(rows, opened)
        self.open += min(rows, opened)

    def close(self, windows: int) -> None:
        """Count a promise that is so many windows further than the one before; not all of them need have rows."""
        windows = min(windows, self.open)
        self.closings += 1
        self.closed += windows
        self.open -= windows


@frozen()
class QueryTraits:
    """What does not change: the windows that a row is in, the bytes of a row that waits, whether partials merge, how
    many rows of a group each aggregate holds at most (0: its state has a fixed size), and the number of rows below
    which panes share tables."""

    windows: float
    row_bytes: int
    merges: bool
    limits: tuple[float, ...]
    thin: int = 0

    @property
    def fixed(self) -> int:
        return sum(not limit for limit in self.limits)


@frozen()
class Estimate:
    """The nanoseconds for each window and the bytes held by both, and the bytes that rows may take in any case."""

    nanoseconds: dict[str, float]
    nbytes: dict[str, float]
    free: float = _LARGE

    def prefers(self, now: str) -> str:
        """The implementation to go on with, when ``now`` is at work."""
        other = BUFFERED if now == INCREMENTAL else INCREMENTAL
        if self.nbytes[BUFFERED] > max(self.free, _LARGER * self.nbytes[INCREMENTAL]):
            return INCREMENTAL
        times = self.nanoseconds[now] / self.nanoseconds[other]
        smaller = times >= 1 and self.nbytes[now] > _SMALLER * self.nbytes[other]
        return other if times > _BETTER or smaller else now


def estimate(query: QueryTraits, counts: PeriodCounts) -> Estimate:
    """The costs of both implementations, by what was counted in a period."""
    opened, closed = max(counts.opened, 1), max(counts.closed, 1)
    rows, groups = counts.rows / opened, max(counts.groups / closed, 1.0)  # of a pane; of a window
    touches, aggregates = counts.touches / opened, len(query.limits)
    pairs = rows * query.windows
    if query.merges:
        held = sum(_MERGED_HELD * _partials(query.windows, rows, groups * limit) for limit in query.limits if limit)
        if rows < query.thin:
            incremental = held + _together(query, rows, groups, counts.closings / closed)
        else:
            merged = _MERGED * query.fixed * _partials(query.windows, rows, groups)
            incremental = _TOUCH * touches + _WINDOW + _WINDOW_EACH * aggregates + merged + held
    else:
        incremental = _TOUCH * touches * query.windows + pairs * (_REPEATED + _REPEATED_EACH * aggregates)
    together = _TOGETHER if counts.closings < closed and pairs < AT_ONCE else 0
    pair = _PAIR + _PAIR_EACH * query.fixed + _PAIR_HELD * (aggregates - query.fixed) + together
    closing = (_CLOSING + _CLOSING_EACH * aggregates) * counts.closings / closed
    buffered = closing + _HELD * rows + pair * pairs
    return Estimate(
        {INCREMENTAL: incremental, BUFFERED: buffered},
        {
            INCREMENTAL: _partial_bytes(query, rows, groups, max(counts.open, 1)),
            BUFFERED: query.row_bytes * rows * (max(counts.open, 1) + query.windows),
        },
        _LITTLE if query.merges else _LARGE,
    )


def _together(query: QueryTraits, rows: float, groups: float, closings: float) -> float:
    """The cost of a window that is put together of thin panes with others; ``closings`` are the promises for each."""
    aggregates = len(query.limits)
    partials = min(rows, groups)  # of a pane
    panes = max(query.windows * partials / groups, 1.0)  # of a window in which a group is
    merges = min(panes, 2 * math.log2(panes) + 1)
    gathered = partials * (1 + query.windows * closings) * (_GATHERED + _GATHERED_EACH * aggregates)
    put_out = groups * (_PUT_OUT + _MERGED_THERE * query.fixed * merges)
    return (_GATHERING + _GATHERING_EACH * aggregates) * closings + gathered + put_out


def is_enough(found: Estimate, counts: PeriodCounts) -> bool:
    """Was enough counted in a period to decide?"""
    return bool(counts.closed) and counts.opened * max(found.nanoseconds.values()) >= _WORK


def _partials(panes: float, rows: float, most: float) -> float:
    """How many partials a window of some ``panes`` merges, if each pane has ``rows`` and a window at most ``most``
    partials: those of a tree's runs of one, two, four, … panes (`panes.py`), and its share of making these runs.

    >>> _partials(4, 10, 1000), _partials(4, 10, 15)
    (60.0, 52.5)
    """
    found, run, left = 0.0, 1.0, panes
    while left > 0:
        here = min(run, left)
        found += min(rows * here, most)
        if 2 * run <= panes:
            found += min(rows * run, most) / run
        left -= here
        run *= 2
    return found


def _partial_bytes(query: QueryTraits, rows: float, groups: float, open_windows: int) -> float:
    here = open_windows + query.windows if query.merges else open_windows
    entries = min(rows, groups) if query.merges else groups
    held = sum(min(rows, groups * limit) * 8 for limit in query.limits if limit)
    return here * (entries * (_GROUP_BYTES + _GROUP_BYTES_EACH * query.fixed) + held)


def row_bytes(widths: Sequence[int | None]) -> int:
    """The bytes of a row whose columns have these widths; None: a width that varies."""
    return sum(16 if width is None else max(width, 1) for width in widths)
