"""Promises about many groups go through a plan as one value: the answers and promises are those of one by one, and what
it costs goes by batches, not by groups."""

from __future__ import annotations

import datetime
import math
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

import oop
from oop.engines.embedded.arcs import Arc
from oop.operators.core.operator import Element
from oop.punctuation import Frontier, GroupPromises

GROUPS = 60
KEYS: dict[str, list[Any]] = {
    "int": list(range(GROUPS)),
    "text": [None, *(f"host {i}" for i in range(1, GROUPS))],
    "float": [math.nan, None, *(i / 4 for i in range(2, GROUPS))],
    "time": [datetime.datetime(2020, 1, 1) + datetime.timedelta(minutes=i) for i in range(GROUPS)],
}
TYPES = {"int": pa.int32(), "text": pa.string(), "float": pa.float64(), "time": pa.timestamp("ns")}


put_together = Arc.put


def put_apart(arc: Arc, element: Element) -> None:
    """Promises about many groups one by one, as they would travel if none could go together."""
    for one in element if isinstance(element, GroupPromises) else (element,):
        put_together(arc, one)


def batches(key: str) -> list[pa.RecordBatch]:
    random = np.random.default_rng(3)
    rows = 1_800
    group = random.integers(0, GROUPS, rows)
    columns = {
        "ts": pa.array(np.arange(rows) + random.integers(0, 40, rows)),
        "k": pa.array([KEYS[key][g] for g in group], TYPES[key]),
        "half": pa.array(group % 2),
        "v": pa.array(group),
    }
    return pa.table(columns).to_batches(max_chunksize=450)


def counted(key: str, by: str | list[str], size: int, advance: int, threads: int = 1) -> oop.Run:
    s = oop.source(iter(batches(key)), time="ts", punctuate=None)  # one by one: a list would come as one train
    order = oop.Order("ts", slack=2, group_by=by)
    stream = oop.aurora.Aggregate({"n": oop.count(), "v": oop.sum("v")}, order, size=size, advance=advance)(s)
    return stream.run(engine=oop.Embedded(threads=threads, check=True))


def bag(elements: list[Any]) -> list[str]:
    return sorted(str(row) for e in elements if isinstance(e, pa.RecordBatch) for row in e.to_pylist())


def promised(elements: list[Any]) -> Frontier:
    """What is promised before the end."""
    return Frontier.of(*(e for e in elements if isinstance(e, oop.Punctuation) and not e.is_end))


@pytest.mark.parametrize("threads", [1, 2])
@pytest.mark.parametrize(("size", "advance"), [(100, 100), (900, 300), (50, 200)])
@pytest.mark.parametrize("by", ["k", ["k", "half"]])
@pytest.mark.parametrize("key", KEYS)
def test_they_say_what_they_say_one_by_one(
    key: str, by: str | list[str], size: int, advance: int, threads: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    together = list(counted(key, by, size, advance, threads).elements())
    with monkeypatch.context() as patch:
        patch.setattr(Arc, "put", put_apart)
        apart = list(counted(key, by, size, advance).elements())
    assert bag(together) == bag(apart)
    assert promised(together) == promised(apart)


def test_what_it_costs_goes_by_batches(monkeypatch: pytest.MonkeyPatch) -> None:
    put: list[Any] = []
    original = Arc.put
    monkeypatch.setattr(Arc, "put", lambda self, element: (put.append(element), original(self, element))[1])
    run = counted("int", "k", 100, 100)
    assert sum(batch.num_rows for batch in run) > GROUPS
    assert len(put) < 100  # four batches, four boxes
    assert max(arc.promises for arc in run.metrics.arcs) > 3 * GROUPS  # one by one they are counted


def test_a_reader_may_stop_among_them_and_another_goes_on() -> None:
    run = counted("int", "k", 100, 100)
    first = []
    for element in run.elements():
        first.append(element)
        if isinstance(element, oop.Punctuation):
            break
    assert len(first) < GROUPS
    whole = [*first, *run.elements()]
    assert promised(whole) == promised(list(counted("int", "k", 100, 100).elements()))


@pytest.mark.parametrize("policy", [{}, {"groups": range(GROUPS)}, {"idle": 500}])
def test_a_source_hands_them_over_as_one(policy: dict[str, Any], monkeypatch: pytest.MonkeyPatch) -> None:
    def run() -> list[Any]:
        s = oop.source(iter(batches("int")), time="ts", punctuate=oop.slack(50, by="k", **policy))
        stream = s.window(oop.tumbling(100)).group_by("k").agg(n=oop.count())
        return list(stream.run(engine=oop.Embedded(threads=1, check=True)).elements())

    together = run()
    with monkeypatch.context() as patch:
        patch.setattr(Arc, "put", put_apart)
        apart = run()
    assert bag(together) == bag(apart)
    assert promised(together) == promised(apart)


def test_a_union_promises_of_each_group_the_least() -> None:
    def side(first: int) -> oop.Stream:
        return oop.source(
            pa.table({"ts": [first, first + 20], "k": [1, 2]}), time="ts", punctuate=oop.ordered(by="k")
        )  # fmt: skip

    said = list(side(10).union(side(15)).run(engine=oop.Embedded(threads=1)).elements())
    assert promised(said) == Frontier.of(oop.Punctuation({"ts": 15}, {"k": 1}), oop.Punctuation({"ts": 35}, {"k": 2}))


def test_promises_in_the_data_by_several_columns_close_windows_of_their_groups() -> None:
    schema = pa.schema({"ts": pa.int64(), "link": pa.string(), "proto": pa.int64()})
    rows = pa.record_batch({"ts": [1, 2, 12], "link": ["A", "B", "A"], "proto": [6, 6, 6]}, schema=schema)
    elements = [rows, oop.Punctuation({"ts": 10}, {"proto": 6, "link": "A"})]

    def counted(s: oop.Stream, *keys: str) -> oop.Stream:
        return s.window(oop.tumbling(10)).group_by(*keys).agg(n=oop.count())

    by_both = oop.punctuated(by=["proto", "link"])
    run = counted(oop.source(elements, time="ts", punctuate=by_both, schema=schema), "link", "proto").run()
    assert next(iter(run)).num_rows == 1, "A's first window leaves before the end"
    north = oop.source(elements, time="ts", punctuate=oop.slack(5, by=["proto", "link"]), schema=schema, name="north")
    with pytest.raises(oop.NeverEmits, match=r"for groups of 'link', 'proto' that it has seen") as error:
        counted(north, "link").run()
    assert "group by 'link', 'proto'" in (error.value.hint or "")


@pytest.mark.parametrize(
    ("policy", "match"),
    [
        (oop.ordered(by=["link", "prot"]), r"no column 'prot'(?s:.)*did you mean 'proto'"),
        (oop.ordered(by=["link", "ts"]), "promises about 'ts' cannot be by 'ts' itself"),
        (oop.ordered(by=["link", "proto"], groups=[("A", "6")]), "'6' is not a value that a column of type int64"),
        (oop.ordered(by=["link", "proto"], groups=[("A", 6), (1, 6)]), "1 is not a value that a column of type string"),
        (oop.ordered(by=["link", "tags"]), "list"),
    ],
    ids=str,
)
def test_policies_that_do_not_fit_the_columns_are_refused(policy: Any, match: str) -> None:
    table = pa.table({"ts": [1], "link": ["A"], "proto": [6], "tags": [["x"]]})
    with pytest.raises(oop.OopError, match=match):
        oop.source(table, time="ts", punctuate=policy)
