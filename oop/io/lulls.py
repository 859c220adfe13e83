"""Whether an input is being waited for, as the one who asks it how far it is must know (OOP paper, section 3.2).

A thread reads the input. What its iterator has given, and is not yet worked off, must not be overtaken by an answer
that was made after it.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from threading import get_ident
from typing import TypeVar

T = TypeVar("T")


class Lull:
    """Knows in which call of the user's iterator a thread is now. Runs side by side read with a thread each.

    >>> lull, me = Lull(), get_ident()
    >>> for element in lull.watch(lull.call(me) for _ in range(2)):
    ...     print(element, lull.call(me))
    1 None
    2 None
    """

    def __init__(self) -> None:
        self._calls: dict[int, int] = {}

    def call(self, thread: int | None) -> int | None:
        """The number of the call in which it waits; None while it is in none, and may have an element in its hands."""
        return None if thread is None else self._calls.get(thread)

    def watch(self, elements: Iterable[T]) -> Iterator[T]:
        """The same elements; closing this closes a generator."""
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
