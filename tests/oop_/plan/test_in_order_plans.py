"""Random plans over streams with two times: what runs out of order runs in order, and gives the same answer."""

from __future__ import annotations

import random
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import pyarrow as pa
import pytest

import oop
from oop.operators.core.operator import Element
from oop.operators.passing.split import Split
from oop.plan.accounting import accounted
from oop.plan.describing import described
from oop.plan.in_order import _Plan
from oop.plan.numbering import resolved
from oop.testing.laws import bag
from tests.operators import fuzz

POLICIES: list[Any] = [
    oop.punctuated(on=["ts", "ts_right"]),
    {"ts": oop.ordered(), "ts_right": oop.slack(15)},
    {"ts": oop.slack(9), "ts_right": oop.slack(15)},
    oop.at_end(),
]

WINDOWS = [
    oop.tumbling(5),
    oop.sliding(6, every=2),
    oop.sliding(2, every=5),
    oop.session(3),
    oop.landmark(0, every=9),
    oop.landmark(-20, every=9, changes=True),
]


@dataclass(frozen=True)
class Piece:
    """A stream, its columns that are times, and the others. The key ``k`` is there or not."""

    stream: oop.Stream
    times: tuple[str, ...]
    others: tuple[str, ...]

    @property
    def columns(self) -> tuple[str, ...]:
        return self.times + self.others

    @property
    def key(self) -> tuple[str, ...]:
        return ("k",) if "k" in self.others else ()


class Plans:
    """Grows a plan of random operators; ``said`` is what it has done, for who has to find out."""

    def __init__(self, rng: random.Random, sources: list[oop.Stream]) -> None:
        self.rng, self.sources, self.said, self._names = rng, sources, [], 0
        self.steps: list[Callable[[Piece, str, int], Piece]] = [
            self.derived,
            self.extreme,
            self.renamed,
            self.window,
            self.group,
            self.best,
            self.dedup,
            self.near,
            self.near,
            self.ranked,
            self.join,
            self.sorted,
            self.filtered,
            self.split,
            self.two_readers,
        ]

    def name(self) -> str:
        self._names += 1
        return f"c{self._names}"

    def source(self) -> Piece:
        return Piece(self.rng.choice(self.sources).select("ts", "ts_right", "k", "v"), ("ts", "ts_right"), ("k", "v"))

    def grown(self, depth: int) -> Piece:
        if not depth:
            return self.source()
        if self.rng.random() < 0.25:
            return self.union(depth)
        piece = self.grown(depth - 1)
        step, time = self.rng.choice(self.steps), self.rng.choice(piece.times)
        self.said.append(f"{step.__name__} {time}")
        return step(piece, time, depth)

    def union(self, depth: int) -> Piece:
        a, b = self.grown(depth - 1), self.grown(depth - 1)
        if set(a.columns) != set(b.columns):
            a, b = self.source(), self.source()
        self.said.append("union")
        return Piece(a.stream.union(b.stream), a.times, a.others)

    def derived(self, piece: Piece, time: str, _: int) -> Piece:
        name = self.name()
        moved = piece.stream.with_columns(**{name: oop.col(time) + self.rng.randint(-3, 3)})
        return Piece(moved, (*piece.times, name), piece.others)

    def extreme(self, piece: Piece, time: str, _: int) -> Piece:
        name, of = self.name(), self.rng.choice([oop.greatest, oop.least])
        both = of(oop.col(time), oop.col(self.rng.choice(piece.times)))
        return Piece(piece.stream.with_columns(**{name: both}), (*piece.times, name), piece.others)

    def renamed(self, piece: Piece, time: str, _: int) -> Piece:
        name, times = self.name(), tuple(t for t in piece.times if t != time)
        return Piece(piece.stream.select(*times, *piece.others, **{name: oop.col(time)}), (*times, name), piece.others)

    def window(self, piece: Piece, time: str, _: int) -> Piece:
        spec = self.rng.choice(WINDOWS)
        keys, name = self.rng.choice([(), piece.key]), self.name()
        counts = piece.stream.window(spec, on=time).group_by(*keys).agg(**{name: oop.count()})
        return Piece(counts, ("window_start", "window_end"), (*keys, name))

    def group(self, piece: Piece, time: str, _: int) -> Piece:
        times = tuple(dict.fromkeys([self.rng.choice(piece.times), time]))
        keys, name = [*times, *self.rng.choice([(), piece.key])], self.name()
        self.rng.shuffle(keys)
        counts = piece.stream.group_by(*keys).agg(**{name: oop.count()})
        return Piece(counts, times, (*(k for k in keys if k == "k"), name))

    def best(self, piece: Piece, time: str, _: int) -> Piece:
        keys = dict.fromkeys([*piece.key, time, self.rng.choice(piece.times)])
        return Piece(piece.stream.dedup(*keys, keep=self.rng.choice(["first", "last"])), piece.times, piece.others)

    def dedup(self, piece: Piece, time: str, _: int) -> Piece:
        return Piece(piece.stream.dedup(*piece.columns), piece.times, piece.others)

    def near(self, piece: Piece, time: str, _: int) -> Piece:
        """Within a span rows leave at once, or when they or their span are covered: in three orders of time. It goes by
        the stream's own time, wherever that is."""
        own = piece.stream.time
        if own is None:
            return self.dedup(piece, time, 0)
        span, keep = self.rng.choice([0, 5, 11, 17]), self.rng.choice(["first", "last", "last"])
        self.said.append(f"= {own} within {span}, {keep}")
        return Piece(piece.stream.dedup(*piece.key, within=span, keep=keep), piece.times, piece.others)

    def ranked(self, piece: Piece, time: str, _: int) -> Piece:
        """Windows of numbered rows, in which an order is one of all rows, or of those of a partition."""
        if piece.stream.time is None:
            return self.dedup(piece, time, 0)
        window = self.rng.choice([oop.rows(3), oop.rows(4, every=2), oop.rows(2, by=piece.columns[-1])])
        ends = {self.name(): oop.max(t) for t in piece.times[:2]}
        self.said.append(f"= {window}")
        found = piece.stream.number().window(window).agg(**ends)
        return Piece(found.select("window_start", *ends), ("window_start",), tuple(ends))

    def join(self, piece: Piece, time: str, depth: int) -> Piece:
        other = self.grown(self.rng.randint(0, depth - 1))
        names = {column: self.name() for column in other.columns}
        right = other.stream.select(**{names[column]: oop.col(column) for column in other.columns})
        on = {"k": names["k"]} if piece.key and other.key else None
        how = self.rng.choice(["inner", "inner", "left", "right", "full", "semi", "anti"])
        near: dict[str, Any] = {"within": (self.rng.randint(-3, 0), self.rng.randint(0, 3))}
        if on and how == "inner" and self.rng.random() < 0.2:
            near = {"unbounded": True}
        times = time, names[self.rng.choice(other.times)]
        self.said.append(f"= {how} {near} {times}")
        pairs = piece.stream.join(right, on=on, times=times, how=how, **near)
        if how in ("semi", "anti"):
            return Piece(pairs, piece.times, piece.others)
        added = [tuple(names[column] for column in columns) for columns in (other.times, other.others)]
        return Piece(pairs, piece.times + added[0], piece.others + added[1])

    def sorted(self, piece: Piece, time: str, _: int) -> Piece:
        return Piece(piece.stream.sort(on=time), piece.times, piece.others)

    def filtered(self, piece: Piece, time: str, _: int) -> Piece:
        return Piece(piece.stream.filter(oop.col(time) >= self.rng.randint(-40, 20)), piece.times, piece.others)

    def split(self, piece: Piece, time: str, _: int) -> Piece:
        return Piece(oop.union(*piece.stream.split(oop.col(time) >= 0)), piece.times, piece.others)

    def two_readers(self, piece: Piece, time: str, _: int) -> Piece:
        counts = [
            piece.stream.window(oop.tumbling(4), on=on).agg(n=oop.count())
            for on in (time, self.rng.choice(piece.times))
        ]
        return Piece(oop.union(*counts), ("window_start", "window_end"), ("n",))


