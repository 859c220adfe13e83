"""The running in-order join: the leading side's rows wait for the other's to pass them (OOP paper, section 5.3)."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from oop.kernels import views
from oop.kernels.dictionaries import concat_batches
from oop.operators.core.batches import cut
from oop.operators.core.context import Context
from oop.operators.core.operator import Element, Held
from oop.operators.core.parts import Part
from oop.operators.core.times import show_time
from oop.operators.join.band import SameWindow
from oop.operators.join.fields import JoinFields
from oop.operators.join.operator import JoinOperator
from oop.operators.rows.ordered_rows import OrderedRows, check_ascending, load_reached, save_reached, without_place
from oop.punctuation import Punctuation
from oop.punctuation.group_promises import Advance
from oop.punctuation.patterns import Bound
from oop.punctuation.search import above

_AT_ONCE = 8_192  # leading rows whose matches are put out together


class InOrderJoinOperator(JoinOperator):
    """``lead`` is the leading side."""

    def __init__(self, spec: JoinFields, context: Context, lead: int) -> None:
        super().__init__(spec, context)
        self.lead, self.other = lead, 1 - lead
        self.waiting = OrderedRows(self.output.inputs[self.lead], spec.times[self.lead])
        self.reached: list[Bound] = [-math.inf, -math.inf]  # the time of the last row of each side

    @property
    def buffered_rows(self) -> int:
        return len(self.sides[self.other]) + len(self.waiting)

    @property
    def state_bytes(self) -> int:
        return self.words.nbytes + self.sides[self.other].nbytes + self.waiting.nbytes

    def process_batch(self, batch: pa.RecordBatch, port: int = 0) -> Iterator[Element]:
        batch = batch.select(self.output.inputs[port].names)
        apart = without_place(batch.column(self.spec.times[port]))
        if apart is not None:  # without a time it meets nothing, and has no place in the order
            yield from self._meets_none(batch.columns, np.flatnonzero(views.booleans(apart)), port, False)
            batch = batch.filter(pc.invert(apart))
        if not batch.num_rows:
            return
        if port == self.lead:
            self.waiting.add(batch)
            self.reached[port] = self.waiting.last
        else:
            values = views.times(batch.column(self.spec.times[port]))
            self.reached[port] = check_ascending(values, self.reached[port], self.spec.times[port])
            arrived, _ = self.sides[port].read(batch)
            needed = np.flatnonzero(arrived.points >= self._least_needed())
            self.sides[port].insert(arrived, None if len(needed) == len(arrived) else needed)
        yield from self._release()

    def process_punctuation(self, advance: Advance, port: int = 0) -> Iterator[Element]:
        if self.ports.advance(advance, port):
            yield from self._release()
            if all(frontier.ended for frontier in self.ports.frontiers):
                self.words.clear()
            yield from self.ports.whole()

    def _bound(self, side: int) -> Bound:
        """The time below which no row comes on a side any more, by the order of its rows or by a promise."""
        said = self.ports.frontiers[side].bound(self.spec.times[side])
        return max(self.reached[side], -math.inf if said is None else said)

    def _least_needed(self) -> Bound:
        """The least point of the other side that a leading row, waiting or to come, may meet."""
        first, bound = self.waiting.first(), self._bound(self.lead)
        return self.spec.band.least_held(self.other, _known(bound if first is None else min(first, bound)))

    def _release(self) -> Iterator[pa.RecordBatch]:
        """Put out the leading rows that the other side has passed, with their matches; then free the rows of the other
        side that no leading row can meet."""
        least = self.spec.band.least_held(self.lead, _known(self._bound(self.other)))
        rows = self._next(least)
        if rows is not None:
            for start in range(0, rows.num_rows, _AT_ONCE):
                yield from self._matched(rows.slice(start, _AT_ONCE))
        for _ in self.sides[self.other].purge(self._least_needed()):
            pass  # rows of the other side are never padded
        if self.words.is_crowded(self.buffered_rows):
            held = self.sides[self.other].held_keys()
            self.words.clear()
            self.sides[self.other].recode(*held)

    def _next(self, least: Bound) -> pa.RecordBatch | None:
        """Remove and give the waiting rows whose point is below ``least``. The points of a window join are windows."""
        if least == -math.inf:
            return None
        band = self.spec.band
        limit = band.grid.start(least) if isinstance(band, SameWindow) and least < math.inf else least
        return self.waiting.take_until(limit, closed=False)

    def _matched(self, rows: pa.RecordBatch) -> Iterator[pa.RecordBatch]:
        """Rows with their matches, in their order; rows without a match go out alone, if the join pads them."""
        spec, held = self.spec, self.sides[self.other]
        arrived, usable = self.sides[self.lead].read(rows)
        numbers = np.arange(rows.num_rows) if usable is None else np.flatnonzero(usable)
        met = np.zeros(rows.num_rows, np.bool_)
        least = self._unmet(rows.num_rows)
        mine, theirs = [np.zeros(0, np.int64)], [np.zeros(0, np.int64)]
        for ours, others in held.probe(arrived, spec.band.reach(self.other)):
            ours, others = self._where(arrived, ours, others, self.lead)
            met[numbers[ours]] = True
            if least is not None:
                np.minimum.at(least, numbers[ours], self._stamps(held, others))
            mine.append(ours)
            theirs.append(others)
        pieces, order = [], []
        if spec.gives_pairs:
            ours, others = np.concatenate(mine), np.concatenate(theirs)
            if len(ours):
                pieces.append(self.output.pairs(self.output.schema, arrived.columns, ours, held, others, self.lead))
                order.append(numbers[ours])
        alone = met if spec.how == "semi" else ~met if spec.pads[self.lead] else np.zeros(0, np.bool_)
        single = np.flatnonzero(alone)
        if len(single):
            alone_ = self.output.alone(rows.columns, single, self.lead)
            pieces.append(self.output.with_least(alone_, None if least is None else least[single]))
            order.append(single)
        if pieces:
            whole, by = concat_batches(pieces), np.concatenate(order)
            in_order = (by[1:] >= by[:-1]).all()
            whole = whole if in_order else whole.take(pa.array(np.argsort(by, kind="stable")))
            yield from cut(whole, self.batch_rows)

    def oldest(self) -> Held | None:
        """The leading row that will leave next."""
        first = self.waiting.first()
        if first is None:
            return None
        time, other = (self.spec.times[side] for side in (self.lead, self.other))
        shown = show_time(first, self.output.inputs[self.lead].field(time).type)
        return Held(f"the row with {time} = {shown}", self.other, Punctuation({other: above(first)}))

    def save(self) -> Iterator[Part]:
        yield self.ports.save()
        yield save_reached(self.reached)
        yield from self.waiting.save("waiting")
        yield from self.sides[self.other].save(f"{self.other}/")

    def load(self, parts: Iterable[Part]) -> None:
        found = self.load_common(parts)
        self.words.clear()
        self.waiting.load(found, "waiting")
        self.reached = load_reached(found, 2)
        self.waiting.last = self.reached[self.lead]
        self.sides[self.other].load(found, f"{self.other}/")


def _known(bound: Bound) -> Bound | None:
    return None if bound == -math.inf else bound
