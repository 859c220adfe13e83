"""The reference's flush table against section 6 of the OOP paper, written out."""

from __future__ import annotations

from collections import Counter
from itertools import accumulate
from time import perf_counter
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from oop.kernels.dispatch import NAMES, kernels
from oop.kernels.signatures.flush import Discipline
from tests.kernels.cases import quick

Row = tuple[int, int]  # a key and a window
Partial = tuple[int, int, int]  # and a count

KEYS = st.integers(0, 20)
SIZES = st.sampled_from([1, 2, 7])


def _lists(rows: st.SearchStrategy[Row]) -> st.SearchStrategy[list[Row]]:
    """Short ones, and as many that are long enough for every slot to be taken."""
    return st.lists(rows, max_size=80) | st.lists(rows, min_size=20, max_size=80)


IN_ORDER = _lists(st.tuples(KEYS, st.sampled_from([0, 0, 0, 0, 0, 1, 3]))).map(
    lambda rows: list(zip((key for key, _ in rows), accumulate(step for _, step in rows), strict=True))
)
ROWS = _lists(st.tuples(KEYS, st.integers(-2, 3)))


class Counts:
    """The owner of a table, who counts the rows of each key and window."""

    def __init__(self, size: int, discipline: Discipline, room: int = 80, name: str = "reference") -> None:
        self.made = (size, 1, room, discipline)
        self.table = kernels(name).FlushTable(*self.made)
        self.counts: Counter[int] = Counter()

    def push(self, rows: list[Row]) -> list[Partial]:
        keys, wids = (np.array([row[i] for row in rows], np.int64) for i in (0, 1))
        slots = (keys % self.made[0]).astype(np.int32)
        ids, out = self.table.push(slots, keys.astype(np.uint64).reshape(-1, 1), wids)
        self.counts.update(ids.tolist())
        return self._take(out)

    def flush(self, below: int | None) -> list[Partial]:
        return self._take(self.table.flush(below))

    def _take(self, places: Any) -> list[Partial]:
        """What leaves, in order; its places are given back."""
        keys, wids = self.table.words(places)[:, 0].tolist(), self.table.wids(places).tolist()
        left = [(key, wid, self.counts.pop(place)) for key, wid, place in zip(keys, wids, places.tolist(), strict=True)]
        self.table.free(places)
        return left

    def held(self) -> dict[int, Row]:
        """What is in each slot."""
        slots, places = self.table.held()
        keys, wids = self.table.words(places)[:, 0].tolist(), self.table.wids(places).tolist()
        return dict(zip(slots.tolist(), zip(keys, wids, strict=True), strict=True))

    def move(self, name: str = "reference") -> Counts:
        """Everything that is held, into a table elsewhere."""
        other = Counts(self.made[0], self.made[3], self.made[2], name)
        slots, places = self.table.held()
        there = other.table.restore(slots, self.table.words(places), self.table.wids(places))
        other.table.state = self.table.state
        other.counts.update({to: self.counts[place] for to, place in zip(there.tolist(), places.tolist(), strict=True)})
        return other


class Figure7:
    """Figure 7 line by line. Read with sense: what is new is old from the start of a new window on; `status = empty`
    belongs to the `if` above it, or what is new would be lost; `flush_pos > ht.size` is its end; and the two cases of
    `status[key]` are alternatives, or the tuple of a new aggregate would count twice."""

    def __init__(self, size: int, next_entry: bool) -> None:
        self.size, self.next_entry = size, next_entry
        self.ht: list[list[int]] = [[] for _ in range(size)]
        self.status = ["empty"] * size
        self.flush_finished = True
        self.flush_pos = 0
        self.window: int | None = None
        self.output: list[Partial] = []

    def process_tuple(self, t: Row) -> None:
        key, wid = t
        if wid != self.window:
            if not self.flush_finished:
                self.flush_old()
            self.window = wid
            self.status = ["old" if status == "new" else status for status in self.status]
            self.flush_finished = False
            self.flush_pos = 0
        if not self.flush_finished:
            self.slow_flush()
        entry = key % self.size
        if self.next_entry and self.status[entry] == "new" and self.ht[entry][0] != key:  # footnote 1
            behind = (entry + 1) % self.size
            if self.status[behind] != "new" or self.ht[behind][0] == key:
                entry = behind
        if self.status[entry] in ("empty", "old"):
            if self.status[entry] == "old":
                self.put_out(entry)
            self.ht[entry], self.status[entry] = [key, wid, 1], "new"
        elif self.ht[entry][0] == key:
            self.ht[entry][2] += 1
        else:
            self.flush_old()
            self.put_out(entry)
            self.ht[entry], self.status[entry] = [key, wid, 1], "new"

    def slow_flush(self) -> None:
        if self.status[self.flush_pos] == "old":
            self.put_out(self.flush_pos)
        self.flush_pos += 1
        if self.flush_pos == self.size:
            self.flush_finished = True

    def flush_old(self) -> None:
        for entry in range(self.size):
            if self.status[entry] == "old":
                self.put_out(entry)

    def put_out(self, entry: int) -> None:
        key, wid, count = self.ht[entry]
        self.output.append((key, wid, count))
        self.status[entry] = "empty"


