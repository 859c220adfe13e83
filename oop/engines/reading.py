"""Who reads a run: one reader at a time, and none after a reading that was cut short.

An interrupt may come between any two steps, also while an error is handled. So a reading is taken for cut short from
its beginning until the one assignment, after all else, that says that it went well. A reader that gave up in between
leaves a run that says so, never one that ends cleanly with rows missing.
"""

from __future__ import annotations

import os
import threading
from collections.abc import Callable, Iterator
from typing import Generic, TypeVar

from oop.errors import OopError, RunInterrupted
from oop.site import user_line

T = TypeVar("T")


class Reading:
    """``close`` is called when the run ends, well or not; ``threaded`` runs are read only in the process they are of.

    >>> reading = Reading(close=lambda: None, threaded=False)
    >>> reading.do(lambda: "a batch")
    'a batch'
    >>> reading.do(lambda: 1 // 0)
    Traceback (most recent call last):
        ...
    ZeroDivisionError: integer division or modulo by zero
    >>> reading.do(lambda: "the next")
    Traceback (most recent call last):
        ...
    ZeroDivisionError: integer division or modulo by zero
    """

    def __init__(self, close: Callable[[], None], threaded: bool) -> None:
        self._close = close
        self._process = os.getpid() if threaded else None
        self._lock = threading.Lock()  # of C: an interrupt cannot leave it held
        self._busy = False  # is it being read, or was a reading cut short?
        self._cause: BaseException | None = None

    @property
    def is_over(self) -> bool:
        """Has a reading gone wrong?"""
        return self._cause is not None

    def do(self, read: Callable[[], T]) -> T:
        """Let someone read; whatever it raises is remembered, and ends the run."""
        self._begin()
        try:
            found = read()
        except BaseException as error:
            self._cause = self._cause or error
            self._close()
            raise
        self._busy = False  # the last step: no interrupt can come before what was found is the caller's
        return found

    def _begin(self) -> None:
        if self._process is not None and self._process != os.getpid():
            raise OopError(
                "this run has threads, which a fork leaves behind: it can only be read in the process that began it",
                at=user_line(),
                hint="call run() in the child, or read it before the fork",
            )
        if isinstance(self._cause, Exception):
            raise self._cause  # as it was
        if self._cause is not None:  # not raised again: nobody interrupts now
            by = type(self._cause).__name__
            raise RunInterrupted(
                f"this run was interrupted by {by} in the middle of its work, and is not whole: rows would be missing",
                at=user_line(),
                hint="run it again, with a source that can be read again",
            ) from self._cause
        with self._lock:
            if not self._busy:
                self._busy = True
                return
        raise RunInterrupted(
            "an earlier reading of this run has not ended: another thread is reading it, or it was interrupted",
            at=user_line(),
            hint="let one thread read it, and hand its batches to others; after an interrupt, run it again",
        )


class Reader(Generic[T]):
    """An iterator over a run; dropping one does not end the run, another goes on where it stopped. ``take`` gives the
    next element, or None at the end.

    >>> list(Reader(Reading(lambda: None, threaded=False), iter([1, 2, None]).__next__))
    [1, 2]
    """

    def __init__(self, reading: Reading, take: Callable[[], T | None]) -> None:
        self._reading = reading
        self._take = take

    def __iter__(self) -> Iterator[T]:
        return self

    def __next__(self) -> T:
        try:
            element = self._reading.do(self._take)
        except StopIteration as wrong:  # of somebody's own code, a clock or a scheduler: it must not look like the end
            raise RuntimeError("StopIteration was raised in the middle of a run") from wrong
        if element is None:
            raise StopIteration
        return element
