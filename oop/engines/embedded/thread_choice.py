"""`ThreadChoice`: whether to run a train by one thread or by several, as measured."""

from __future__ import annotations

_TRIED = 2  # trains that are timed in each way, before the faster one is chosen
_RETRY_CLEAR = 64  # trains between two trials of the slower way, if it is clear which way is faster,
_RETRY_UNCLEAR = 4  # and if it is not
# By whether threads are faster: this is clear if they take at most this share of the other way's time. The first trains
# of several threads also pay for their start.
_CLEAR = {True: 0.75, False: 0.5}


class ThreadChoice:
    """Do threads pay? Trains are run both ways, and timed. The first ones also pay for memory that is used for the
    first time, so the least time counts.

    >>> choice = ThreadChoice()
    >>> for seconds in (3.0, 5.0, 2.9, 5.2):
    ...     parallel = choice.next()
    ...     choice.took(parallel, 1_000, seconds)
    >>> choice.next()
    True
    """

    def __init__(self) -> None:
        self._runs = 0
        self._tried = 0  # in which run the way that seemed slower was tried last
        self._least = {True: float("inf"), False: float("inf")}

    def next(self) -> bool:
        """Is the next train to be run by several threads?"""
        faster = self._least[True] <= self._least[False]
        self._runs += 1
        if self._runs <= 2 * _TRIED:
            self._tried = self._runs
            return self._runs % 2 == 1
        clear = self._least[faster] <= _CLEAR[faster] * self._least[not faster]
        if self._runs - self._tried <= (_RETRY_CLEAR if clear else _RETRY_UNCLEAR):
            return faster
        self._tried = self._runs
        return not faster

    def took(self, parallel: bool, rows: int, seconds: float) -> None:
        """The train had so many rows, and took so long."""
        least = self._least[parallel]
        # what was measured long ago counts less, because another load of the machine may have changed it
        self._least[parallel] = min(seconds / rows, least * 1.05)