@pytest.mark.parametrize("next_slot", [False, True])
@quick
@given(rows=IN_ORDER, size=SIZES)
def test_in_order_is_figure_7(rows: list[Row], size: int, next_slot: bool) -> None:
    figure, ours = Figure7(size, next_slot), Counts(size, Discipline(in_order=True, next_slot=next_slot))
    for row in rows:
        before = len(figure.output)
        figure.process_tuple(row)
        assert ours.push([row]) == figure.output[before:]
    at_once = Counts(size, Discipline(in_order=True, next_slot=next_slot))
    assert at_once.push(rows) == figure.output
    left = figure.output + at_once.flush(None)
    wids = [wid for _, wid, _ in left]
    assert wids == sorted(wids)
    assert _total(left) == Counter(rows)


def _total(left: list[Partial]) -> Counter[Row]:
    """The partial counts of each key and window together."""
    found: Counter[Row] = Counter()
    for key, wid, count in left:
        found[key, wid] += count
    return found


@pytest.mark.parametrize("every", [0, 1, 3])
@pytest.mark.parametrize("next_slot", [False, True])
@quick
@given(rows=ROWS, size=SIZES, data=st.data())
def test_out_of_order_every_row_counts_once(rows: list[Row], size: int, data: Any, every: int, next_slot: bool) -> None:
    ours, left, begin = Counts(size, Discipline(every=every, next_slot=next_slot)), list[Partial](), 0
    while begin < len(rows):
        end = data.draw(st.integers(begin + 1, len(rows)))
        left += ours.push(rows[begin:end])
        assert sum(count for *_, count in left) + sum(ours.counts.values()) == end
        assert sorted(ours.counts) == sorted(ours.table.held()[1].tolist())
        bound = data.draw(st.integers(-2, 4))
        ours.table.advance(bound)
        if data.draw(st.booleans()):
            gone = ours.flush(bound)
            assert all(wid < bound for _, wid, _ in gone)
            assert all(wid >= bound for _, wid in ours.held().values())
            left += gone
        begin = end
    left += ours.flush(None)
    assert not len(ours.table) and not ours.held()
    assert _total(left) == Counter(rows)


