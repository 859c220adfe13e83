"""Join: the order-agnostic OOP-Join (paper 004, section 5.3 and figure 4), with equality on keys and outer kinds.

A row first meets what the other side holds, then it is held itself for as long as the other side may still bring a row
that it meets. A promise on one side frees rows of the other. Rows of which it must be known whether they met any go out
padded when they are freed (left, right, full), at their first match (semi), or when they are freed without one (anti).
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial

import numpy as np
import pyarrow as pa

from oop.kernels import views
from oop.operators.band import LEFT, RIGHT, Band, SameWindow
from oop.operators.base import LATE_UNUSED, Columns, Element, Operator, Part, Ports, Spec, load_common, text_part
from oop.operators.coverage import INT64_MAX, INT64_MIN, bounds_of_rows, group_columns
from oop.operators.expressions import Expr
from oop.operators.filter import check_predicate
from oop.operators.held_rows import take_column
from oop.operators.holding import unique_schema
from oop.operators.join_keys import common_type, same_shard
from oop.operators.join_promises import Names, image_of_side, join_promises, linear_promises
from oop.operators.join_side import Arrived, Side, is_below
from oop.operators.join_words import KeyWords, way_of
from oop.operators.marks import is_late, mark_late
from oop.punctuation import Frontier, Interest, Punctuation
from oop.punctuation.patterns import Bound

KINDS = ("inner", "left", "right", "full", "semi", "anti")
SUFFIX = "_right"


@dataclass(frozen=True, eq=False)
class Join(Spec):
    """``on`` are pairs of key columns, ``times`` the time column of each side."""

    on: tuple[tuple[str, str], ...]
    times: tuple[str, str]
    band: Band | SameWindow
    how: str = "inner"
    where: Expr | None = None
    unbounded: bool = False
    text: str = ""  # band and keys as the user wrote them
    name = "Join"

    @property
    def pads(self) -> tuple[bool, bool]:
        """Which sides' rows go out alone, if they met none."""
        return self.how in ("left", "full", "anti"), self.how in ("right", "full")

    @property
    def gives_pairs(self) -> bool:
        return self.how not in ("semi", "anti")

    def keys(self, side: int) -> tuple[str, ...]:
        return tuple(pair[side] for pair in self.on)

    def reads(self) -> frozenset[str]:
        own = frozenset() if self.where is None else self.where.columns()
        return own.union(self.times, *self.on)

    def shard_columns(self, inputs: Sequence[pa.Schema]) -> list[tuple[str, ...]] | None:
        meet = all(same_shard(inputs[LEFT].field(a).type, inputs[RIGHT].field(b).type) for a, b in self.on)
        return [self.keys(LEFT), self.keys(RIGHT)] if self.on and meet else None

    def key_types(self, inputs: Sequence[pa.Schema]) -> list[pa.DataType]:
        return [common_type((a, inputs[LEFT].field(a).type), (b, inputs[RIGHT].field(b).type)) for a, b in self.on]

    def pair_names(self, inputs: Sequence[pa.Schema]) -> tuple[dict[str, str], dict[str, str]]:
        """What each side's columns are called in a pair, as `where` sees it."""
        left = {n: n for n in inputs[LEFT].names}
        return left, {n: n + SUFFIX if n in left else n for n in inputs[RIGHT].names}

    def names(self, inputs: Sequence[pa.Schema]) -> Names:
        left, right = self.pair_names(inputs)
        return Names(self.times, (left, right if self.gives_pairs else {}), self.linked(inputs), self.pads)

    def linked(self, inputs: Sequence[pa.Schema]) -> tuple[tuple[str, str], ...]:
        """The keys whose values are written the same on both sides, so that promises by group mean the same."""
        return tuple((a, b) for a, b in self.on if inputs[LEFT].field(a).type == inputs[RIGHT].field(b).type)

    def pair_schema(self, inputs: Sequence[pa.Schema]) -> pa.Schema:
        fields = []
        for side, names in enumerate(self.pair_names(inputs)):
            fields += [pa.field(names[f.name], f.type, f.nullable or self.pads[1 - side]) for f in inputs[side]]
        return unique_schema(fields)

    def schema(self, inputs: Sequence[pa.Schema]) -> pa.Schema:
        self.key_types(inputs)
        pairs = self.pair_schema(inputs)
        if self.where is not None:
            check_predicate(self.where, pairs)
        return pairs if self.gives_pairs else pa.schema([f.remove_metadata() for f in inputs[LEFT]])

    def translate(self, frontiers: Sequence[Frontier], inputs: Sequence[pa.Schema]) -> Frontier:
        left, right = frontiers
        return join_promises((left, right), self.names(inputs), self.band)

    def interests(self, wanted: Sequence[Interest], inputs: Sequence[pa.Schema]) -> list[list[Interest]]:
        """Bounds on a side's time free rows of the other, by group where the group column is a key; beyond that what
        helps the consumers."""
        names = self.names(inputs)
        found = []
        for side in (LEFT, RIGHT):
            freeing = Interest(self.times[side], by=[pair[side] for pair in names.linked])
            images = image_of_side(names, self.band, side)
            found.append([freeing, *(i.before(*images) for i in wanted)])
        return found

    def needs(self, wanted: Columns, inputs: Sequence[pa.Schema]) -> list[Columns]:
        """The columns that conditions look at, and those that go out."""
        used = set() if self.where is None else set(self.where.columns())
        used |= set(self.schema(inputs).names) if wanted is None else wanted
        return [
            frozenset({self.times[side], *self.keys(side), *(n for n, called in names.items() if called in used)})
            for side, names in enumerate(self.pair_names(inputs))
        ]

    def blocking(self, frontiers: Sequence[Frontier], inputs: Sequence[pa.Schema]) -> str | None:
        if self.unbounded:
            return None
        for side in (LEFT, RIGHT):
            frontier, time, keys = frontiers[side], self.times[side], self.keys(side)
            corners = [frontier.at({}), *(c for k, g in frontier.by.items() if k in keys for c in g.groups.values())]
            if all(c.bound(time) is None for c in corners):
                return time
        return None

    def start(self, inputs: Sequence[pa.Schema]) -> Operator:
        return JoinOperator(self, inputs)

    def describe(self) -> str:
        kind = "" if self.how == "inner" else f" {self.how}"
        condition = "" if self.where is None else f" where {self.where!r}"
        return f"Join{kind} {self.text}{condition}"

    def promise_note(self) -> str:
        if self.unbounded:
            return "holds every row until the other side ends: its state grows"
        return "each side's promise frees the other's rows"


