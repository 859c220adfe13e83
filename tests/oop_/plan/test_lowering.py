"""Every plan that runs has gone through `lower`: tests run what users run."""

from __future__ import annotations

import ast
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

import oop
from oop.plan import final
from oop.plan.final import lower
from oop.plan.graph import Node, explain
from oop.testing import Harness

ROOT = Path(oop.__file__).parent
STEPS = {"accounted", "check_emits", "described", "final_plan", "in_order", "measured", "preaggregated", "resolved"}
OWN = {
    "engines/embedded/engine.py": {"measured", "preaggregated"},  # the steps of `Embedded.plan`
    "streams/keys.py": {"resolved"},  # asks which keys may be promised about; nothing that it makes runs
}


def counted(stream: oop.Stream) -> oop.Stream:
    return stream.window(oop.tumbling(10)).group_by("k").preaggregate().agg(n=oop.count())


def data() -> pa.Table:
    return pa.table({"ts": [1, 2], "k": [1, 1]})


@pytest.mark.parametrize("order", ["oop", "iop"])
def test_the_harness_has_the_plan_of_a_run(order: str) -> None:
    stream = oop.source(data(), time="ts", punctuate=oop.punctuated(), name="input 0")
    run = counted(stream).run(oop.Embedded(threads=1), order=order)
    harness = Harness(counted, {"ts": "int64", "k": "int64"}, order=order)
    assert explain(harness.root) == explain(run._root)
    assert "Preaggregate" in explain(run._root)


def test_all_ways_go_through_it(monkeypatch: pytest.MonkeyPatch) -> None:
    seen: list[str] = []
    right = final.final_plan

    def spy(flow: object, order: str = "oop") -> object:
        seen.append(order)
        return right(flow, order)  # type: ignore[arg-type]

    monkeypatch.setattr(final, "final_plan", spy)
    stream = counted(oop.source(data(), time="ts", punctuate=oop.ordered()))
    stream.run()
    stream.run(order="iop")
    stream.explain(engine=oop.Spark())
    Harness(counted, {"ts": "int64", "k": "int64"})
    lower(stream.flow, oop.Spark())
    assert seen == ["oop", "iop", "oop", "oop", "oop"]


def test_no_other_module_calls_a_step_by_itself() -> None:
    found = {}
    for file in ROOT.rglob("*.py"):
        where = str(file.relative_to(ROOT))
        if where.startswith("plan/"):
            continue
        names = {
            alias.name
            for node in ast.walk(ast.parse(file.read_text(encoding="utf-8")))
            if isinstance(node, ast.ImportFrom) and (node.module or "").startswith("oop.plan")
            for alias in node.names
        }
        if names & STEPS - OWN.get(where, set()):
            found[where] = names & STEPS
    assert not found, f"steps of `lower` called elsewhere: {found}"


def test_a_plan_that_never_emits_is_refused_everywhere() -> None:
    never = oop.source(data(), time="ts", punctuate=oop.punctuated(on="k")).window(oop.tumbling(10)).agg(n=oop.count())
    for engine in (oop.Embedded(), oop.Spark()):
        with pytest.raises(oop.NeverEmits):
            lower(never.flow, engine)
    assert "Aggregate" in never.explain()


@pytest.mark.parametrize("engine", [None, oop.Embedded(), oop.Spark()])
def test_an_order_that_there_is_not_is_refused(engine: Any) -> None:
    stream = oop.source(data(), time="ts", punctuate=oop.ordered())
    for ask in (stream.run, stream.explain):
        with pytest.raises(ValueError, match="order is 'oop'"):
            ask(engine=engine, order="sorted")


class OnlyRuns:
    """An engine of a user's own with the one method that an engine needs."""

    def run(self, root: Node, *, to: Any = None) -> tuple[Node, Any]:
        return root, to


def test_an_engine_needs_run_alone() -> None:
    stream = counted(oop.source(data(), time="ts", punctuate=oop.ordered(), name="north"))
    root, to = stream.run(OnlyRuns(), to="out.parquet")
    assert to == "out.parquet"
    assert stream.explain(engine=OnlyRuns()) == explain(root)
    assert explain(root).splitlines()[-1].startswith("   └─ Source north")
    with pytest.raises(TypeError, match="an engine is an object"):
        stream.explain(engine="embedded")


@pytest.mark.parametrize("engine", [oop.Spark(), OnlyRuns()])
def test_an_engine_that_runs_no_in_order_plan_explains_none(engine: Any) -> None:
    stream = counted(oop.source(data(), time="ts", punctuate=oop.ordered()))
    for ask in (stream.run, stream.explain):
        with pytest.raises(ValueError, match="in-order plans run embedded"):
            ask(engine=engine, order="iop")
