"""Feeds: where an input box gets its elements from, without blocking the engine where it must not block.

An input whose promises come from a wall clock is read by a thread of its own, so that the engine still ticks in a lull.
A ring is always read in the engine's own thread, because it never blocks. `network.py` decides about the other inputs;
most are read in the engine's thread, when there is room for their elements.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from queue import Empty, SimpleQueue

from oop.engines.embedded.bell import Bell
from oop.engines.embedded.starting import start_threads
from oop.frozen import frozen
from oop.io.ring import Ring
from oop.operators.core.train import Train

_ROOM = 16  # trains that a reader may be ahead
_PATIENCE = 0.1  # seconds after which a reader without room checks whether the run still wants anything


@frozen()
class Failed:
    """An error that reading raised. It is raised again in the engine's thread."""

    error: BaseException


class Done:
    """The input has ended."""


Next = Train | Failed | Done | None  # None: nothing yet


class DirectFeed:
    """Reads a train when asked for one. ``waits`` says whether an element is at hand, if the input can tell."""

    def __init__(self, trains: Iterator[Train], waits: Callable[[], bool] | None = None) -> None:
        self.trains = trains
        self.waits = waits

    @property
    def waiting(self) -> bool:
        """Is there certainly something that can be read at once?"""
        return self.waits is not None and self.waits()

    def next(self) -> Next:
        """The next train. What is raised and is no `Exception`, such as an interrupt, goes to the caller and ends the
        run at once."""
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
    """Has a thread that reads ahead. The thread starts at the first call of `next`, and rings ``arrived`` when it has
    read a train.

    Any error that ends the thread is handed over, also one that is no `Exception` (``sys.exit()``, a cancelled task of
    asyncio). Otherwise nobody would notice, and the engine would wait for ever.
    """

    def __init__(self, trains: Iterator[Train], arrived: Bell) -> None:
        self.direct = DirectFeed(trains)
        self.arrived = arrived
        self.queue: SimpleQueue[Train | Failed | Done] = SimpleQueue()
        self.room: SimpleQueue[None] = SimpleQueue()  # one entry for each train that may still be put into the queue
        for _ in range(_ROOM):
            self.room.put(None)
        self.stopped = False
        self.thread: threading.Thread | None = None

    @property
    def waiting(self) -> bool:
        """Has something arrived that nobody has taken?"""
        return not self.queue.empty()

    def _read(self) -> None:
        try:
            last = self._read_ahead()
            self.direct.close()  # in this thread, because a generator can be closed only by the thread that runs it
        except BaseException as error:
            self._fail(error)
            return
        if last is not None:
            self.queue.put(last)
        self.arrived.ring()

    def _fail(self, error: BaseException) -> None:
        self.queue.put(Failed(error))
        self.arrived.ring()

    def _read_ahead(self) -> Failed | Done | None:
        """Read until the input ends, and tell how it ended; None if the run stopped the reading."""
        while not self.stopped:
            train = self.direct.next()
            assert train is not None
            if isinstance(train, Failed | Done):
                return train
            if not self._has_room():
                break
            self.queue.put(train)
            self.arrived.ring()
        return None

    def _has_room(self) -> bool:
        """Wait for room in the queue; False if the run wants nothing any more."""
        while not self.stopped:
            try:
                self.room.get(timeout=_PATIENCE)
                return True
            except Empty:
                continue
        return False

    def next(self) -> Next:
        if self.thread is None:
            self.thread = threading.Thread(target=self._read, name="oop-feed", daemon=True)
            start_threads([self.thread], self._fail)
        try:
            train = self.queue.get_nowait()
        except Empty:
            return None
        self.room.put(None)
        return train

    def close(self) -> None:
        self.stopped = True
        self.room.put(None)  # the reader may be waiting for room


class RingFeed:
    """Reads the elements of a ring. A ring gives an empty train if it has none."""

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