class JoinOperator:
    """``late_unused`` counts admitted late rows that met nothing and could not be held."""

    def __init__(self, spec: Join, inputs: Sequence[pa.Schema]) -> None:
        self.spec, self.given = spec, inputs
        self.names = spec.names(inputs)
        self.ports = Ports(spec, inputs)
        self.late_unused = 0
        self._use(None)

    def narrow(self, wanted: frozenset[str]) -> None:
        self._use(wanted)

    def _use(self, wanted: Columns) -> None:
        """Take, hold and put out only the columns that are used."""
        spec, given = self.spec, self.given
        self.inputs = [
            pa.schema([f for f in schema if columns is None or f.name in columns])
            for schema, columns in zip(given, spec.needs(wanted, given), strict=True)
        ]
        out = [f for f in spec.schema(given) if wanted is None or f.name in wanted]
        self.output = pa.schema(out or [spec.schema(given).field(self.names.output_time(LEFT))])  # rows have a column
        self.tested = spec.where.columns() if spec.where is not None else frozenset()
        self.pairs = spec.pair_schema(given)
        types = spec.key_types(given)
        self.words = KeyWords(types)
        marks = spec.pads[LEFT] and spec.gives_pairs, spec.pads[RIGHT]
        way = way_of(spec.band, bool(spec.on))
        self.sides = [
            Side(self.inputs[s], spec.times[s], spec.keys(s), types, spec.band, self.words, way, marks[s])
            for s in (LEFT, RIGHT)
        ]

    @property
    def buffered_rows(self) -> int:
        return sum(map(len, self.sides))

    @property
    def state_bytes(self) -> int:
        return self.words.nbytes + sum(side.nbytes for side in self.sides)

    def process_batch(self, batch: pa.RecordBatch, port: int = 0) -> Iterator[Element]:
        """ProcessTuple: join with the other side's rows; hold what may still meet one that comes later."""
        late = is_late(batch)
        batch = batch.select(self.inputs[port].names)
        own = self.sides[port]
        arrived, usable = own.read(batch)
        if usable is not None and self.spec.pads[port] and not late:
            yield self._own(Arrived.of(batch), np.flatnonzero(~usable), port)
        first_only = port == LEFT and not self.spec.gives_pairs
        matched = np.zeros(len(arrived), np.bool_) if first_only or self.spec.pads[port] or late else None
        yield from self._meet(arrived, port, matched, late)
        gone = _is_below(arrived.places, self._least(port, arrived.columns))
        if matched is not None:
            alone = gone & ~matched
            if late:
                self.late_unused += int(alone.sum())
            elif self.spec.pads[port] and alone.any():
                yield self._own(arrived, np.flatnonzero(alone), port)
            if first_only:
                gone |= matched  # a row of a semi or anti join has done its part with its first match
        if not gone.any():
            own.insert(arrived, None, matched, late)
        elif not gone.all():
            own.insert(arrived, np.flatnonzero(~gone), matched, late)
        if self.words.is_crowded(self.buffered_rows):
            self.words.clear()
            for side in self.sides:
                side.recode()

    def _meet(self, arrived: Arrived, port: int, matched: np.ndarray | None, late: bool) -> Iterator[pa.RecordBatch]:
        """All pairs with rows that the other side holds; ``matched``, if anybody asks, is brought up to date."""
        other = self.sides[1 - port]
        for mine, theirs in other.probe(arrived, self.spec.band.reach(1 - port)):
            if self.spec.where is not None:
                tested = pa.schema([f for f in self.pairs if f.name in self.tested])
                passed = self.spec.where.evaluate(self._pairs(tested, arrived, mine, theirs, port))
                chosen = views.booleans(passed.fill_null(False))
                mine, theirs = mine[chosen], theirs[chosen]
            if not len(mine):
                continue
            if matched is not None:
                matched[mine] = True
            if self.spec.gives_pairs:
                if other.marks:
                    other.mark(theirs)
                pairs = self._pairs(self.output, arrived, mine, theirs, port)
                yield from _parted(pairs, other.are_late(theirs), late)
            elif port == RIGHT:
                yield from self._first_match(np.unique(theirs), late)
        if self.spec.how == "semi" and port == LEFT and matched is not None and matched.any():
            yield from _parted(self._own(arrived, np.flatnonzero(matched), port), None, late)

    def _first_match(self, theirs: np.ndarray, late: bool) -> Iterator[pa.RecordBatch]:
        """Left rows of a semi or anti join that have met a right row: they go, of a semi join into the output."""
        left = self.sides[LEFT]
        if self.spec.how == "semi":
            rows = pa.RecordBatch.from_arrays(left.take(self.output.names, theirs), schema=self.output)
            yield from _parted(rows, left.are_late(theirs), late)
        left.remove(theirs)

    def _pairs(
        self, wanted: pa.Schema, arrived: Arrived, mine: np.ndarray, theirs: np.ndarray, port: int
    ) -> pa.RecordBatch:
        """These columns of pairs of rows that arrived at a port and rows held on the other side."""
        names = self.spec.pair_names(self.given)
        own = {
            names[port][f.name]: take_column(c, mine, f.type)
            for c, f in zip(arrived.columns, self.inputs[port], strict=True)
            if names[port][f.name] in wanted.names
        }
        held = {n: names[1 - port][n] for n in self.inputs[1 - port].names if names[1 - port][n] in wanted.names}
        taken = self.sides[1 - port].take(list(held), theirs)
        found = {**own, **dict(zip(held.values(), taken, strict=True))}
        return pa.RecordBatch.from_arrays([found[n] for n in wanted.names], schema=wanted)

    def _own(self, arrived: Arrived, rows: np.ndarray, port: int) -> pa.RecordBatch:
        """Rows that arrived, alone: what the output has of the other side is null."""
        names = self.spec.pair_names(self.given)[port]
        own = {names[f.name]: (c, f.type) for c, f in zip(arrived.columns, self.inputs[port], strict=True)}
        return self._padded({n: take_column(c, rows, t) for n, (c, t) in own.items()}, len(rows))

    def _padded(self, columns: Mapping[str, pa.Array], count: int) -> pa.RecordBatch:
        arrays = [columns[f.name] if f.name in columns else pa.nulls(count, f.type) for f in self.output]
        return pa.RecordBatch.from_arrays(arrays, schema=self.output)

    def process_punctuation(self, punct: Punctuation, port: int = 0) -> Iterator[Element]:
        return self.process_punctuations([punct], port)

    def process_punctuations(self, train: Sequence[Punctuation], port: int = 0) -> Iterator[Element]:
        """ProcessPunctuation: free the other side's rows that no later row can meet; then promise."""
        new = [p for p in train if self.ports.advance(p, port)]
        if not new:
            return
        yield from self._free(1 - port)
        for punct in new:
            yield from self.ports.promises(punct, self._linear())

    def _linear(self) -> list[Punctuation] | None:
        if not self.spec.gives_pairs:
            return None
        left, right = self.ports.frontiers
        return linear_promises((left, right), self.names, self.spec.band)

    def _free(self, side: int) -> Iterator[pa.RecordBatch]:
        own = self.sides[side]
        if self._groups(side):
            frontier = self.ports.frontiers[1 - side]
            bounds = [c.bound(self.spec.times[1 - side]) for g in frontier.by.values() for _, c in g.items()]
            bounds += [p.below.get(self.spec.times[1 - side], math.inf) for p in frontier.several]
            bounds.append(frontier.bound(self.spec.times[1 - side]))
            highest = max(self.spec.band.least_held(side, b) for b in bounds)
            freed = own.purge_each(partial(self._least_of_held, side), highest)
        else:
            least = self.spec.band.least_held(side, self.ports.frontiers[1 - side].bound(self.spec.times[1 - side]))
            freed = own.purge(least)
        for places in freed:
            if self.spec.pads[side]:
                yield from self._freed_alone(side, places)

    def _freed_alone(self, side: int, places: np.ndarray) -> Iterator[pa.RecordBatch]:
        own = self.sides[side]
        if own.marks:
            places = places[~own.matched[places]]
        late = own.are_late(places)
        if late is not None:
            places = places[~late]
        if len(places):
            names = self.spec.pair_names(self.given)[side]
            wanted = [n for n in self.inputs[side].names if names[n] in self.output.names]
            columns = own.take(wanted, places)
            yield self._padded({names[n]: c for n, c in zip(wanted, columns, strict=True)}, len(places))

    def _groups(self, side: int) -> dict[str, str]:
        """Columns by which the other side promises, that are keys: with this side's name for each."""
        by = group_columns(self.ports.frontiers[1 - side])
        return {pair[1 - side]: pair[side] for pair in self.names.linked if pair[1 - side] in by}

    def _least(self, side: int, columns: Sequence[pa.Array]) -> int | float | np.ndarray:
        """The least place that a row of a side must have to meet a later one, by row where its key decides."""
        names = self.inputs[side].names
        keys = {theirs: columns[names.index(ours)] for theirs, ours in self._groups(side).items()}
        return self._bounds(side, keys)

    def _least_of_held(self, side: int, places: np.ndarray) -> np.ndarray:
        groups = self._groups(side)
        columns = self.sides[side].take(list(groups.values()), places)
        found = self._bounds(side, dict(zip(groups, columns, strict=True)))
        return np.broadcast_to(found, len(places))

    def _bounds(self, side: int, keys: Mapping[str, pa.Array]) -> int | float | np.ndarray:
        frontier = self.ports.frontiers[1 - side]
        least = partial(self.spec.band.least_held, side)
        convert = (lambda bound: _as_int64(least(bound))) if keys and self.sides[side].whole else least
        return bounds_of_rows(frontier, self.spec.times[1 - side], keys, convert)

    def save(self) -> Iterator[Part]:
        yield self.ports.save()
        yield text_part(LATE_UNUSED, self.late_unused)
        for number, side in enumerate(self.sides):
            yield from side.save(f"{number}/")

    def load(self, parts: Iterable[Part]) -> None:
        found = dict(parts)
        self.late_unused = load_common(found, self.ports)
        self.words.clear()
        for number, side in enumerate(self.sides):
            side.load(found, f"{number}/")


def _parted(rows: pa.RecordBatch, late_rows: np.ndarray | None, late: bool) -> Iterator[pa.RecordBatch]:
    """Rows that a late one had a part in go marked, apart from the others."""
    if late or late_rows is None:
        yield mark_late(rows) if late else rows
        return
    for chosen, marked in ((~late_rows, False), (late_rows, True)):
        if chosen.any():
            part = rows.filter(pa.array(chosen))
            yield mark_late(part) if marked else part


def _is_below(places: np.ndarray, least: Bound | np.ndarray) -> np.ndarray:
    if isinstance(least, np.ndarray):
        return is_below(places, least)
    return np.full(len(places), True) if least == math.inf else places < least


def _as_int64(least: Bound) -> int:
    """For arrays of bounds: the end is the greatest number."""
    return INT64_MIN if least <= INT64_MIN else INT64_MAX if least >= INT64_MAX else math.ceil(least)
