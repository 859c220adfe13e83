"""The ops whose rows come out as they went in: dedup, sort, unions, and the order in which boxes are called."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterator
from typing import Any

import pyarrow as pa

import oop
from oop.operators.core.context import Context
from oop.operators.passing.union import Union
from tests.vectors.comparing import check_late, check_promises, check_rows, same_rows
from tests.vectors.script import Case, Row, Script
from tests.vectors.watching import Watched, watch


def run_dedup(case: Case, *, batched: bool = False, **ways: Any) -> bool:
    """``keys`` (none: all columns), ``within`` and ``keep`` as `Stream.dedup` has them."""
    params = case["params"]
    options = {name: params[name] for name in ("within", "keep") if params.get(name) is not None}
    return _run_waiting(case, lambda s: s.dedup(*params.get("keys", ()), **options), batched, **ways)


def run_sort(case: Case, *, batched: bool = False, **ways: Any) -> bool:
    """``by`` is the time, or a list of it and the columns that break ties."""
    by = case["params"].get("by", "ts")
    time, *ties = [by] if isinstance(by, str) else by
    return _run_waiting(case, lambda s: s.sort(*ties, on=time), batched, **ways)


def _run_waiting(case: Case, build: Callable[[oop.Stream], oop.Stream], batched: bool, **ways: Any) -> bool:
    script = Script(case, batched)
    watched = watch(script, build, "drop", **ways)
    check_late(case, watched.run, "drop")
    check_promises(case, script, watched, ("ts",))
    return check_rows(case, watched.rows, watched.all_rows)


def run_union(case: Case, *, batched: bool = False, **ways: Any) -> bool:
    """By the operator itself, and through the engine."""
    script = Script(case, batched)
    assert list(script.schemas) == case["params"]["inputs"], "a stream that is no input"
    streams = list(script.schemas)
    union = Union(len(streams)).start(Context(list(script.schemas.values())))
    rows: list[Row] = []
    taken = 0
    watched = Watched(None, [], rows, {}, [])  # type: ignore[arg-type]
    for at, (stream, element) in enumerate(script.events):
        if stream is None:
            if "expect" in element:
                watched.rows.append(rows[taken:])
                taken = len(rows)
            watched.promises[at] = list(watched.seen)
            continue
        is_promise = isinstance(element, oop.Punctuation)
        port = streams.index(stream)
        for out in union.process_punctuation((element,), port) if is_promise else union.process_batch(element, port):
            if isinstance(out, oop.Punctuation):
                watched.seen.append(out)
            else:
                rows += out.to_pylist()
    exact = check_rows(case, watched.rows, rows)
    check_promises(case, script, watched, ("ts",))
    if case.get("violating_steps"):
        return exact
    engine = watch(script, lambda s: s, "drop", **ways)
    check_promises(case, script, engine, ("ts",))
    return check_rows(case, engine.rows, engine.all_rows) and exact


def run_union_bag(case: Case, *, batched: bool = False, settle: int = 0, **ways: Any) -> None:
    """One source read several times by one union; the arrival number is the time."""
    rows = [{**s["row"], "__arrival": i} for i, s in enumerate(s for s in case["steps"] if "in" in s)]
    names = list(rows[0])
    whole = pa.Table.from_pylist(rows)
    batches = [whole] if batched else [whole.slice(i, 1) for i in range(len(rows))]
    source = oop.source(batches, time="__arrival", punctuate=oop.ordered())
    copies = oop.union(*[source] * case["params"]["copies"]).select(*names[:-1])
    found = copies.run(engine=oop.Embedded(**ways)).to_table().to_pylist()
    expected = [row for step in case["steps"] for row in step.get("expect", ())]
    assert same_rows(found, expected or case["expect_final"], names[:-1], case.get("ordered", False))


def run_traversal(case: Case, **ways: Any) -> None:
    """A plan with the case's shape: in which order does Min-Cost call its boxes?"""
    inputs: dict[str, list[str]] = defaultdict(list)
    for box, consumer in case["params"]["downstream"].items():
        inputs[consumer].append(box)
    (root,) = inputs.keys() - case["params"]["downstream"].keys()
    table = pa.table({"ts": [1]})
    names: dict[int, str] = {}

    def build(box: str) -> oop.Stream:
        feeding = [build(b) for b in inputs[box]]
        if not feeding:
            made = oop.source(table, time="ts", punctuate=oop.ordered(), name=box)
        elif len(feeding) == 1:
            made = feeding[0].filter(oop.col("ts") > 0)
        else:
            made = oop.union(*feeding)
        names[id(made.flow.node)] = box
        return made

    plan = build(root)
    called: list[str] = []

    class Recording(oop.MinCost):
        def turn(self, boxes: Any) -> Iterator[Any]:
            for box, rows in super().turn(boxes):
                if len(called) < len(boxes):
                    called.append(names[id(box.node)])
                yield box, rows

    plan.run(engine=oop.Embedded(scheduler=Recording())).to_table()
    assert called == case["expect_final"]
