"""The running join (OOP paper, figure 4: ProcessTuple and ProcessPunctuation).

A row first meets the rows that the other side holds. Then it is held itself for as long as the other side may still
bring a row that it meets. A promise on one side frees rows of the other. A row without a partner goes out padded when
it is freed (left, right, full). A left row of a semi join goes out at its first match, one of an anti join when it is
freed without a match.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Sequence
from functools import cache, partial

import numpy as np
import pyarrow as pa

from oop.kernels import views
from oop.operators.core.context import Context
from oop.operators.core.coverage import INT64_MAX, bound_of_group, bounds_of_rows, group_columns
from oop.operators.core.marks import is_late, mark_late
from oop.operators.core.operator import Element, Held, Operator
from oop.operators.core.parts import Part
from oop.operators.join.band import LEFT, RIGHT
from oop.operators.join.fields import JoinFields
from oop.operators.join.oldest import oldest_row
from oop.operators.join.output import JoinOutput
from oop.operators.join.side import JoinableRows, Side, are_below, split_bounds
from oop.operators.join.words import KeyWords, way_of
from oop.punctuation import Equal, Punctuation
from oop.punctuation.group_promises import Advance
from oop.punctuation.patterns import Bound, Group


class JoinOperator(Operator):
    """``late_unused`` counts admitted late rows that met no partner and could not be held. Only the columns that are
    used are taken, held and put out."""

    def __init__(self, spec: JoinFields, context: Context) -> None:
        super().__init__(spec, context)
        self.spec, self.given = spec, context.inputs
        self.names = spec.names(self.given)
        self.output = JoinOutput(spec, self.given, context.wanted)
        types = spec.key_types(self.given)
        self.words = KeyWords(types)
        keeps_matched = spec.pads[LEFT] and spec.gives_pairs, spec.pads[RIGHT]
        self.sides = [
            Side(
                self.output.inputs[side],
                time=spec.times[side],
                keys=spec.keys(side),
                key_types=types,
                band=spec.band,
                words=self.words,
                way=way_of(spec.band, bool(spec.on)),
                keeps_matched=keeps_matched[side],
            )
            for side in (LEFT, RIGHT)
        ]

    @property
    def buffered_rows(self) -> int:
        return sum(map(len, self.sides))

    @property
    def state_bytes(self) -> int:
        return self.words.nbytes + sum(side.nbytes for side in self.sides)

    def process_batch(self, batch: pa.RecordBatch, port: int = 0) -> Iterator[Element]:
        """ProcessTuple: join with the other side's rows; hold the rows that a later row may still meet."""
        late = is_late(batch)
        batch = batch.select(self.output.inputs[port].names)
        arrived, usable = self.sides[port].read(batch)
        if usable is not None:
            yield from self._meets_none(batch.columns, np.flatnonzero(~usable), port, late)
        first_only = port == LEFT and not self.spec.gives_pairs
        matched = np.zeros(len(arrived), np.bool_) if first_only or self.spec.pads[port] or late else None
        yield from self._meet(arrived, port, matched, late)
        gone = self._gone(port, arrived)
        if matched is not None:
            yield from self._meets_none(arrived.columns, np.flatnonzero(gone & ~matched), port, late)
            if first_only:
                gone |= matched  # a row of a semi or anti join has done its part with its first match
        if not gone.any():
            self.sides[port].insert(arrived, None, matched, late)
        elif not gone.all():
            self.sides[port].insert(arrived, np.flatnonzero(~gone), matched, late)
        if self.words.is_crowded(self.buffered_rows):
            held = [side.held_keys() for side in self.sides]
            self.words.clear()
            for side, found in zip(self.sides, held, strict=True):
                side.recode(*found)

    def _meets_none(
        self, columns: Sequence[pa.Array], rows: np.ndarray, port: int, late: bool
    ) -> Iterator[pa.RecordBatch]:
        """Rows that have met no partner and never will go out padded, if this side pads. Late rows are only counted."""
        if late:
            self.late_unused += len(rows)
        elif self.spec.pads[port]:
            for start in range(0, len(rows), self.batch_rows):
                yield self.output.alone(columns, rows[start : start + self.batch_rows], port)

    def _meet(
        self, arrived: JoinableRows, port: int, matched: np.ndarray | None, late: bool
    ) -> Iterator[pa.RecordBatch]:
        """All pairs with rows that the other side holds. ``matched``, unless None, is set for rows that met one."""
        other = self.sides[1 - port]
        in_time = np.zeros(len(arrived), np.bool_) if len(other.late) else None  # has it met a row that was on time?
        least = self._unmet(len(arrived)) if port == LEFT else None
        for mine, theirs in other.probe(arrived, self.spec.band.reach(1 - port), self.batch_rows):
            mine, theirs = self._where(arrived, mine, theirs, port)
            if not len(mine):
                continue
            if matched is not None:
                matched[mine] = True
            late_ones = other.are_late(theirs)
            if in_time is not None:
                in_time[mine if late_ones is None else mine[~late_ones]] = True
            if self.spec.gives_pairs:
                if other.keeps_matched:
                    other.note_matched(theirs)
                pairs = self.output.pairs(self.output.schema, arrived.columns, mine, other, theirs, port)
                yield from _parted(pairs, late_ones, late)
            elif port == RIGHT:
                yield from self._first_match(arrived, mine, theirs, late)
            elif least is not None:
                np.minimum.at(least, mine, self._stamps(other, theirs))
        if self.spec.how == "semi" and port == LEFT and matched is not None and matched.any():
            rows = np.flatnonzero(matched)
            late_ones = None if in_time is None else ~in_time[rows]
            found = self.output.with_least(
                self.output.alone(arrived.columns, rows, port), None if least is None else least[rows]
            )
            yield from _parted(found, late_ones, late)

    def _unmet(self, count: int) -> np.ndarray | None:
        """The initial least values of ``count`` rows, above every real value; None if they do not go out."""
        return None if self.output.least is None else np.full(count, INT64_MAX)

    def _stamps(self, right: Side, places: np.ndarray) -> np.ndarray:
        """The values of the column ``least_of`` of right rows."""
        found: np.ndarray = views.column(right.take([str(self.spec.least_of)], places)[0]).data
        return found

    def _where(
        self, arrived: JoinableRows, mine: np.ndarray, theirs: np.ndarray, port: int
    ) -> tuple[np.ndarray, np.ndarray]:
        """The pairs that satisfy the further condition, if there is one."""
        if self.spec.where is None:
            return mine, theirs
        pairs = self.output.pairs(self.output.tested, arrived.columns, mine, self.sides[1 - port], theirs, port)
        chosen = views.booleans(self.spec.where.evaluate(pairs).fill_null(False))
        return mine[chosen], theirs[chosen]

    def _first_match(
        self, arrived: JoinableRows, mine: np.ndarray, theirs: np.ndarray, late: bool
    ) -> Iterator[pa.RecordBatch]:
        """Remove the left rows of a semi or anti join that have met a right row; a semi join puts them out."""
        left, found = self.sides[LEFT], []
        theirs, of = np.unique(theirs, return_inverse=True)
        if self.spec.how == "semi":
            least = self._unmet(len(theirs))
            if least is not None:
                column = arrived.columns[self.output.inputs[RIGHT].get_field_index(str(self.spec.least_of))]
                np.minimum.at(least, of, views.column(column).data[mine])
            rows = self.output.with_least(self.output.held_alone(left, theirs, LEFT), least)
            found = list(_parted(rows, left.are_late(theirs), late))
        left.remove(theirs)
        yield from found

    def process_punctuation(self, advance: Advance, port: int = 0) -> Iterator[Element]:
        """ProcessPunctuation: free the other side's rows that no later row can meet; then promise."""
        new = self.ports.advance_singly(advance, port)
        if not new:
            return
        yield from self._free(1 - port, new)
        if all(frontier.ended for frontier in self.ports.frontiers):
            self.words.clear()
        yield from self.ports.promises(new, port)

    def _free(self, side: int, new: Sequence[Punctuation]) -> Iterator[pa.RecordBatch]:
        """Free the rows of ``side`` that new promises of the other side have passed, and put out those that are padded.

        A batch goes out after its rows were freed, so that a row that is out is never counted as held."""
        own, time, frontier = self.sides[side], self.spec.times[1 - side], self.ports.frontiers[1 - side]
        least_held = partial(self.spec.band.least_held, side)
        groups = self._groups(side)
        if groups:
            # Rows freed by these promises lie below their own bounds, or below the bound that holds for all groups.
            bounds = [p.below.get(time, math.inf) for p in new]
            highest = max(map(least_held, [*bounds, frontier.bound(time)]))

            inputs = self.output.inputs[side]
            types = [inputs.field(ours).type for ours in groups.values()]

            @cache  # one search for each group, however many slices have it
            def least(group: Group) -> Bound:
                return least_held(bound_of_group(frontier, time, dict(zip(groups, group, strict=True)), types))

            due = {_group_of(p, groups) for p in new}
            freed = own.purge_each(list(groups.values()), least, highest, None if None in due else due, self.batch_rows)
        else:
            freed = own.purge(least_held(frontier.bound(time)), self.batch_rows)
        return _one_behind(self._padded(places, side) for places in freed)

    def _padded(self, places: np.ndarray, side: int) -> pa.RecordBatch | None:
        """The rows in these places that have met no partner, padded; None if there are none or this side never pads."""
        own = self.sides[side]
        if not self.spec.pads[side]:
            return None
        places = places[~own.matched[places]] if own.keeps_matched else places
        late_ones = own.are_late(places)
        places = places if late_ones is None else places[~late_ones]
        return self.output.held_alone(own, places, side) if len(places) else None

    def _groups(self, side: int) -> dict[str, str]:
        """The key columns by which the other side promises, each with this side's name for it."""
        by = group_columns(self.ports.frontiers[1 - side])
        return {pair[1 - side]: pair[side] for pair in self.names.linked if pair[1 - side] in by}

    def _gone(self, side: int, arrived: JoinableRows) -> np.ndarray:
        """Which arrived rows of ``side`` no later row of the other side can meet, so that they need not be held."""
        names, time = self.output.inputs[side].names, self.spec.times[1 - side]
        frontier, least = self.ports.frontiers[1 - side], partial(self.spec.band.least_held, side)
        keys = {theirs: arrived.columns[names.index(ours)] for theirs, ours in self._groups(side).items()}
        if not keys or not len(arrived):
            bound = least(frontier.bound(time))
            return np.full(len(arrived), True) if bound == math.inf else arrived.points < bound
        whole = self.sides[side].whole
        found = bounds_of_rows(frontier, time, keys, lambda bound: split_bounds([least(bound)], whole))
        return are_below(arrived.points, [found[:, 0, 0], found[:, 1, 0] != 0])

    def oldest(self) -> Held | None:
        return oldest_row(self.spec, self.given, self.sides, self._groups)

    def save(self) -> Iterator[Part]:
        yield from self.save_common()
        for number, side in enumerate(self.sides):
            yield from side.save(f"{number}/")

    def load(self, parts: Iterable[Part]) -> None:
        found = self.load_common(parts)
        self.words.clear()
        for number, side in enumerate(self.sides):
            side.load(found, f"{number}/")


def _group_of(promise: Punctuation, groups: Iterable[str]) -> Group | None:
    """The single group that a promise is about; None if it is about several."""
    patterns = [promise.where.get(column) for column in groups]
    found = tuple(pattern.value for pattern in patterns if isinstance(pattern, Equal))
    return found if len(found) == len(patterns) else None


def _one_behind(batches: Iterable[pa.RecordBatch | None]) -> Iterator[pa.RecordBatch]:
    """Give each batch only after the next one was made, by when the rows of the first have been freed."""
    before = None
    for batch in batches:
        if before is not None:
            yield before
        before = batch
    if before is not None:
        yield before


def _parted(rows: pa.RecordBatch, late_rows: np.ndarray | None, late: bool) -> Iterator[pa.RecordBatch]:
    """Rows that a late row took part in, marked late, apart from the other rows."""
    if late or late_rows is None:
        yield mark_late(rows) if late else rows
        return
    for chosen, marked in ((~late_rows, False), (late_rows, True)):
        if chosen.any():
            found = rows.filter(pa.array(chosen))
            yield mark_late(found) if marked else found
