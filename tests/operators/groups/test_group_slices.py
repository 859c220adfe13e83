"""Looking only at the slices that hold a group gives what a look at all of them does."""

from __future__ import annotations

import random
from collections.abc import Iterator

import numpy as np
import pyarrow as pa
import pytest

import oop
from oop.operators.aggregate.operator import AggregateOperator
from oop.operators.core.keys import KeyTable
from oop.operators.groups import reach as group_reach
from oop.operators.groups.slices import GroupSlices

SCHEMA = pa.schema({"ts": pa.int64(), "k": pa.string(), "j": pa.int64()})
BY = [("k",), ("j", "k")]
WINDOWS = {
    "tumbling": oop.tumbling(10),
    "panes": oop.sliding(40, 10),
    "uneven panes": oop.sliding(25, 10),
    "many panes": oop.sliding(24, 2),
}


def elements(seed: int, by: tuple[str, ...]) -> Iterator[pa.RecordBatch | oop.Punctuation]:
    """Rows of some groups over many windows, and promises about one of them, some, or all; few rows or many at once."""
    draw = random.Random(seed)
    reached: dict[tuple[object, ...], int] = {}
    for step in range(25):
        size = draw.choice([1, 1, 3, 60])
        rows = [(draw.randint(0, 250), draw.choice("abcdefgh"), draw.randint(0, 1)) for _ in range(size)]
        yield pa.RecordBatch.from_arrays(
            [pa.array(c, f.type) for c, f in zip(zip(*rows, strict=True), SCHEMA, strict=True)], schema=SCHEMA
        )
        for _, k, j in draw.sample(rows, min(len(rows), draw.choice([1, 1, 1, 4]))):
            where = {"k": k, "j": j} if len(by) == 2 else {"k": k}
            group = tuple(where.values())
            reached[group] = reached.get(group, 0) + draw.randint(0, 60)
            yield oop.Punctuation({"ts": reached[group]}, where)
        if draw.random() < 0.1:
            yield oop.Punctuation({"ts": 6 * step})


def found(seed: int, window: str, by: tuple[str, ...], late: str) -> list[list[tuple[object, ...]]]:
    source = oop.source(elements(seed, by), time="ts", schema=SCHEMA, punctuate=oop.punctuated(), late=late)
    stream = source.window(WINDOWS[window]).group_by("k", "j").agg(n=oop.count(), most=oop.max("ts"))
    run = stream.run(engine=oop.Embedded(threads=1))
    (operator,) = [b.operator for b in run._boxes if isinstance(b.operator, AggregateOperator)]
    given = []
    for element in run.elements():
        if isinstance(element, pa.RecordBatch):
            given.append(sorted(tuple(row.values()) for row in element.to_pylist()))
        else:
            given.append([(str(element),)])
        assert operator.state_bytes >= operator.reach.nbytes
    assert operator.state_bytes == 0
    return given


@pytest.mark.parametrize("late", ["drop", "admit"])
@pytest.mark.parametrize("by", BY)
@pytest.mark.parametrize("window", WINDOWS)
def test_what_goes_out_is_the_same(
    window: str, by: tuple[str, ...], late: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    used = 0
    take = GroupSlices.take

    def counted(slices: GroupSlices, group: int, done: int, end: int) -> list[int]:
        nonlocal used
        used += 1
        return take(slices, group, done, end)

    monkeypatch.setattr(GroupSlices, "take", counted)
    for seed in range(2):
        monkeypatch.setattr(group_reach, "_FEW", 10**9)
        expected = found(seed, window, by, late)
        assert used == 0
        monkeypatch.setattr(group_reach, "_FEW", 0)
        assert found(seed, window, by, late) == expected
        assert used
        monkeypatch.undo()
        monkeypatch.setattr(GroupSlices, "take", counted)
        used = 0


def test_slices_come_in_order_and_are_forgotten() -> None:
    slices, draw = GroupSlices(KeyTable([]), []), random.Random(3)
    model: dict[int, set[int]] = {}
    for number in (draw.randint(0, 50) for _ in range(300)):
        groups = draw.sample(range(9), draw.randint(0, 5))
        slices.note(np.array(groups + groups[:1], np.int64), number)
        for group in groups:
            model.setdefault(group, set()).add(number)
        if draw.random() < 0.5:
            group, done = draw.randint(0, 12), draw.randint(0, 40)
            end = done + draw.randint(0, 5)
            held = model.get(group, set())
            taken = slices.take(group, done, end)
            assert taken == sorted(taken)
            assert set(taken) == {n for n in held if n < end}
            model[group] = {n for n in held if n >= done}
    for group, held in model.items():
        assert set(slices.take(group, 100, 100)) == held
    assert not slices._heaps and slices._in_heaps == 0