def one_by_one(elements: list[Element]) -> list[Element]:
    """The same rows and promises, each row a batch of its own."""
    rows: list[Element] = []
    for element in elements:
        apart = isinstance(element, pa.RecordBatch)
        rows += [element.slice(row, 1) for row in range(element.num_rows)] if apart else [element]
    return rows


def check_claims(plan: oop.Stream, engine: oop.Embedded) -> None:
    """What each operator of the in-order plan is said to put out in order, it puts out in order, whoever reads it:
    who reads it next may need no order, and so not notice."""
    made = _Plan(accounted(resolved(plan.flow.node)), plan.time)
    made.built()
    for node, step in made.made.values():
        if isinstance(node.spec, Split):  # each output is in order by itself, and has a reader that is looked at
            continue
        for on in sorted(step.ordered & set(node.schema.names)):
            column = engine.run(described(node)).to_table()[on]
            values = fuzz.with_numbers(pa.record_batch({on: column.combine_chunks()})).column(0).drop_null().to_pylist()
            assert values == sorted(values), f"{node.spec.describe()} is not in order of {on}"


@pytest.mark.parametrize("part", range(4))
def test_what_runs_out_of_order_runs_in_order(part: int) -> None:
    ran = 0
    for seed in range(fuzz.CASES // 2):
        rng = random.Random(f"{part} {seed}")
        policy = POLICIES[part]
        streams = [fuzz.random_stream(rng, pa.int64(), right=True, grouped=False) for _ in range(2)]
        if part:
            streams = [[e for e in stream if isinstance(e, pa.RecordBatch)] for stream in streams]
        if rng.random() < 0.5:  # what leaves with one batch is sorted together: with one row a batch nothing is
            streams = [one_by_one(stream) for stream in streams]
        schema = fuzz.schema_of(pa.int64(), right=True)
        sources = [
            oop.source(stream, time="ts", punctuate=policy, schema=schema, name=f"s{number}")
            for number, stream in enumerate(streams)
        ]
        plans = Plans(rng, sources)
        plan = plans.grown(rng.randint(1, 5)).stream
        engine = oop.Embedded(check=True, threads=1)
        try:
            expected = bag(plan.run(engine).to_table().to_pylist())
        except oop.NeverEmits:  # there is nothing to compare with
            continue
        for one in (engine, oop.Embedded(threads=1)):  # in the second, boxes may be programs
            found = bag(plan.run(one, order="iop").to_table().to_pylist())
            assert found == expected, f"seed {seed}: {plans.said}"
        if not seed % 2:  # it runs every operator by itself
            check_claims(plan, engine)
        ran += 1
    assert ran > fuzz.CASES // 3
