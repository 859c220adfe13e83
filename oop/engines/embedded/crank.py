"""A crank drives a run by hand, so that tests can look at its boxes while it stands still."""

from __future__ import annotations

from collections.abc import Iterator

from oop.engines.embedded.run import Run
from oop.operators.core.operator import Element
from oop.punctuation import GroupPromises


class Crank:
    """``boxes`` are the operators of a run, inputs first and the one of the result last."""

    def __init__(self, run: Run) -> None:
        self._rounds = run._rounds
        self._result = run._result
        self.boxes = run._boxes
        self.inputs = [source.operator for source in run._sources]

    def tick(self) -> None:
        """Let inputs and operators look at the clock."""
        for source in self._rounds.sources:
            source.tick(self._rounds.clock)
        self._rounds.tick()

    def settle(self) -> Iterator[Element]:
        """Let every operator process what waits for it, and give the elements that came out."""
        while self._rounds.run():
            pass
        if self._rounds.failure is not None:
            raise self._rounds.failure
        while self._result.queue:
            element = self._result.take_element()
            if isinstance(element, GroupPromises):
                yield from element
            else:
                yield element
