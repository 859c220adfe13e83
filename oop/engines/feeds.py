"""Feeds: where an input box gets its elements from, without the engine having to wait where it must not.

An input whose promises come from a wall clock is read by a thread of its own: in a lull the engine still ticks. Every
other input is read in the engine's own thread, when there is room for it. So is a ring, always: it never blocks.
"""

from __future__ import annotations

import queue
import threading
from collections.abc import Callable, Iterator
from dataclasses import dataclass

from oop.operators.base import Element
from oop.ring import Ring

_ROOM = 16  # trains that a reader may be ahead


@dataclass(frozen=True)
class Failed:
    """What reading raised; it is raised again in the engine's thread."""

    error: Exception


class Done:
    """The input has ended."""


Train = list[Element]
Next = Train | Failed | Done | None  # None: nothing yet


class DirectFeed:
    """Reads when asked, a train at a time. ``waits`` says whether something is at hand, where the input can say."""

    def __init__(self, trains: Iterator[Train], waits: Callable[[], bool] | None = None) -> None:
        self.trains = trains
        self.waits = waits

    @property
    def waiting(self) -> bool:
        """Is there certainly something that can be read at once?"""
        return self.waits is not None and self.waits()

    def next(self) -> Next:
        try:
            return next(self.trains)
        except StopIteration:
            return Done()
        except Exception as error:
            return Failed(error)

    def close(self) -> None:
        close = getattr(self.trains, "close", None)
        if close is not None:
            close()


class ThreadFeed:
    """A thread reads ahead, from the first time that it is asked; ``arrived`` is set when there is something."""

    def __init__(self, trains: Iterator[Train], arrived: threading.Event) -> None:
        self.direct = DirectFeed(trains)
        self.arrived = arrived
        self.queue: queue.Queue[Train | Failed | Done] = queue.Queue(_ROOM)
        self.stopped = threading.Event()
        self.thread: threading.Thread | None = None

    @property
    def waiting(self) -> bool:
        """Has something arrived that nobody has taken?"""
        return not self.queue.empty()

    def _read(self) -> None:
        while not self.stopped.is_set():
            train = self.direct.next()
            assert train is not None
            while not self.stopped.is_set():
                try:
                    self.queue.put(train, timeout=0.1)
                    break
                except queue.Full:
                    continue
            self.arrived.set()
            if isinstance(train, Failed | Done):
                break
        self.direct.close()  # here: a generator can be closed only by the thread that runs it

    def next(self) -> Next:
        if self.thread is None:
            self.thread = threading.Thread(target=self._read, name="oop-feed", daemon=True)
            self.thread.start()
        try:
            return self.queue.get_nowait()
        except queue.Empty:
            return None

    def close(self) -> None:
        self.stopped.set()


class RingFeed:
    """Reads what is there; an empty train says that nothing is."""

    def __init__(self, trains: Iterator[Train], ring: Ring) -> None:
        self.direct = DirectFeed(trains)
        self.ring = ring

    @property
    def waiting(self) -> bool:
        """Has something arrived that nobody has taken?"""
        return self.ring.waiting

    def next(self) -> Next:
        return self.direct.next() or None

    def close(self) -> None:
        self.direct.close()


Feed = DirectFeed | ThreadFeed | RingFeed
