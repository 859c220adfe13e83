"""One side of a join: the rows that may still meet a row of the other side (DESIGN section 3; paper 004, figure 4)."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import pyarrow as pa

from oop.kernels import dispatch, views
from oop.kernels.reference_joins import Reach
from oop.operators.band import Band, SameWindow
from oop.operators.base import Part, read_text, text_part
from oop.operators.compute import compute as pc
from oop.operators.coverage import INT64_MAX
from oop.operators.held_rows import HeldRows, Places, as_type
from oop.operators.join_words import ByKey, ByPiece, KeyWords
from oop.operators.time_slices import TimeSlices
from oop.operators.times import from_physical, is_whole

_PAIRS = 65_536  # pairs that are made into rows at a time
SAMPLE = 64  # rows that are looked at …
CROWD = 128  # … to see whether there are about so many of a key
_MATCHED, _LATE = "matched", "late"


@dataclass
class Arrived:
    """The rows of a batch that can meet others: their columns, words and places."""

    columns: list[pa.Array]
    words: np.ndarray
    places: np.ndarray

    @staticmethod
    def of(batch: pa.RecordBatch) -> Arrived:
        """Rows that meet nothing."""
        return Arrived(list(batch.columns), np.zeros(0, np.uint64), np.zeros(0, np.int64))

    def __len__(self) -> int:
        return len(self.places)


class Side:
    """``names`` are its key columns, compared in the types of ``words``, and ``time`` its time column. ``marks`` says
    that it must be known of each row whether it met one of the other side."""

    def __init__(
        self,
        schema: pa.Schema,
        time: str,
        names: Sequence[str],
        key_types: Sequence[pa.DataType],
        band: Band | SameWindow,
        words: KeyWords,
        way: ByKey,
        marks: bool,
    ) -> None:
        self.schema, self.time, self.names, self.key_types = schema, time, list(names), list(key_types)
        self.band, self.words, self.way, self.marks = band, words, way, marks
        self._looked_at = SAMPLE
        self.whole = is_whole(schema.field(time).type) or not band.keeps_time
        self._derived = self._find_derived()
        self._start()

    def _find_derived(self) -> dict[str, int | None]:
        """Columns that the table has already: the time (None), and packed keys by number."""
        found: dict[str, int | None] = {}
        if self.words.can_unpack:
            for number, (name, type_) in enumerate(zip(self.names, self.key_types, strict=True)):
                if self.schema.field(name).type == type_ and not pa.types.is_dictionary(type_):
                    found[name] = number
        if self.band.keeps_time and views.fixed_dtype(self.schema.field(self.time).type) in (np.int64, np.float64):
            found[self.time] = None
        return found

    def _start(self) -> None:
        self.table = dispatch.kernels().JoinTable(np.int64 if self.whole else np.float64)
        self.slices = TimeSlices(self.band.span, self.whole)
        self.numbers = Places()
        self.rows = HeldRows(pa.schema([f for f in self.schema if f.name not in self._derived]))
        self.matched = np.zeros(0, np.bool_)
        self.late: np.ndarray | None = None  # by place, once a late row was admitted
        self._saved: set[int] = set()

    def __len__(self) -> int:
        return len(self.table)

    @property
    def nbytes(self) -> int:
        flags = self.matched.nbytes + (0 if self.late is None else self.late.nbytes)
        return self.table.nbytes + self.slices.nbytes + self.rows.nbytes + self.numbers.nbytes + flags

    def read(self, batch: pa.RecordBatch) -> tuple[Arrived, np.ndarray | None]:
        """The rows that can meet others, and (if not all can) which ones: a key or time that is null meets nothing."""
        columns = list(batch.columns)
        valid = self._usable(batch)
        if valid is not None:
            batch = batch.filter(pa.array(valid))
            columns = list(batch.columns)
        keys = [as_type(batch.column(n), t) for n, t in zip(self.names, self.key_types, strict=True)]
        places = self.band.places(views.times(batch.column(self.time)))
        return Arrived(columns, self.words.of(keys, batch.num_rows), places), valid

    def _usable(self, batch: pa.RecordBatch) -> np.ndarray | None:
        valid = None
        times = batch.column(self.time)
        if not is_whole(times.type) and bool(pc.any(pc.is_nan(times)).as_py()):
            valid = views.booleans(pc.fill_null(pc.invert(pc.is_nan(times)), False))
        for column in (times, *(batch.column(n) for n in self.names)):
            if column.null_count or pa.types.is_dictionary(column.type):
                there = views.booleans(pc.is_valid(as_type(column, _decoded(column.type))))
                valid = there if valid is None else valid & there
        return None if valid is None or valid.all() else valid

    def probe(self, arrived: Arrived, reach: Reach) -> Iterator[tuple[np.ndarray, np.ndarray]]:
        """Pairs of a row that arrived on the other side and a place here, some at a time."""
        if not len(self.table):
            return
        if len(self) > 2 * self._looked_at:
            self._look(arrived)
        for rows, words in self.way.probing(arrived.words, arrived.places, reach):
            places = arrived.places if rows is None else arrived.places[rows]
            start = 0
            while start < len(words):
                mine, theirs, start = self.table.probe(words, places, reach, start, _PAIRS)
                mine = mine if rows is None else rows[mine]
                if self.way.verifies and len(mine):
                    same = self.way.key(*self.table.read(theirs)) == arrived.words[mine]
                    mine, theirs = mine[same], theirs[same]
                if len(mine):
                    yield mine, theirs

    def _look(self, arrived: Arrived) -> None:
        """Do rows find very many of their key, in reach or not? Then they are to be found by time as well."""
        self._looked_at = max(len(self), SAMPLE)
        if type(self.way) is not ByKey or math.isinf(self.band.span):
            return
        words, places = arrived.words[:SAMPLE], arrived.places[:SAMPLE]
        found = self.table.probe(words, places, Reach(-math.inf, math.inf), 0, CROWD * SAMPLE)[0]
        if len(found) >= CROWD * len(words) // 2:
            held = self.held()
            words, places = self.table.read(held)
            self.way = ByPiece(self.band.span, True)
            self.table = dispatch.kernels().JoinTable(self.table.dtype)
            self.table.insert(held, self.way.stored(words, places), places)

    def insert(
        self, arrived: Arrived, chosen: np.ndarray | None, matched: np.ndarray | None = None, late: bool = False
    ) -> None:
        """Hold rows: all, or those with these numbers. ``matched`` says of all rows whether they met another."""
        words, places = arrived.words, arrived.places
        if chosen is not None:
            words, places = words[chosen], places[chosen]
        numbers = self.numbers.take(len(places))
        self.table.insert(numbers, self.way.stored(words, places), places)
        columns = [c for c, f in zip(arrived.columns, self.schema, strict=True) if f.name not in self._derived]
        self.rows.put(numbers, columns, chosen)
        self.slices.add(numbers, places)
        if self.marks:
            self.matched = _with_room(self.matched, self.numbers.room)
            self.matched[numbers] = False if matched is None else matched if chosen is None else matched[chosen]
        if late or self.late is not None:
            self.late = _with_room(self.late if self.late is not None else np.zeros(0, np.bool_), self.numbers.room)
            self.late[numbers] = late

    def mark(self, places: np.ndarray) -> None:
        """These rows met one of the other side."""
        if not self.matched[places].all():
            self.matched[places] = True
            self.slices.touch(self.table.read(places)[1])

    def are_late(self, places: np.ndarray) -> np.ndarray | None:
        """Which of the rows came late; None if none did."""
        found = None if self.late is None else self.late[places]
        return found if found is not None and found.any() else None

    def take(self, names: Sequence[str], places: np.ndarray) -> list[pa.Array]:
        """Columns of the rows in these places."""
        found = self.rows.take_all([n for n in names if n not in self._derived], places)
        wanted = [n for n in names if n in self._derived]
        if wanted:
            words, times = self.table.read(places)
            keys = self.words.columns(self.way.key(words, times)) if self.words.can_unpack and self.names else []
            for name in wanted:
                number = self._derived[name]
                type_ = self.schema.field(name).type
                found[name] = from_physical(times, type_) if number is None else views.to_arrow(keys[number], type_)
        return [found[n] for n in names]

    def purge(self, least: int | float) -> Iterator[np.ndarray]:
        """The places of rows that stand below one place: they are no longer held when the next are asked for."""
        for number, whole in self.slices.below(least):
            places = self.slices.places(number)
            if whole:
                yield from self._free(number, places, None)
            else:
                yield from self._free(number, places, self.table.read(places)[1] < least)

    def purge_each(self, least: Callable[[np.ndarray], np.ndarray], highest: int | float) -> Iterator[np.ndarray]:
        """The same where rows of different keys have different bounds, the greatest of which is ``highest``."""
        for number, _ in self.slices.below(highest):
            places = self.slices.places(number)
            bounds = least(places)
            yield from self._free(number, places, is_below(self.table.read(places)[1], bounds))

    def _free(self, number: int, places: np.ndarray, gone: np.ndarray | None) -> Iterator[np.ndarray]:
        if gone is not None and not gone.any():
            return
        leaving = places if gone is None else places[gone]
        yield leaving
        self.slices.replace(number, places[:0] if gone is None else places[~gone])
        self.table.remove(leaving)
        self.numbers.give(leaving)
        self.tidy()

    def remove(self, places: np.ndarray) -> None:
        """Rows that leave before their time."""
        gone = np.zeros(self.numbers.room, np.bool_)
        gone[places] = True
        self.slices.discard(self.table.read(places)[1], gone)
        self.table.remove(places)
        self.numbers.give(places)
        self.tidy()

    def tidy(self) -> None:
        """Give back memory that rows which are gone have left behind."""
        if not len(self):
            saved, changed = self._saved, self.slices.take_changes()
            self._start()
            self._saved = saved
            self.slices.changed = set(changed)
        elif self.rows.tidy(None, len(self)):
            self.rows.tidy(self.held(), len(self))

    def held(self) -> np.ndarray:
        """The places of all rows."""
        found = [self.slices.places(n) for n in self.slices.numbers()]
        return np.concatenate(found) if found else np.zeros(0, np.int64)

    def recode(self) -> None:
        """Words anew, after `KeyWords.clear`."""
        places = self.held()
        _, times = self.table.read(places)
        keys = [as_type(c, t) for c, t in zip(self.take(self.names, places), self.key_types, strict=True)]
        self.table = dispatch.kernels().JoinTable(self.table.dtype)
        self.table.insert(places, self.way.stored(self.words.of(keys, len(places)), times), times)

    def save(self, prefix: str) -> Iterator[Part]:
        """The slices that changed since the last time."""
        yield text_part(f"{prefix}shift", self.slices.shift)
        for number in self.slices.take_changes():
            key = f"{prefix}slice/{number}"
            if number in self.slices:
                yield key, self._part(self.slices.places(number))
                self._saved.add(number)
            elif number in self._saved:
                yield key, None
                self._saved.discard(number)

    def _part(self, places: np.ndarray) -> pa.RecordBatch:
        columns = self.take(self.schema.names, places)
        marks = [self.matched[places] if self.marks else np.zeros(len(places), np.bool_)]
        marks.append(np.zeros(len(places), np.bool_) if self.late is None else self.late[places])
        names = [f"c{i}" for i in range(len(columns))] + [_MATCHED, _LATE]
        return pa.record_batch([*columns, *map(pa.array, marks)], names=names)

    def load(self, parts: Mapping[str, pa.RecordBatch | None], prefix: str) -> None:
        self._start()
        said = parts.get(f"{prefix}shift")
        if said is None:
            return
        shift = read_text(said)
        assert isinstance(shift, int)
        self.slices.shift = shift
        for key, part in parts.items():
            if part is not None and key.startswith(f"{prefix}slice/"):
                self._load(part)
                self._saved.add(int(key.removeprefix(f"{prefix}slice/")))
        if self.slices.shift == shift:
            self.slices.take_changes()  # they are as they were saved

    def _load(self, part: pa.RecordBatch) -> None:
        late = views.booleans(part.column(_LATE))
        matched = views.booleans(part.column(_MATCHED))
        batch = pa.RecordBatch.from_arrays(part.columns[: len(self.schema)], schema=self.schema)
        arrived, _ = self.read(batch)
        for value in (False, True):
            chosen = np.flatnonzero(late == value)
            if len(chosen):
                self.insert(arrived, chosen, matched, value)


def is_below(places: np.ndarray, bounds: np.ndarray) -> np.ndarray:
    """Places below bounds that differ from row to row; the greatest one stands for the end."""
    end = INT64_MAX if bounds.dtype == np.int64 else math.inf
    return (places < bounds) | (bounds == end)


def _with_room(flags: np.ndarray, room: int) -> np.ndarray:
    if room <= len(flags):
        return flags
    longer = np.zeros(max(room, len(flags) + len(flags) // 4), np.bool_)
    longer[: len(flags)] = flags
    return longer


def _decoded(type_: pa.DataType) -> pa.DataType:
    return type_.value_type if pa.types.is_dictionary(type_) else type_
