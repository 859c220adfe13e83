"""One side of a join: the rows that may still meet a row of the other side (OOP paper, figure 4).

Each held row has a *place*, which is its index in all arrays, and a *point* on the axis of time (see `band`). The table
finds places by key and point, the slices by point alone.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence, Set
from dataclasses import dataclass

import numpy as np
import pyarrow as pa

from oop.kernels import dictionaries, dispatch, views
from oop.kernels.signatures.joins import Reach
from oop.operators.core.compute import compute as pc
from oop.operators.core.coverage import as_int64
from oop.operators.core.parts import Part
from oop.operators.core.row_groups import distinct_groups
from oop.operators.core.slice_parts import SliceParts, check_saved_columns
from oop.operators.core.time_slices import TimeSlices
from oop.operators.core.times import from_physical, is_whole
from oop.operators.join.band import Band, SameWindow
from oop.operators.join.keys import as_key
from oop.operators.join.words import ByKey, ByStretch, KeyWords
from oop.operators.rows.places import PlacedRows, Places, with_places
from oop.punctuation.patterns import Group

PAIRS = 65_536  # pairs that are made into rows at a time
SAMPLE = 64  # arriving rows that are probed to estimate how many held rows share a key
CROWD = 128  # the estimate is cut off at this many rows a key; half of it is many
MATCHED, LATE = "$matched", "$late"  # columns of a saved part beside those of the rows


@dataclass
class JoinableRows:
    """The rows of a batch that can meet others: their columns, words and points."""

    columns: list[pa.Array]
    words: np.ndarray
    points: np.ndarray

    def __len__(self) -> int:
        return len(self.points)


class Side:
    """``keys`` are its key columns, compared in the types ``key_types``; ``time`` is its time column. ``way`` is how
    rows are found. With ``keeps_matched`` the side remembers of each row whether it met a row of the other side."""

    def __init__(
        self,
        schema: pa.Schema,
        *,
        time: str,
        keys: Sequence[str],
        key_types: Sequence[pa.DataType],
        band: Band | SameWindow,
        words: KeyWords,
        way: ByKey,
        keeps_matched: bool,
    ) -> None:
        self.schema, self.time, self.keys, self.key_types = schema, time, list(keys), list(key_types)
        self.band, self.words, self.way, self.keeps_matched = band, words, way, keeps_matched
        self._looked_at = SAMPLE
        self.whole = is_whole(schema.field(time).type) or not band.keeps_time
        self._derived = self._find_derived()
        self._parts = SliceParts()
        self._start()

    def _find_derived(self) -> dict[str, int | None]:
        """The columns that are not stored once more: the time (None), and keys that their words give back, by their
        position."""
        found: dict[str, int | None] = {}
        for position, (name, type_) in enumerate(zip(self.keys, self.key_types, strict=True)):
            plain = self.schema.field(name).type == type_ and not pa.types.is_dictionary(type_)
            if plain and self.words.gives(position):
                found[name] = position
        if self.band.keeps_time and views.fixed_dtype(self.schema.field(self.time).type) in (np.int64, np.float64):
            found[self.time] = None
        return found

    def _start(self) -> None:
        self.table = dispatch.kernels().JoinTable(np.int64 if self.whole else np.float64)
        self.slices = TimeSlices(self.band.span, self.whole)
        self.places = Places()
        self.rows = PlacedRows(pa.schema([f for f in self.schema if f.name not in self._derived]))
        self.matched = np.zeros(0, np.bool_)  # by place
        self.late = np.zeros(0, np.bool_)  # by place; empty until a late row is admitted
        self.dead = np.zeros(0, np.bool_)  # by place: the row was removed early, but its slice still lists it
        self._deaths = 0
        self._groups: dict[int, tuple[list[str], set[Group]]] = {}  # by slice: key columns, and their values in it

    def __len__(self) -> int:
        return len(self.table)

    @property
    def nbytes(self) -> int:
        if not len(self):  # `_tidy` has replaced all arrays with empty ones
            return 0
        flags = self.matched.nbytes + self.late.nbytes + self.dead.nbytes
        return self.table.nbytes + self.slices.nbytes + self.rows.nbytes + self.places.nbytes + flags

    def read(self, batch: pa.RecordBatch) -> tuple[JoinableRows, np.ndarray | None]:
        """The rows that can meet others, and (if not all can) which ones: a key or time that is null meets nothing."""
        # Text that comes from another thread is dictionary-encoded (see `exchange`); `as_key` decodes it.
        keys = [as_key(batch.column(n), t) for n, t in zip(self.keys, self.key_types, strict=True)]
        valid = self._usable(batch.column(self.time), keys)
        if valid is not None:
            chosen = pa.array(valid)
            batch, keys = batch.filter(chosen), [key.filter(chosen) for key in keys]
        points = self.band.points(views.times(batch.column(self.time)))
        return JoinableRows(list(batch.columns), self.words.of(keys, batch.num_rows), points), valid

    def _usable(self, times: pa.Array, keys: Sequence[pa.Array]) -> np.ndarray | None:
        valid = None
        if not is_whole(times.type) and bool(pc.any(pc.is_nan(times)).as_py()):
            valid = views.booleans(pc.fill_null(pc.invert(pc.is_nan(times)), False))
        for column in (times, *keys):
            if column.null_count:
                there = views.booleans(pc.is_valid(column))
                valid = there if valid is None else valid & there
        return None if valid is None or valid.all() else valid

    def probe(self, arrived: JoinableRows, reach: Reach, most: int = PAIRS) -> Iterator[tuple[np.ndarray, np.ndarray]]:
        """Pairs of a row that arrived on the other side and a place here, at most ``most`` at a time."""
        if not len(self.table) or not len(arrived):
            return
        if len(self) > 2 * self._looked_at:
            self._look(arrived)
        for rows, words in self.way.probing(arrived.words, arrived.points, reach):
            points = arrived.points if rows is None else arrived.points[rows]
            start = 0
            while start < len(words):
                mine, theirs, start = self.table.probe(words, points, reach, start, min(most, PAIRS))
                mine = mine if rows is None else rows[mine]
                if self.way.verifies and len(mine):
                    same = self.way.key(*self.table.read(theirs)) == arrived.words[mine]
                    mine, theirs = mine[same], theirs[same]
                for at in range(0, len(mine), most):  # the kernel never splits one row's pairs, so there may be more
                    yield mine[at : at + most], theirs[at : at + most]

    def _look(self, arrived: JoinableRows) -> None:
        """Index the rows by time too if a sample of arriving rows finds very many of its key, in reach or not."""
        self._looked_at = max(len(self), SAMPLE)
        if not self.way.by_key_alone or math.isinf(self.band.span):
            return
        words, points = arrived.words[:SAMPLE], arrived.points[:SAMPLE]
        found = self.table.probe(words, points, Reach(-math.inf, math.inf), 0, CROWD * SAMPLE)[0]
        if len(found) >= CROWD * len(words) // 2:
            held = self.held()
            words, points = self.table.read(held)
            self.way = ByStretch(self.band.span, True)
            self._index(held, words, points)

    def _index(self, held: np.ndarray, keys: np.ndarray, points: np.ndarray) -> None:
        """Rebuild the table from the words of the keys."""
        table = dispatch.kernels().JoinTable(self.table.dtype)
        table.insert(held, self.way.stored(keys, points), points)
        self.table = table

    def insert(
        self, arrived: JoinableRows, chosen: np.ndarray | None, matched: np.ndarray | None = None, late: bool = False
    ) -> None:
        """Hold the arrived rows, or only the ``chosen`` ones. ``matched`` says for every arrived row whether it met
        another."""
        words, points = arrived.words, arrived.points
        if chosen is not None:
            words, points = words[chosen], points[chosen]
        places = self.places.take(len(points))
        self.table.insert(places, self.way.stored(words, points), points)
        columns = [c for c, f in zip(arrived.columns, self.schema, strict=True) if f.name not in self._derived]
        self.rows.put(places, columns, chosen)
        shift = self.slices.shift
        numbers = self.slices.add(places, points)
        if self.slices.shift != shift:  # the slices were renumbered
            self._groups.clear()
        for number in numbers:
            if number in self._groups:
                keys, known = self._groups[number]
                values = {key: arrived.columns[self.schema.names.index(key)] for key in keys}
                # The groups of the whole batch: a slice may list some that it does not have.
                known.update(distinct_groups(values)[1])
        if self.keeps_matched:
            self.matched = with_places(self.matched, self.places.room)
            self.matched[places] = False if matched is None else matched if chosen is None else matched[chosen]
        if late or len(self.late):
            self.late = with_places(self.late, self.places.room)
            self.late[places] = late

    def note_matched(self, places: np.ndarray) -> None:
        """Remember that the rows in these places met a row of the other side."""
        new = places[~self.matched[places]]
        if len(new):
            self.matched[new] = True
            self.slices.touch(self.table.read(new)[1])

    def are_late(self, places: np.ndarray) -> np.ndarray | None:
        """Which of the rows came late; None if none did."""
        if not len(self.late):
            return None
        found = self.late[places]
        return found if found.any() else None

    def take(self, names: Sequence[str], places: np.ndarray) -> list[pa.Array]:
        """Columns of the rows in these places."""
        found = self.rows.take([n for n in names if n not in self._derived], places)
        wanted = [n for n in names if n in self._derived]
        if wanted:
            words, points = self.table.read(places)
            for name in wanted:
                position, type_ = self._derived[name], self.schema.field(name).type
                if position is None:
                    found[name] = from_physical(points, type_)
                else:
                    key = self.words.column(position, self.way.key(words, points))
                    found[name] = dictionaries.to_arrow_type(key, type_)
        return [found[n] for n in names]

    def purge(self, least: int | float, most: int = PAIRS) -> Iterator[np.ndarray]:
        """Free the rows whose point is below ``least``: their places, at most ``most`` at a time. The rows can be read
        until the next places are asked for."""
        due: dict[int, tuple[np.ndarray, np.ndarray]] = {}
        rows = 0  # gathered so far; several slices are freed in one call
        for number, whole in self.slices.below(least):
            places = self._alive(number)
            if due and rows + len(places) > most:
                yield from self._free(due, most)
                due, rows = {}, 0
            gone = None if whole else self.table.read(places)[1] < least
            due[number] = (places, places[:0]) if gone is None else (places[gone], places[~gone])
            rows += len(places)
        yield from self._free(due, most)

    def purge_each(
        self,
        keys: list[str],
        least: Callable[[Group], int | float],
        highest: int | float,
        due: Set[Group | None] | None = None,
        most: int = PAIRS,
    ) -> Iterator[np.ndarray]:
        """Like `purge`, but the least point depends on the values of ``keys``. ``highest`` is the greatest new one,
        ``due`` are the groups that have a new one (None: any may have).

        A slice is skipped if it only has rows of groups that free nothing in it.
        """
        for number, _ in self.slices.below(highest):
            names, known = self._groups.get(number, ([], set()))
            if names == keys and due is not None and known.isdisjoint(due):
                continue
            if names == keys and all(least(group) <= self.slices.start(number) for group in known):
                continue
            places = self._alive(number)
            if not len(places):
                continue
            columns = self.take(keys, places)
            of, groups = distinct_groups(dict(zip(keys, columns, strict=True)))
            found = [least(group) for group in groups]
            gone = are_below(self.table.read(places)[1], [np.array(b)[of] for b in split_bounds(found, self.whole)])
            left = np.unique(of[~gone])
            yield from self._free({number: (places[gone], places[~gone])}, most)
            self._groups.pop(number, None)
            if len(left):
                self._groups[number] = keys, {groups[i] for i in left.tolist()}

    def _free(self, due: Mapping[int, tuple[np.ndarray, np.ndarray]], most: int) -> Iterator[np.ndarray]:
        """Free rows of some slices, of each of which ``due`` has those that leave and those that are left."""
        found = {number: pair for number, pair in due.items() if len(pair[0])}
        if not found:
            return
        leaving = np.concatenate([places for places, _ in found.values()])
        for number, (_, left) in found.items():
            self.slices.replace(number, left)
        for start in range(0, len(leaving), most):
            here = leaving[start : start + most]
            yield here
            self.table.remove(here)
            self.places.give(here)
        self._tidy()  # only now: it keeps only rows that a slice lists, and these were still to be read

    def remove(self, places: np.ndarray) -> None:
        """Remove rows before a promise frees them. Their slices list them until looked into, or until many are gone."""
        self.slices.touch(self.table.read(places)[1])
        self.table.remove(places)
        self.dead = with_places(self.dead, self.places.room)
        self.dead[places] = True
        self._deaths += len(places)
        if self._deaths > len(self):
            self.held()
        self._tidy()

    def _alive(self, number: int) -> np.ndarray:
        """The places of a slice; places of rows that were removed early are given back first."""
        if number not in self.slices:
            return np.zeros(0, np.int64)
        places = self.slices.places(number)
        if not self._deaths:
            return places
        self.dead = with_places(self.dead, self.places.room)
        dead = self.dead[places]
        if not dead.any():
            return places
        gone, places = places[dead], places[~dead]
        self.dead[gone] = False
        self._deaths -= len(gone)
        self.places.give(gone)
        self.slices.replace(number, places)
        return places

    def held(self) -> np.ndarray:
        """The places of all rows."""
        found = [self._alive(n) for n in self.slices.numbers()]
        return np.concatenate(found) if found else np.zeros(0, np.int64)

    def first(self) -> int | None:
        """The place of a row with the least point."""
        for number in self.slices.numbers():
            places = self._alive(number)
            if len(places):
                return int(places[np.argmin(self.table.read(places)[1])])
        return None

    def _tidy(self) -> None:
        """Start afresh if nothing is held, and compact the stored rows if most of them are gone."""
        if not len(self):
            before = self.slices
            self._start()
            self.slices.follow(before)
        elif self.rows.is_mostly_gone(len(self)):
            self.rows.rewrite(self.held())

    def held_keys(self) -> tuple[np.ndarray, list[pa.Array]]:
        """The places of all rows, and their keys. `KeyWords.clear` forgets the keys that are not stored in rows."""
        held = self.held()
        return held, [as_key(c, t) for c, t in zip(self.take(self.keys, held), self.key_types, strict=True)]

    def recode(self, held: np.ndarray, keys: Sequence[pa.Array]) -> None:
        """Compute all words again, of what `held_keys` gave before the words were cleared."""
        self._index(held, self.words.of(keys, len(held)), self.table.read(held)[1])

    def save(self, prefix: str) -> Iterator[Part]:
        """The slices that changed since the last time."""
        return self._parts.save(self.slices.shift, self.slices.take_changes(), self._part, prefix)

    def _part(self, number: int) -> pa.RecordBatch | None:
        places = self._alive(number)
        if not len(places):
            return None
        nothing = np.zeros(len(places), np.bool_)
        matched = self.matched[places] if self.keeps_matched else nothing
        late = self.late[places] if len(self.late) else nothing
        columns = [*self.take(self.schema.names, places), pa.array(matched), pa.array(late)]
        return pa.record_batch(columns, names=[*self.schema.names, MATCHED, LATE])

    def load(self, parts: Mapping[str, pa.RecordBatch | None], prefix: str) -> None:
        shift, found = self._parts.load(parts, prefix)
        self._start()
        if shift is None:
            return
        self.slices.shift = shift
        self.slices.are_known(number for number, _ in found if number is not None)
        for _, part in found:
            self._load(part)
        if self.slices.shift == shift:
            self.slices.take_changes()  # the slices are as they were saved, so none counts as changed

    def _load(self, part: pa.RecordBatch) -> None:
        check_saved_columns(part, self.schema.names, "the state of a join was")
        late, matched = views.booleans(part.column(LATE)), views.booleans(part.column(MATCHED))
        arrived, _ = self.read(part.select(self.schema.names))
        for value in (False, True):
            chosen = np.flatnonzero(late == value)
            if len(chosen):
                self.insert(arrived, chosen, matched, value)


def split_bounds(bounds: Sequence[int | float], whole: bool) -> tuple[list[int | float], list[bool]]:
    """Bounds as numbers of the points' own type, and which of them are the end."""
    return [as_int64(b) if whole else b for b in bounds], [b == math.inf for b in bounds]


def are_below(points: np.ndarray, bounds: Sequence[np.ndarray]) -> np.ndarray:
    """Points below bounds that differ from row to row, as `split_bounds` gives them."""
    least, ended = bounds
    return (points < least) | ended
