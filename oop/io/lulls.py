"""Tells whether a thread is waiting for an input. The engine must know that before it trusts the source's answer about
its progress.

A thread reads the input. An answer (OOP paper, section 3.2: polling) must not overtake elements that the iterator gave
before it and that are not processed yet.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from threading import get_ident
from typing import TypeVar

T = TypeVar("T")


class Lull:
    """Knows in which call of the user's iterator each thread is now. Each of several concurrent runs reads with its own
    thread.

    >>> lull, me = Lull(), get_ident()
    >>> for element in lull.watch(lull.call(me) for _ in range(2)):
    ...     print(element, lull.call(me))
    1 None
    2 None
    """

    def __init__(self) -> None:
        self._calls: dict[int, int] = {}

    def call(self, thread: int | None) -> int | None:
        """The number of the call in which the thread waits. None if it is in no call: it may then hold an element."""
        return None if thread is None else self._calls.get(thread)

    def watch(self, elements: Iterable[T]) -> Iterator[T]:
        """The elements, unchanged, with the calls noted; closing this closes the iterator too, if it can be closed."""
        iterator, calls = iter(elements), 0
        try:
            while True:
                calls += 1
                thread = get_ident()
                self._calls[thread] = calls
                try:
                    element = next(iterator)
                except StopIteration:
                    return
                finally:
                    self._calls.pop(thread, None)
                yield element
        finally:
            close = getattr(iterator, "close", None)
            if close is not None:
                close()
