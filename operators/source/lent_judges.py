"""Judges lend a program what they know, and take it back with what its rows added: between trains the running policy
has it (`in_program.py`).

>>> import oop
>>> from oop.operators.source.judges import judge_of
>>> lent, guard = lend(judge_of(oop.slack(rows=1).start("ts")), np.dtype(np.int64)), GuardState()
>>> lent.give(guard)
>>> guard.rank, guard.top.tolist(), lent.behind(np.array([4, 9, 5])), lent.within()[2:].tolist()
(1, [], 5, [4])
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping
from typing import Any, ClassVar

import numpy as np

from oop.kernels.signatures.programs import GuardState
from oop.operators.source.entries import AT_LEAST, AT_MOST, Measure
from oop.operators.source.judges.by_greatest import ByGreatest
from oop.operators.source.judges.by_rank import ByRank
from oop.operators.source.judges.judge import Judge
from oop.punctuation.patterns import Bound
from oop.punctuation.trackers import greater

_NOTHING: Mapping[Measure, np.ndarray] = {}


class LentJudge(ABC):
    """``tracker`` is that of the policy."""

    tracker: Any
    measures: ClassVar[bool] = False
    """Is lateness measured otherwise than by the time, too?"""

    @abstractmethod
    def give(self, guard: GuardState) -> None:
        """Tell the guard of a program what rows have implied so far."""

    @abstractmethod
    def take(self, guard: GuardState) -> None:
        """Take over what its rows have added."""

    @abstractmethod
    def behind(self, times: np.ndarray) -> Bound | None:
        """The bound behind the rows that come next, from those on that came behind `give`; there is at least one."""

    @abstractmethod
    def within(self) -> np.ndarray:
        """The bound before each of the rows that `behind` was given last."""

    def measure(self, times: np.ndarray, late: np.ndarray) -> Mapping[Measure, np.ndarray]:
        """How late rows were by other measures than the time: those at these places of the rows that have come since
        `came` was last called."""
        return _NOTHING

    def came(self, times: np.ndarray) -> None:  # noqa: B027 - most lend all that they know
        """Take note of rows that a program has judged."""


class LentGreatest(LentJudge):
    """Of slack by time: the greatest value."""

    def __init__(self, judge: ByGreatest) -> None:
        self.judge, self.tracker = judge, judge.tracker
        self._greatest: Bound | None = None  # of the rows so far
        self._last: tuple[np.ndarray, Bound | None] | None = None  # some rows, and the greatest before them

    def give(self, guard: GuardState) -> None:
        guard.slack = self.tracker.slack
        guard.greatest = self._greatest = self.tracker.greatest

    def take(self, guard: GuardState) -> None:
        self.tracker.greatest = guard.greatest

    def behind(self, times: np.ndarray) -> Bound | None:
        self._last = times, self._greatest
        most: Bound = times.max().item()
        most = most if self._greatest is None else max(most, self._greatest)
        self._greatest = most
        slack: Bound = self.tracker.slack
        return most - slack

    def within(self) -> np.ndarray:
        assert self._last is not None
        return self.judge.kernels.prefix_bounds(*self._last, self.tracker.slack)[0]


class LentRank(LentJudge):
    """Of slack by rows: the greatest values."""

    measures = True

    def __init__(self, judge: ByRank, dtype: np.dtype) -> None:
        self.judge, self.tracker = judge, judge.tracker
        self._top = self._within = np.zeros(0, dtype)
        self._greatest: Bound | None = None  # of all rows that came

    def give(self, guard: GuardState) -> None:
        guard.rank = self.tracker.n
        guard.top = self._top = np.sort(np.array(self.tracker.top, self._top.dtype))
        self._greatest = self.tracker.greatest

    def take(self, guard: GuardState) -> None:
        self.tracker.restore(guard.top.tolist())  # ascending: already a heap

    def behind(self, times: np.ndarray) -> Bound | None:
        n = self.tracker.n
        self._within, self._top = self.judge.kernels.prefix_bounds_rows(times, self._top, n)
        found: Bound | None = self._top[0].item() if len(self._top) > n else None
        return found

    def within(self) -> np.ndarray:
        return self._within

    def measure(self, times: np.ndarray, late: np.ndarray) -> Mapping[Measure, np.ndarray]:
        if not len(late):
            return _NOTHING
        least, most = self.judge.measure(times, late, self._greatest)
        return {(self.judge.attribute, AT_LEAST): least, (self.judge.attribute, AT_MOST): most}

    def came(self, times: np.ndarray) -> None:
        if len(times):
            before, self._greatest = self._greatest, greater(self._greatest, times.max().item())
            self.judge.came(times, before, self._greatest)


def lend(judge: Judge | None, dtype: np.dtype) -> LentJudge | None:
    """What a judge of times of this type lends."""
    if isinstance(judge, ByRank):
        return LentRank(judge, dtype)
    assert judge is None or isinstance(judge, ByGreatest)  # `Input.write` lets no other pass
    return None if judge is None else LentGreatest(judge)
