"""Reading a run: one reader at a time, and no reader any more after a reading was cut short.

An interrupt may come between any two steps, also while an error is handled. So a reading counts as cut short from its
beginning until one last assignment says that it went well. If a reader gave up in between, the run says so; it never
ends cleanly with rows missing.

Another thread may ask something of a run that is being read. The reader answers, between two of its rounds, when no
operator is in the middle of anything.
"""

from __future__ import annotations

import os
import threading
from collections import deque
from collections.abc import Callable, Iterator
from time import monotonic, sleep
from typing import Any, Generic, TypeVar

from oop.engines.embedded.bell import Bell
from oop.errors import OopError, RunInterrupted
from oop.site import user_line

T = TypeVar("T")
_PATIENCE = 10.0  # seconds until a reader that does not answer is given up


class Reading:
    """Lets readers read a run. ``close`` is called if a reading fails. A ``threaded`` run can be read only in the
    process that made it.

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
        self._lock = threading.Lock()  # a lock of C, which an interrupt cannot leave held
        self._busy = False  # is it being read, or was a reading cut short?
        self._reader = 0  # the thread that reads it, or that read it last
        self._looking = 0  # the number of threads that look at the run while nobody reads it
        self.questions: deque[_Question[Any]] = deque()
        self._cause: BaseException | None = None

    @property
    def is_over(self) -> bool:
        """Has a reading gone wrong?"""
        return self._cause is not None

    def do(self, read: Callable[[], T]) -> T:
        """The result of ``read``. Whatever it raises is remembered, and ends the run."""
        try:
            self._begin()
        except BaseException as error:
            # An interrupt may come when the run has just become this thread's. A refusal by `_begin` ends nothing.
            if not isinstance(error, Exception) and self._busy and self._reader == threading.get_ident():
                self._end_by(error)
            raise
        try:
            found = read()
        except BaseException as error:
            self._end_by(error)
            raise
        self._busy = False  # the last step: no interrupt can come between this and the return to the caller
        return found

    def _end_by(self, error: BaseException) -> None:
        self._cause = self._cause or error
        self._close()

    def _begin(self) -> None:
        if self._process is not None and self._process != os.getpid():
            raise OopError(
                "this run has threads, which a fork leaves behind: it can only be read in the process that began it",
                at=user_line(),
                hint="call run() in the child, or read it before the fork",
            )
        if isinstance(self._cause, Exception):
            raise self._cause  # the same error again
        if self._cause is not None:  # an interrupt is not raised again, because nobody interrupts now
            by = type(self._cause).__name__
            raise RunInterrupted(
                f"this run was interrupted by {by} in the middle of its work, and is not whole: rows would be missing",
                at=user_line(),
                hint="run it again, with a source that can be read again",
            ) from self._cause
        me = threading.get_ident()
        while True:
            with self._lock:
                if not self._busy:
                    self._busy, self._reader = True, me
                    return
            if not self._looking or self._reader == me:
                break
            sleep(0.001)  # another thread is looking at the run, and will soon have finished
        raise RunInterrupted(
            "this run is being read, by another thread or by code that the run itself calls; or an interrupt cut a "
            "reading short",
            at=user_line(),
            hint="let one thread read it, and hand its batches to others; after an interrupt, run it again",
        )

    def ask(self, look: Callable[[], T]) -> T:
        """The result of ``look``, called here if nobody reads the run, else by the reader between two rounds.

        >>> Reading(close=lambda: None, threaded=False).ask(lambda: "all is well")
        'all is well'
        """
        if not self._busy or self._reader == threading.get_ident():
            return self._look(look)
        question = _Question(look)
        self.questions.append(question)
        until = monotonic() + _PATIENCE
        while not question.answered.wait(0.01):
            if (not self._busy or monotonic() > until) and self._withdraw(question):
                return self._look(look)  # this refuses if the run is still being read
        if question.error is not None:
            raise question.error
        (found,) = question.found
        return found

    def _look(self, look: Callable[[], T]) -> T:
        with self._lock:
            self._looking += 1
        try:
            return self.do(look)
        finally:
            with self._lock:
                self._looking -= 1

    def _withdraw(self, question: _Question[Any]) -> bool:
        try:
            self.questions.remove(question)
        except ValueError:  # the reader has taken the question
            return False
        return True

    def answer(self) -> None:
        """Answer the questions of other threads. The reader calls this between two rounds."""
        while self.questions:
            try:
                question = self.questions.popleft()
            except IndexError:  # the question was withdrawn
                return
            question.answer()


class _Question(Generic[T]):
    """A question that another thread asks of the reader."""

    def __init__(self, look: Callable[[], T]) -> None:
        self.look = look
        self.answered = Bell()
        self.found: list[T] = []
        self.error: Exception | None = None

    def answer(self) -> None:
        try:
            self.found.append(self.look())
        except Exception as error:  # it is raised in the thread that asked
            self.error = error
        finally:
            self.answered.ring()


class Reader(Generic[T]):
    """An iterator over a run. ``take`` gives the next element, or None at the end. Dropping a reader does not end the
    run: another reader goes on where this one stopped.

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
        except StopIteration as wrong:  # a user's clock or scheduler raised it, and it must not look like the end
            raise RuntimeError("StopIteration was raised in the middle of a run") from wrong
        if element is None:
            raise StopIteration
        return element
