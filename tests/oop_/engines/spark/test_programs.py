"""Programs in Spark's workers answer as the operators do one by one: rows, late rows, and what fails."""

from __future__ import annotations

import random
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

import oop
from oop.engines.spark import passage, programs, runner
from oop.engines.spark.cells import PROMISES, ROWS, Cell, encode_batch, encode_promises
from oop.engines.spark.programs import SourceProgram, StageProgram
from oop.engines.spark.runner import StageRunner
from oop.engines.spark.stages import Stages, without_data
from oop.operators.aggregate.gathering import Gathering, GatheringLimits
from oop.plan.final import lower
from tests.oop_.engines.embedded.drawn_pipelines import drawn_filter, drawn_pipeline, drawn_stream, drawn_window
from tests.oop_.engines.spark.simulated import Simulated
from tests.oop_.engines.spark.test_simulated import late_rows, plain
from tests.operators.fuzz import CASES

BOXES = oop.Embedded(threads=1, scheduler=oop.RoundRobin())
"""An engine without programs."""
SMALL = GatheringLimits(first=40, enough=160, repeats=0.1, worth=0.7, most=30, passing=50)
col = oop.col


@pytest.fixture(params=["native", "jit", "reference"])
def kernels(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> str:
    monkeypatch.setenv("OOP_KERNELS", request.param)
    return str(request.param)


@pytest.fixture(params=["all rows", "few at a time"], autouse=True)
def small(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """Programs begin with the first row, and partial aggregates leave, or are given up, early."""
    monkeypatch.setattr(programs, "FEW", 1)
    if request.param == "few at a time":
        monkeypatch.setattr(programs, "BATCH_ROWS", 64)
        monkeypatch.setattr(runner, "_TAKEN", 8)
        monkeypatch.setattr(passage, "Gathering", partial(Gathering, limits=SMALL))


@pytest.fixture
def ran(monkeypatch: pytest.MonkeyPatch) -> dict[str, int]:
    """How often programs ran, in front of stages and in them, and how many odd chunks there were."""
    found = {"sources": 0, "stages": 0, "odd": 0}
    run, take = SourceProgram._run, StageProgram.take

    def counting(program: SourceProgram, batches: Any) -> Any:
        odd = run(program, batches)
        found["sources"] += 1
        found["odd"] += bool(odd)
        return odd

    def also_counting(program: StageProgram, batches: Any) -> Iterator[Any]:
        found["stages"] += 1
        return take(program, batches)

    monkeypatch.setattr(SourceProgram, "_run", counting)
    monkeypatch.setattr(StageProgram, "take", also_counting)
    return found


def bag(table: pa.Table) -> list[str]:
    """Rows in any order; of floats the digits that do not depend on the order of adding."""
    return sorted(repr({k: f"{v:.6g}" if isinstance(v, float) else v for k, v in r.items()}) for r in table.to_pylist())


def assert_same(stream: oop.Stream, folder: Path, rng: random.Random) -> tuple[int, int, bool]:
    """The result is how many rows and late rows there were, and whether it failed."""
    run = stream.run(BOXES)
    sizes = {"rows": rng.choice([40, 1000]), "tasks": rng.randint(1, 3), "shards": rng.randint(1, 3)}
    keep_late = rng.random() < 0.5
    try:
        wanted = bag(run.to_table())
    except (oop.OopError, ArithmeticError):
        with pytest.raises(oop.OopError):
            Simulated(stream, folder, rng, **sizes, keep_late=keep_late).run()
        return 0, 0, True
    simulated = Simulated(stream, folder, rng, **sizes, keep_late=keep_late)
    assert bag(simulated.run()) == wanted
    late = [row for one in run.late.sources.values() for row in one.table().to_pylist()]
    assert not keep_late or late_rows(folder / "late") == plain(late)
    for place, kept in simulated.kept.items():
        assert kept.operator.buffered_rows == 0, f"{place} is not empty at the end"
    return len(wanted), len(late), False


def test_drawn_pipelines(kernels: str, ran: dict[str, int], tmp_path: Path) -> None:
    cases = max(CASES // 4, 8)
    rows = late = 0
    for seed in range(cases):
        stream, rng = drawn_stream(seed, live=False)
        found = assert_same(drawn_pipeline(rng, stream), tmp_path / str(seed), rng)
        rows, late = rows + found[0], late + found[1]
    assert rows > cases and late > cases // 4 and ran["sources"] > cases, (rows, late, ran)


@pytest.mark.parametrize("nulls", ["aside", "raise"])
@pytest.mark.parametrize("policy", [oop.slack(4), oop.ordered(), oop.punctuated(), oop.slack(rows=3)])
def test_odd_chunks_go_through_the_operators(
    kernels: str, ran: dict[str, int], nulls: str, policy: Any, tmp_path: Path
) -> None:
    """Rows without a time are set aside, or an error; so are numbers that do not fit."""
    rng = random.Random(nulls)
    for wild, seed in ((False, 0), (True, 1)):
        elements: list[Any] = []
        for low in range(0, 90, 10):
            ts = [low + rng.randint(0, 9) for _ in range(20)]
            times = pa.array([None if low == 40 and i == 7 else t for i, t in enumerate(ts)], pa.int64())
            v = [2**62 if wild and low == 60 else rng.randint(0, 3) for _ in ts]
            elements.append(pa.record_batch({"ts": times, "k": [t % 3 for t in ts], "v": v}))
            if policy == oop.punctuated():
                elements.append(oop.Punctuation({"ts": low + 3}))
        schema = elements[0].schema
        stream = oop.source(elements, time="ts", punctuate=policy, nulls=nulls, schema=schema, name="it")
        counts = stream.filter(col("v") * 4 > 3).window(oop.tumbling(10)).group_by("k").agg(n=oop.count())
        _, _, failed = assert_same(counts, tmp_path / str(seed), rng)
        assert failed == (wild or nulls == "raise")
    assert ran["odd"] or nulls == "raise"


def test_drawn_pipelines_without_partial_aggregates(kernels: str, ran: dict[str, int], tmp_path: Path) -> None:
    """All rows come to the stage, where a program takes them."""
    cases = max(CASES // 8, 6)
    for seed in range(cases):
        stream, rng = drawn_stream(seed + 1_000, live=False)
        grouped = stream.filter(drawn_filter(rng)).window(drawn_window(rng, stream.schema.field("ts").type))
        keys = rng.sample(["k", "v", "b", "t"], rng.randint(0, 2))
        counts = grouped.group_by(*keys).preaggregate(False).agg(n=oop.count(), s=oop.sum("k"), m=oop.max("x"))
        assert_same(counts, tmp_path / str(seed), rng)
    assert ran["stages"] > cases // 2 and not ran["sources"], ran


def test_other_plans(ran: dict[str, int], tmp_path: Path) -> None:
    """Unions, windows that overlap, sessions, a stage behind a stage, and a stream that two operators read."""
    for seed in range(max(CASES // 10, 4)):
        one, rng = drawn_stream(seed, live=False)
        two = one.filter(col("k") > 1)
        width = {"timestamp[ms]": "10ms", "date32[day]": "10d"}.get(str(one.schema.field("ts").type), 10)
        counts = {"n": oop.count(), "m": oop.max("k")}
        for number, stream in enumerate(
            (
                oop.union(one.select("ts", "k"), two.select("ts", "k")).window(oop.tumbling(width)).agg(**counts),
                two.window(oop.sliding(width, oop_half(width))).group_by("k").agg(**counts),
                two.window(oop.session(width)).group_by("k").agg(**counts),
                one.dedup("ts", "k").window(oop.tumbling(width)).group_by("k").agg(**counts),
            )
        ):
            assert_same(stream, tmp_path / f"{seed} {number}", rng)


def oop_half(width: Any) -> Any:
    return width // 2 if isinstance(width, int) else width.replace("10", "5")


def test_partial_aggregates_that_do_not_pay_are_given_up() -> None:
    table = pa.table({"ts": range(200), "k": range(200)})
    node = oop.source(table, time="ts", punctuate=oop.ordered()).group_by("ts", "k").agg(n=oop.count()).flow.node
    gathering = Gathering(node.spec.partials(node.input_schemas()), SMALL)
    (batch,) = table.to_batches()
    left: list[Any] = []
    for start in range(0, 200, 20):
        left += gathering.take(batch.slice(start, 20))
    left += gathering.drain()
    partial_rows = sum(b.num_rows for b in left if b.schema.metadata)
    # 40 rows, then 50 rows pass (in batches of 20), then 40 more; after the second time 100 rows pass
    assert (partial_rows, sum(b.num_rows for b in left), gathering.rows_to_pass) == (80, 200, 40)


def test_rows_become_partial_aggregates_of_their_groups() -> None:
    table = pa.table({"ts": [1, 2, 3, 11] * 50, "k": ["a", None, "a", "b"] * 50})
    node = (
        oop.source(table, time="ts", punctuate=oop.ordered())
        .window(oop.tumbling(10))
        .group_by("k")
        .agg(n=oop.count())
        .flow.node
    )
    gathering = Gathering(node.spec.partials(node.input_schemas()), GatheringLimits(most=3))
    (batch,) = table.append_column("wid", pa.array([0, 0, 0, 1] * 50)).to_batches()
    with_wids = batch.rename_columns(["ts", "k", *node.input_schemas()[0].names[2:3]])
    left = list(gathering.take(with_wids))  # three groups are as many as there may be
    rows = [tuple(row.values()) for found in left for row in found.to_pylist()]
    assert sorted(rows, key=repr) == [(0, "a", 100), (0, None, 50), (1, "b", 50)] and not list(gathering.drain())


def test_a_stage_takes_rows_and_partial_aggregates_in_turn(ran: dict[str, int]) -> None:
    table = pa.table({"ts": list(range(40)), "k": [1, 2] * 20})
    stream = oop.source(table, time="ts", punctuate=oop.at_end(), name="it").window(oop.tumbling(10)).group_by("k")
    root = lower(stream.agg(n=oop.count()).flow, oop.Spark())
    stages = Stages(without_data(root), 1)
    number = stages.stages[0]
    names = stages.columns(number, 0)
    batch = pa.record_batch({"k": pa.array(table["k"].to_pylist()), names[-1]: [ts // 10 for ts in range(40)]})
    assert sorted(names) == sorted(batch.schema.names)
    batch = batch.select(names)
    gathering = Gathering(stages.producers[number].spec.partials(stages.producers[number].input_schemas()))
    assert not list(gathering.take(batch))
    bodies = [batch.slice(0, 25), *gathering.drain(), batch.slice(25), batch]
    cells = [Cell(number, 0, 0, 0, 0, n, ROWS, len(b), encode_batch(b)) for n, b in enumerate(bodies)]
    cells.append(Cell(number, 0, 0, 0, 0, len(cells), PROMISES, 0, encode_promises([oop.END])))
    stage = StageRunner(stages, number, 0)
    stage.finishes = True
    made = [c.body.to_pylist() for c in stage.run(cells) if c.kind == ROWS]
    assert all(row["n"] == 15 for rows in made for row in rows) and sum(map(len, made)) == 8
    assert ran["stages"] >= 2


def test_explain_says_what_became_one_program() -> None:
    stream = oop.source(pa.table({"ts": [1], "k": [1], "v": [2]}), time="ts", punctuate=oop.slack(3), name="it")
    grouped = stream.filter(col("v") > 1).window(oop.tumbling(10)).group_by("k")

    def note(counts: oop.Stream) -> str:
        return counts.explain(engine=oop.Spark()).splitlines()[0].split("; ", 1)[1]

    assert note(grouped.agg(n=oop.count())) == (
        "preaggregated by the workers that have the rows; one program with Source, Filter, Bucket"
    )
    assert note(grouped.preaggregate(False).agg(n=oop.count())) == (
        "not preaggregated: forbidden; no program: Aggregate takes no partial aggregates"
    )
    assert note(grouped.agg(n=oop.count_distinct("v"))).endswith("no program: count_distinct(v): it has no steps")
    sliding = stream.window(oop.sliding(10, 5)).group_by("k").agg(n=oop.count())
    assert note(sliding).endswith("no program: windows overlap")
