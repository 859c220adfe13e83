"""How many greater values came before a late one: the slack by rows that would have kept it.

Slack by rows keeps a row iff at most n greater ones came before it (Aurora paper, section 5.2.2).
All of these came after the stream first passed its value, so for most late rows the last few thousand arrivals give the
number. For older ones, what was the greatest value at some points of the past gives an upper bound.
"""

from __future__ import annotations

import numpy as np

from oop.punctuation.patterns import Bound

SPAN = 4_096
"""The least number of arrivals that are kept."""
_PIECES, _MILESTONES = 64, 128
_NARROW, _BUDGET = 16, 2**20
"""How far back every late row may look, and how many arrivals the late rows of a batch may look at in all: many late
rows must not cost more than the rest of the run."""


class SlackNeeded:
    """The last values of a stream under slack by ``n`` rows, and ``milestones``: how far it was at some points before.

    ``rows`` is the number of rows that came before the first one it is given, ``greatest`` the greatest of them.

    >>> seen = SlackNeeded(n=1)
    >>> times = np.array([5, 9, 7, 8, 6])
    >>> seen.greater(times, np.array([4]))  # 9, 7 and 8
    (array([3.]), array([3.]))
    """

    def __init__(self, n: int, rows: int = 0, greatest: Bound | None = None) -> None:
        self.n = n
        self.span = max(SPAN, 4 * (n + 1))
        self.rows = rows
        self.before = greatest  # of all rows before those that are kept
        self.pieces: list[np.ndarray] = []
        self.kept = 0
        self.milestones: list[tuple[Bound, int]] = [] if greatest is None else [(greatest, rows)]

    def greater(self, times: np.ndarray, late: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """For rows of the batch that comes next: at least, and at most, how many greater ones came before each."""
        values, places = np.concatenate([*self.pieces, times]), late + self.kept
        of = values[places]
        # No greater value is before the place where the stream first passed the value.
        passed = np.searchsorted(np.maximum.accumulate(values), of, side="right")
        older = np.zeros(len(late), np.int64)
        if self.before is not None:
            old = self.before > of
            bounds, rows = zip(*self.milestones, strict=True)
            reached = np.array([0, *rows])[np.searchsorted(np.array(bounds, times.dtype), of[old], side="right")]
            passed[old], older[old] = 0, self.rows - self.kept - reached
        looked, inside = _look_back(values, places, places - passed, self.span)
        most = inside + np.maximum(places - passed - looked, 0) + older
        return np.maximum(inside, self.n + 1).astype(np.float64), most.astype(np.float64)

    def add(self, times: np.ndarray, greatest: Bound | None) -> None:
        """The batch has come, and ``greatest`` is that of all rows."""
        if not len(times) or greatest is None:
            return
        if len(times) > self.span:
            self._forget(self.pieces, times[: -self.span])
            self.pieces, self.kept = [], 0
        piece = times[-self.span :].copy()  # the memory of the batch is reused
        self.pieces.append(piece)
        self.kept += len(piece)
        self.rows += len(times)
        while self.kept - len(self.pieces[0]) >= self.span:
            self.kept -= len(self.pieces[0])
            self._forget([self.pieces.pop(0)])
        if len(self.pieces) > _PIECES:
            self.pieces = [np.concatenate(self.pieces)]
        if not self.milestones or greatest > self.milestones[-1][0]:
            self.milestones.append((greatest, self.rows))
        else:
            self.milestones[-1] = (self.milestones[-1][0], self.rows)
        if len(self.milestones) > _MILESTONES:  # thin out the older half, so that old ones are further apart
            self.milestones[: _MILESTONES // 2] = self.milestones[1 : _MILESTONES // 2 : 2]

    def _forget(self, pieces: list[np.ndarray], *more: np.ndarray) -> None:
        for piece in (*pieces, *more):
            most = piece.max().item()
            if self.before is None or most > self.before:
                self.before = most


def _look_back(values: np.ndarray, places: np.ndarray, wanted: np.ndarray, span: int) -> tuple[np.ndarray, np.ndarray]:
    """How far each place looked back, at most as far as wanted, and how many greater values it found there."""
    looked, inside = np.zeros((2, len(places)), np.int64)
    widths, todo, left = [_NARROW], np.arange(len(places)), _BUDGET
    while widths[-1] < span:
        widths.append(min(4 * widths[-1], span))
    least = np.iinfo(np.int64).min if values.dtype == np.int64 else -np.inf
    padded = np.concatenate([np.full(span + _NARROW, least, values.dtype), values])
    for width in widths:
        narrow = wanted[todo] <= width
        mine = todo if width == widths[-1] else todo[narrow]
        todo = todo[~narrow]
        most = left // width
        left -= width * min(len(mine), most)
        for some, wide in ((mine[:most], width), (mine[most:], _NARROW)):
            looked[some] = wide
            count = _count_narrow if wide == _NARROW else _count_wide
            inside[some] = count(padded, places[some] + span + _NARROW, wide)
    return looked, inside


def _count_narrow(values: np.ndarray, places: np.ndarray, width: int) -> np.ndarray:
    of, found = values[places], np.zeros(len(places), np.int64)
    for back in range(1, width + 1):
        found += values[places - back] > of
    return found


def _count_wide(values: np.ndarray, places: np.ndarray, width: int) -> np.ndarray:
    return np.array([np.count_nonzero(values[p - width : p] > values[p]) for p in places.tolist()], np.int64)
