"""WSort against a plain list (Aurora* and Medusa paper, section 2.2), under a clock that is moved by hand; and the laws
in oop/testing/laws.py for what promises release."""

from __future__ import annotations

from typing import Any

import pyarrow as pa

from oop.testing import Harness, ManualClock, check_operator
from tests.operators import fuzz
from tests.operators.drawn import by_values, each
from tests.operators.fuzz import TIMES

Row = dict[str, Any]
SCHEMA = pa.schema([("ts", pa.int64()), ("k", pa.string()), ("n", pa.int64())])


class Model:
    """What `WSort` says of itself, row by row."""

    def __init__(self, columns: tuple[str, ...], timeout: int) -> None:
        self.columns, self.timeout = columns, timeout
        self.now: int | None = None
        self.held: list[tuple[Any, Row]] = []  # when it came, and the row
        self.lost: list[Row] = []
        self.out: list[Row] = []
        self.left_at = -(10**9)

    def key(self, row: Row) -> tuple:
        return by_values(row, self.columns)

    def row(self, row: Row) -> None:
        if self.out and self.key(row) < self.key(self.out[-1]):
            self.lost.append(row)
        else:
            self.held.append((self.now, row))

    def tick(self, now: int) -> None:
        self.now = now
        self.held = [(now if came is None else came, row) for came, row in self.held]
        if not self.held or now - max(self.left_at, min(came for came, _ in self.held)) < self.timeout:
            return
        self.left_at = now
        waited = [self.key(row) for came, row in self.held if now - came >= self.timeout]
        assert waited, "at least one row leaves in a period"
        # of equal rows those that came first leave first: the last that has waited is the last to leave
        most = max(waited)
        order = sorted(self.held, key=lambda pair: self.key(pair[1]))
        last = max(i for i, (came, r) in enumerate(order) if self.key(r) == most and now - came >= self.timeout)
        self.leave([pair[1] for pair in order[: last + 1]])

    def promise(self, bound: int) -> None:
        self.leave(sorted((r for _, r in self.held if r["ts"] < bound), key=self.key))

    def leave(self, rows: list[Row]) -> None:
        self.out += rows
        self.held = [pair for pair in self.held if pair[1] not in rows]


def test_rows_leave_and_get_lost_as_described(seeds):
    """In any batches, and across a save: the rows that leave at each tick, those that are lost, those that stay."""

    def case(rng, seed):
        columns = rng.choice([("ts",), ("ts", "k"), ("k", "ts")])
        timeout = rng.choice([1, 5, 20])
        clock, model = ManualClock(rng.randint(0, 50)), Model(columns, timeout)

        def start():
            return Harness(lambda s: s.wsort(*columns, timeout=timeout), SCHEMA, clock=clock)

        harness, snapshot, number, bound, out = start(), None, 0, -100, []
        if rng.random() < 0.7:
            harness.tick()
            model.tick(clock.now(pa.timestamp("us")))
        for _ in range(rng.randint(1, 25)):
            rows = []
            for _ in range(rng.choice([0, 1, 1, 3, 8])):
                row = {"ts": bound + rng.randint(0, 30), "k": rng.choice(["a", "b", None]), "n": number}
                rows.append({**row, "ts": max(row["ts"], 0)})
                number += 1
            cut = rng.randint(0, len(rows))
            for piece in (rows[:cut], rows[cut:]):
                harness.push(piece)
            for row in rows:
                model.row(row)
            if rng.random() < 0.15:
                bound = max(bound, 0) + rng.randint(0, 10)
                harness.promise(ts=bound)
                if columns[0] == "ts":
                    model.promise(bound)
            if rng.random() < 0.6:
                clock.advance(rng.choice([0, 1, 2, 6, 25]))
                harness.tick()
                model.tick(clock.now(pa.timestamp("us")))
            out += harness.rows()
            assert out == model.out
            assert harness.buffered_rows == len(model.held)
            if rng.random() < 0.2:
                snapshot = harness.save(snapshot)
                given, harness = harness.given, start()
                harness.load(snapshot, given)
        harness.end()
        out += harness.rows()
        model.leave(sorted((r for _, r in model.held), key=model.key))
        assert out == model.out
        assert [model.key(r) for r in out] == sorted(map(model.key, out)), "ascending, whatever came"
        lost = harness.late["WSort"].select(SCHEMA.names).to_pylist()
        assert lost == model.lost
        assert len(out) + len(lost) == number, "no row is dropped in silence"
        assert harness.buffered_rows == 0

    each(seeds, case)


def test_at_least_one_row_leaves_in_each_period(seeds):
    """With a clock that is looked at in every unit: while something waits, no period passes without a row."""

    def case(rng, seed):
        timeout = rng.choice([1, 4, 9])
        clock = ManualClock(0)
        harness = Harness(lambda s: s.wsort("ts", timeout=timeout), {"ts": "int64"}, clock=clock)
        harness.tick()
        idle, longest = 0, 0
        for _ in range(80):
            waiting = harness.buffered_rows > 0
            clock.advance(1)
            harness.tick()
            idle = 0 if harness.rows() or not waiting else idle + 1
            longest = max(longest, idle)
            if rng.random() < 0.5:
                harness.push({"ts": [rng.randint(0, 50)]})
        assert longest < timeout

    each(seeds[: len(seeds) // 5], case)


def test_laws(seeds):
    """Without a clock it is a sort: what promises release, in order, and what they then promise."""

    def case(rng, seed):
        time = TIMES[rng.choice(list(TIMES))]
        elements = fuzz.random_stream(rng, time)
        columns = rng.choice([("ts",), ("ts", "v"), ("link", "ts")])
        rows = fuzz.typed(fuzz.on_time(elements), fuzz.schema_of(time))
        check_operator(lambda s: s.wsort(*columns, timeout="1h"), elements, seed=seed, expected=rows)
        harness = Harness(lambda s: s.wsort(*columns, timeout="1h"), fuzz.schema_of(time))
        harness.feed(*elements)
        harness.end()
        out = harness.rows()
        assert [by_values(r, columns) for r in out] == sorted(by_values(r, columns) for r in rows)

    each(seeds, case)