@pytest.mark.parametrize("name", NAMES)
@quick
@given(
    before=ROWS,
    rows=ROWS,
    size=st.sampled_from([1, 2, 7, 40, 5000]),
    every=st.sampled_from([1, 2, 5]),
    next_slot=st.booleans(),
    bounds=st.lists(st.integers(-2, 4), max_size=3),
)
def test_slow_flush_lets_the_oldest_aggregate_go_every_so_many_rows(
    before: list[Row], rows: list[Row], size: int, every: int, next_slot: bool, bounds: list[int], name: str
) -> None:
    """Always, if one is old, also where few of many slots are taken; beside it what is in the way leaves."""
    ours = Counts(size, Discipline(every=every, next_slot=next_slot), name=name)
    keys = [key * 251 for key, _ in before]  # far from each other, where there is room
    ours.push([(key, wid) for key, (_, wid) in zip(keys, before, strict=True)])
    waits, bound = len(before) % every, -3
    for number, (key, wid) in enumerate(rows, start=1):
        if number % 7 == 1 and bounds:
            bound = max(bound, bounds.pop())
            ours.table.advance(bound)
        waits = (waits + 1) % every
        held, row = ours.held(), (key * 251, wid + 2)
        old = sorted((found[1], slot) for slot, found in held.items() if found[1] < bound)
        gone = [(key, wid) for key, wid, _ in ours.push([row])]
        if not waits and old:
            slot = old[0][1]
            assert gone[0] == held.pop(slot)
            gone.pop(0)
        [slot] = [slot for slot, found in ours.held().items() if found == row]
        assert gone == ([held[slot]] if held.get(slot, row) != row else [])


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("every", [1, 10])
def test_all_that_is_old_is_gone_after_every_so_many_rows_for_each(name: str, every: int) -> None:
    """Whatever the size of the table, and one window after the other."""
    ours, old = Counts(2000, Discipline(every=every), name=name), 16
    ours.push([(key * 125, 0) for key in range(old // 2)])
    ours.push([(key * 125 + 60, 1) for key in range(old // 2)])
    ours.table.advance(2)
    left = [wid for number in range(every * old) for _, wid, _ in ours.push([(3, 5 + number // 1000)])]
    assert left == [0] * (old // 2) + [1] * (old // 2)


@pytest.mark.parametrize("name", ["jit", "native"])
def test_what_is_old_is_found_in_a_large_table_as_in_a_small_one(name: str) -> None:
    """By the time that rows take, with an old aggregate to be found by each: a visit to every slot would be seen."""

    def seconds(size: int) -> float:
        table, rows = kernels(name).FlushTable(size, 1, 4096, Discipline(every=1)), 2000
        slots = np.arange(rows, dtype=np.int32) * np.int32(size // rows)
        words = np.arange(rows, dtype=np.uint64).reshape(-1, 1)
        best = float("inf")
        for turn in range(5):
            table.push(slots, words, np.full(rows, 2 * turn))
            table.advance(2 * turn + 1)
            begin = perf_counter()
            _, out = table.push(np.zeros(rows, np.int32), words[:1].repeat(rows, axis=0), np.full(rows, 2 * turn + 1))
            best = min(best, perf_counter() - begin)
            assert len(out) == rows
            table.free(np.concatenate([out, table.flush(None)]))
        return best

    assert seconds(2_000_000) < 30 * seconds(2_000)


@pytest.mark.parametrize("size", [1, 2, 7, 8])
def test_with_every_row_all_that_is_old_is_gone_after_as_many_rows_as_slots(size: int) -> None:
    ours = Counts(size, Discipline(every=1))
    ours.push([(key, 0) for key in range(size)])
    ours.table.advance(1)
    for left in range(size - 1, -1, -1):
        assert len(ours.push([(0, 5)])) == 1
        assert sum(wid == 0 for _, wid in ours.held().values()) == left
    assert ours.push([(0, 5)]) == []


@quick
@given(rows=ROWS, size=SIZES, next_slot=st.booleans())
def test_lazily_nothing_leaves_unless_it_is_in_the_way(rows: list[Row], size: int, next_slot: bool) -> None:
    ours, collided = Counts(size, Discipline(next_slot=next_slot)), 0
    for row in rows:
        held = ours.held()
        ours.table.advance(row[1])
        assert ours.held() == held
        gone = [(key, wid) for key, wid, _ in ours.push([row])]
        now = ours.held()
        [slot] = [slot for slot, found in now.items() if found == row]
        home = row[0] % size
        assert slot in (home, (home + 1) % size) if next_slot else slot == home
        assert gone == ([] if held.get(slot, row) == row else [held[slot]])
        assert now == held | {slot: row}
        collided += any(wid == row[1] for _, wid in gone)
        if gone and next_slot:  # both were taken, and it was not the newer one
            assert all(held[at][1] >= gone[0][1] for at in (home, (home + 1) % size))
    assert ours.table.collided == collided


@pytest.mark.parametrize("discipline", [Discipline(), Discipline(every=2), Discipline(every=3, next_slot=True)])
@quick
@given(rows=ROWS, size=SIZES, data=st.data())
def test_a_table_goes_on_elsewhere(rows: list[Row], size: int, data: Any, discipline: Discipline) -> None:
    _go_on_elsewhere(rows, size, data, discipline)


@pytest.mark.parametrize("next_slot", [False, True])
@quick
@given(rows=IN_ORDER, size=SIZES, data=st.data())
def test_a_table_in_order_goes_on_elsewhere(rows: list[Row], size: int, data: Any, next_slot: bool) -> None:
    _go_on_elsewhere(rows, size, data, Discipline(in_order=True, next_slot=next_slot))


def _go_on_elsewhere(rows: list[Row], size: int, data: Any, discipline: Discipline) -> None:
    stays, moves = Counts(size, discipline), Counts(size, discipline)
    for row in rows:
        if data.draw(st.booleans()):
            moves = moves.move()
        if data.draw(st.booleans()):
            for ours in (stays, moves):
                ours.table.advance(row[1])
        assert moves.push([row]) == stays.push([row])
        assert (moves.table.state, moves.held()) == (stays.table.state, stays.held())
    assert moves.move().flush(None) == stays.flush(None)


def test_a_table_goes_on_in_another_implementation() -> None:
    rng = np.random.default_rng(3)
    rows = list(zip(rng.integers(0, 90, 700).tolist(), np.sort(rng.integers(0, 9, 700)).tolist(), strict=True))
    for discipline in (Discipline(in_order=True), Discipline(every=2, next_slot=True)):
        stays = moves = Counts(50, discipline, 100)
        for turn in range(7):
            some = rows[100 * turn : 100 * turn + 100]
            moves = moves.move(NAMES[turn % 3])
            assert moves.push(some) == stays.push(some)
            for ours in (stays, moves):
                ours.table.advance(some[0][1])
        assert moves.flush(None) == stays.flush(None)


def test_state_is_counted() -> None:
    for name in NAMES:
        table = kernels(name).FlushTable(1000, 2, 100)
        assert not len(table) and table.nbytes >= 1000 * 8 + 1100 * 3 * 8
        slots = np.arange(60, dtype=np.int32)
        table.push(slots, np.zeros((60, 2), np.uint64), np.zeros(60, np.int64))
        assert len(table) == len(table.installed) == 60
        table.free(table.flush(None)[:20])
        assert len(table) == 40
