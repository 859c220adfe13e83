"""A source of a run: the box of an input, and the feed from which it gets its elements (`feeds.py`).

A source hands the trains of its feed to its box, and lets the policies that are timers look at the clock. While there
is nothing to read, it asks the user's source how far it is (`polling.py`).
"""

from __future__ import annotations

from oop.clocks import Clock
from oop.engines.embedded.boxes import Box
from oop.engines.embedded.feeds import Done, Feed, ThreadFeed
from oop.engines.embedded.polling import Poll
from oop.engines.embedded.superbox import RunningSuperbox
from oop.errors import OopError
from oop.operators.core.train import Train
from oop.punctuation import END, Punctuation


class Source:
    """An input box with its feed. Nothing is read before the run is."""

    def __init__(self, box: Box, feed: Feed) -> None:
        self.box = box
        self.operator = box.input_operator
        self.feed = feed
        self.done = False
        self.is_quiet = False
        """Has what was taken last put nothing into the queues?"""
        data = box.node.data
        self.is_live = data is not None and data.kind == "live"
        self.superbox: RunningSuperbox | None = None
        self.asked = None if data is None or data.progress is None else Poll(box.node, data)

    @property
    def is_pushed_back(self) -> bool:
        """Must it wait with reading, because what it has read is not far enough?"""
        return self.box.is_pushed_back or (self.superbox is not None and self.superbox.is_busy)

    def tick(self, clock: Clock) -> None:
        """Let timers look at the clock, but not while rows that have arrived still wait: the tick would make them
        late."""
        if self.operator.clocked and not self.done and not self.feed.waiting:
            self.box.emit(self.operator.tick, clock.now)

    def poll(self) -> None:
        """Ask the source how far it is. Call it only when nothing of the source waits to be read."""
        thread = self.feed.thread if isinstance(self.feed, ThreadFeed) else None
        said = None if self.asked is None else self.asked.ask(None if thread is None else thread.ident)
        if said is None or self.asked is None:
            return
        try:
            promise = self.operator.answer(said)
        except (OopError, TypeError, ValueError) as wrong:
            raise self.asked.refused(said, wrong).located(self.box.node.site) from wrong
        self.done = promise.is_end
        self.box.emit(self.operator.take_promise, promise)

    def take(self, train: Train | Done) -> int:
        """Let the box take what the feed gave; returns the number of rows."""
        if isinstance(train, Done):
            self.done = True
            train = [END]
        elif self.is_live:
            # A live input is not read on after END, because it may never give anything more. A finite input is: rows
            # behind its END are late rows.
            for element in train:
                if isinstance(element, Punctuation) and element.is_end:
                    self.done = True
        if self.superbox is not None:
            rows = self.superbox.take(train)
            if rows is not None:
                self.is_quiet = self.superbox.is_quiet
                return rows
        self.is_quiet = False
        return self.box.process_train(train)

    def located(self, error: BaseException) -> BaseException:
        """An error that reading raised, with the user's line."""
        node = self.box.node
        if isinstance(error, OopError):
            return error.located(node.site)
        error.add_note(f"while reading {node.call}, written at {node.site}")
        return error
