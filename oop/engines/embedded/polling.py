"""Asking a source how far it is while it has nothing to read (OOP paper, section 3.2: progress by polling).

An answer is about the rows that the source gives from then on; rows that it gave before must be processed first. Where
a thread reads the source, the source is asked in the middle of the call that waits for its next element. The answer
counts only if that same call still waits when the engine asks again and finds that nothing has arrived.
"""

from __future__ import annotations

from time import monotonic
from typing import Any

from oop.errors import OopError, SourceError
from oop.plan.graph import Node
from oop.plan.source_data import SourceData

_PAUSE = 0.01  # seconds between two questions, because the rounds of a busy plan are much shorter


class Poll:
    """Asks one source. It is called while nothing of that source waits to be processed."""

    def __init__(self, node: Node, data: SourceData) -> None:
        assert data.progress is not None
        self.node, self.progress, self.lull = node, data.progress, data.lull
        self.source = node.source.source
        self._asked = -1.0  # the time of the last question
        self._answer: Any = None
        self._call: int | None = None  # the call of the iterator during which the answer was given

    def ask(self, thread: int | None) -> Any:
        """The answer that counts by now, or None. ``thread`` is the thread that reads the source, None if the engine
        reads it."""
        now = monotonic()
        if now - self._asked < _PAUSE:
            return None
        self._asked = now
        if self.lull is None:  # the engine itself reads the source, and has just found nothing
            return self._said()
        call = self.lull.call(thread)
        answer = self._answer if call is not None and call == self._call else None
        self._call = call
        self._answer = None if call is None else self._said()
        return answer

    def _said(self) -> Any:
        try:
            return self.progress()
        except Exception as error:
            error.add_note(f"while asking source {self.source!r} how far it is (progress=…), at {self.node.site}")
            raise

    def refused(self, answer: object, why: Exception) -> OopError:
        """The error for an answer that is no bound."""
        return SourceError(
            f"source {self.source!r} was asked how far it is, and said {answer!r}: {why}",
            hint="progress= gives a bound on the time as its column counts, a promise (oop.Punctuation), or None",
        )
