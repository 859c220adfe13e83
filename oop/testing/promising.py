"""Checks on what the boxes of a run promise: all that the plan allows, and nothing that rows which they hold break."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

import pyarrow as pa

from oop.engines.embedded.boxes import Box
from oop.frozen import frozen
from oop.kernels import views
from oop.operators.core.breaches import broken_promises
from oop.operators.core.coverage import matching
from oop.operators.core.operator import Operator
from oop.operators.passing.describe import Describe
from oop.plan.graph import Node, frontiers
from oop.punctuation import Frontier, Punctuation


@frozen()
class Promising:
    """The plan of a run, its boxes with that of the result last, and what the sources were given, by id of their
    nodes. `Harness` has a method for each check, whose docstring says what is checked."""

    root: Node
    boxes: Sequence[Box]
    given: Mapping[int, Frontier]

    def allowed(self, lowered: bool = False) -> dict[int, Frontier]:
        """By id of a node: the most that it may promise. With ``lowered``: what it must promise, where operators that
        hold promises back lower their bounds for their open results."""
        given = dict(self.given) | {id(box.node): box.frontier for box in (*self._in_steps(), *self._counting())}
        for box in self._holding_back() if lowered else ():
            allowed = frontiers(box.node, given)[id(box.node)]
            given[id(box.node)] = lowered_by(allowed, box.node.spec.held_back, list(_open_results(box.operator)))
        return frontiers(self.root, given)

    def check_prompt(self, in_order: bool) -> None:
        """Check that promises are exactly what the plan allows, as far as that can be told."""
        allowed = self.allowed(lowered=True)
        found, wanted = self.boxes[-1].frontier, allowed[id(self.root)]
        held = self._holding_back()
        if in_order:
            assert all(map(found.covers, wanted.promises())), f"promises are not prompt: {found!r}, not {wanted!r}"
            return
        if all(box.frontier.is_linear and allowed[id(box.node)].is_linear for box in held):
            assert found == wanted, f"promises are not prompt: {found!r}, but {wanted!r} is allowed"
            return
        most = self.allowed()[id(self.root)]
        assert all(map(found.covers, wanted.promises())), f"promises are not prompt: {found!r}, not {wanted!r}"
        assert all(map(most.covers, found.promises())), f"{found!r} is promised, but {most!r} is all that is allowed"

    def check_held_back(self) -> None:
        """Check that open results, as they are now, break no promise that was made."""
        for box in self._holding_back():
            for batch in _open_results(box.operator):
                broken = [str(p) for p, _ in broken_promises(box.frontier, batch)]
                assert not broken, f"{broken[0]} was promised, but what is open breaks it: {batch.to_pylist()}"

    def check_steps(self) -> None:
        """Check that operators which promise in steps, or by counting rows, promise each step at once."""
        if not self._in_steps() and not self._counting():
            return
        allowed = self.allowed()
        for box in self._in_steps():
            spec, (edge,) = box.node.spec, box.node.inputs
            for interest in spec.asked if isinstance(spec, Describe) else ():
                found, wanted = interest.image(box.frontier), interest.image(allowed[id(edge.node)])
                assert found == wanted, f"promises are not prompt: {found!r}, but {wanted!r} is allowed"

        for box in self._counting():
            spec = box.node.spec
            translated = box.node.crossing.translate([allowed[id(e.node)] for e in box.node.inputs])
            found, wanted = (
                Frontier.of(*(p for p in f.promises() if p.below.keys().isdisjoint(spec.counts)))
                for f in (box.frontier, translated)
            )
            assert found == wanted, f"promises are not prompt: {found!r}, but {wanted!r} is allowed"

    def _holding_back(self) -> list[Box]:
        return [box for box in self.boxes if box.node.spec.held_back]

    def _counting(self) -> list[Box]:
        """Boxes that promise by counting rows. The plan's crossings do not know these promises."""
        return [b for b in self.boxes if b.node.spec.counts]

    def _in_steps(self) -> list[Box]:
        return [b for b in self.boxes if isinstance(b.node.spec, Describe) and b.node.spec.every]


def lowered_by(allowed: Frontier, attributes: Sequence[str], held: Sequence[pa.RecordBatch]) -> Frontier:
    """What may be promised while these rows are still to come: about these attributes, no more than holds for the rows.

    >>> row = pa.record_batch({"start": [3], "link": ["A"]})
    >>> groups = Punctuation({"start": 9}), Punctuation({"start": 12}, {"link": "B"})
    >>> lowered_by(Frontier.of(*groups), ["start"], [row])
    Frontier(start < 3; link = 'B': start < 12)
    """
    out = Frontier()
    for promise in allowed.promises():
        below = dict(promise.below)
        for attribute in below.keys() & set(attributes):
            for batch in held:
                rows = batch.filter(pa.array(matching(Punctuation({}, promise.where), batch)))
                values = rows.column(attribute).drop_null()
                below[attribute] = min([below[attribute], *views.times(values).tolist()])
        out.advance(Punctuation(below, promise.where))
    return out


def _open_results(operator: Operator) -> Iterator[pa.RecordBatch]:
    assert operator.shows_open, f"{type(operator).__name__} holds promises back and does not show by what"
    return operator.open_results()
