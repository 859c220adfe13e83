"""`Run.late`: how late rows were, and the slack that would have kept them, by running again with it."""

from __future__ import annotations

import math
import random
from fractions import Fraction
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

import oop
from oop.operators.input import Input, InputOperator
from tests.operators.fuzz import CASES

SHARES = (0.5, 0.9, 0.99, 0.999, 1.0)


def run_of(table: Any, policy: Any, **options: Any) -> oop.Run:
    run = oop.source(table, time="ts", punctuate=policy, name="north", **options).run()
    for _ in run:
        pass
    return run


def late_share(table: Any, policy: Any) -> int:
    return len(run_of(table, policy).late)


def random_table(rng: random.Random) -> pa.Table:
    times, at = [], rng.randint(-50, 50)
    for _ in range(rng.randint(1, 200)):
        at += rng.choice([0, 0, 1, 3])
        times.append(at - rng.choice([0, 0, 0, rng.randint(0, 5), rng.randint(0, 60)]))
    links = [rng.choice("AB") for _ in times]
    return pa.table({"ts": pa.array(times, rng.choice([pa.int64(), pa.int32()])), "link": links})


def check_needed(table: Any, slack: int, **policy: Any) -> None:
    """The advised slack keeps the share, exactly the rows that it says; one unit less does not."""
    found = run_of(table, oop.slack(slack, **policy)).late.needed_slack(shares=SHARES)
    rows = found.rows
    assert (rows, found.late) == (table.num_rows, late_share(table, oop.slack(slack, **policy)))
    for need in found.needs:
        wanted = math.ceil(Fraction(str(need.share)) * rows)
        assert need.slack == slack + need.more
        assert rows - late_share(table, oop.slack(need.slack, **policy)) >= wanted
        assert need.exact == (need.more > 0)
        if need.exact:
            assert rows - late_share(table, oop.slack(need.slack - 1, **policy)) < wanted
        else:
            assert need.slack == slack


def test_the_needed_slack_keeps_just_the_share() -> None:
    for seed in range(CASES // 10):
        rng = random.Random(seed)
        table = random_table(rng)
        check_needed(table, rng.choice([0, 3, 20]), **rng.choice([{}, {}, {"by": "link"}]))


@pytest.mark.parametrize("options", [{"groups": ["A", "B"]}, {"idle": 9}], ids=str)
def test_where_groups_depend_on_each_other_it_is_enough(options: dict[str, Any]) -> None:
    for seed in range(CASES // 10):
        rng = random.Random(seed)
        table, slack = random_table(rng), rng.choice([0, 3, 20])
        found = run_of(table, oop.slack(slack, by="link", **options)).late.needed_slack(shares=SHARES)
        for need in found.needs:
            assert not need.exact
            kept = table.num_rows - late_share(table, oop.slack(need.slack, by="link", **options))
            assert kept >= math.ceil(Fraction(str(need.share)) * table.num_rows)


def test_other_policies_are_told_how_much_later_to_promise() -> None:
    rows = pa.record_batch({"ts": [20, 7, 9, 15]})

    def elements(bound: int) -> list[Any]:
        return [rows.slice(0, 1), oop.Punctuation({"ts": bound}), rows.slice(1)]

    found = run_of(elements(12), oop.punctuated()).late.needed_slack(shares=(0.5, 0.75, 1))
    assert [(n.more, n.slack) for n in found.needs] == [(0, None), (3, None), (5, None)]
    assert "to keep all     promise 5 later" in str(found)
    assert len(run_of(elements(12 - 3), oop.punctuated()).late) == 1
    assert len(run_of(elements(12 - 5), oop.punctuated()).late) == 0
    by_rows = run_of(pa.table({"ts": [20, 7, 9, 15]}), oop.slack(rows=0)).late.needed_slack()
    assert (by_rows.of(1.0).more, by_rows.of(1.0).slack) == (13, None)
    at_end = run_of(pa.table({"ts": [20, 7]}), oop.at_end()).late.needed_slack()
    assert "to keep all     what is promised will do" in str(at_end)


def test_durations_are_those_of_the_column() -> None:
    times = pa.array([90_000, 30_000, 88_500, 89_999], pa.timestamp("ms"))
    late = run_of(pa.table({"ts": times}), oop.slack("1s")).late
    assert "to keep all     slack 1min" in str(late.needed_slack())
    assert "to keep 70 %    slack 1500ms" in str(late.needed_slack(shares=[0.7]))
    table = late.histogram(bins=["0s", "1s", "1min"]).to_table()
    assert table.schema.field("below").type == pa.duration("ms")
    assert table.column("rows").to_pylist() == [1, 1]
    assert str(late.histogram()).splitlines()[-1].split() == ["32.8s", "…", "1.09min", "1", "█" * 40]
    days = run_of(pa.table({"ts": pa.array([10, 3], pa.date32())}), oop.slack("2d")).late
    assert "to keep all     slack 7d" in str(days.needed_slack())
    assert days.histogram().to_table().column("at_least")[0].as_py().days == 4


def test_lateness_of_nanoseconds_is_exact() -> None:
    """Times of today in nanoseconds are more than a float can tell apart."""
    now = 1_700_000_000_000_000_000
    late = run_of(pa.table({"ts": pa.array([now + 77, now], pa.timestamp("ns"))}), oop.ordered()).late
    assert late["north"].column("late_by").to_pylist() == [77.0]
    far = run_of(pa.table({"ts": [2**63 - 1, -(2**63) + 1]}), oop.ordered()).late
    assert far["north"].column("late_by").to_pylist() == [2.0**64]


def test_rows_that_broke_a_promise_about_their_group_are_late_by_something() -> None:
    batch = pa.record_batch({"ts": [5, 5], "link": ["A", "B"]})
    both = oop.Punctuation({"ts": 9, "v": 1})
    elements = [oop.Punctuation({"ts": 8}, {"link": "A"}), batch]
    late = run_of(elements, oop.punctuated(by="link")).late
    assert late["north"].to_pylist() == [{"ts": 5, "link": "A", "broke": "ts < 8, link = 'A'", "late_by": 3.0}]
    assert late.needed_slack().of(1.0).more == 3
    rows = pa.record_batch({"ts": [5, 5], "v": [0, 2]})
    joint = run_of([both, rows], oop.punctuated(on=["ts", "v"])).late
    assert joint.histogram().unknown == 1
    assert joint.needed_slack(shares=[0.5]).of(0.5).more == 0
    assert math.isinf(joint.needed_slack().of(1.0).more)
    assert "no bound is known" in str(joint.needed_slack())
    assert "not about one bound" in str(joint.histogram())


def test_counts_and_histogram_survive_draining_saving_and_loading() -> None:
    rng = random.Random(7)
    tables = [random_table(rng).cast(pa.schema([("ts", pa.int64()), ("link", pa.string())])) for _ in range(4)]
    spec = Input("north", "ts", (("ts", oop.slack(0)),))
    plain = InputOperator(spec, [tables[0].schema])
    drained = InputOperator(spec, [tables[0].schema])
    parts: dict[str, Any] = {}
    for table in tables:
        for operator in (plain, drained):
            for batch in table.to_batches():
                list(operator.process_batch(batch))
        for key, part in drained.save():
            parts = {k: p for k, p in {**parts, key: part}.items() if p is not None}
        drained.ledger.drain()
        for key, part in drained.save():
            parts = {k: p for k, p in {**parts, key: part}.items() if p is not None}
        drained = InputOperator(spec, [tables[0].schema])
        drained.load(parts.items())
    assert not drained.ledger.entries
    assert drained.ledger.late == plain.ledger.late > 20
    kept, gone = oop.Late({"north": plain}), oop.Late({"north": drained})
    assert kept.histogram() == gone.histogram()
    assert sum(gone.histogram().counts) == plain.ledger.late
    for exact, rough in zip(kept.needed_slack().needs, gone.needed_slack().needs, strict=True):
        assert exact.exact and not rough.exact
        assert exact.more <= rough.more <= exact.more * (1 + 1 / 16)
    edges = [0, 1, 8, 64, 512]
    assert kept.histogram(bins=edges) == gone.histogram(bins=edges), "edges of buckets"


def test_the_ledger_loaded_again_says_the_same() -> None:
    spec = Input("north", "ts", (("ts", oop.slack(1)),), nulls="aside")
    table = pa.table({"ts": [9, 3, None, 8, 2]})
    first, second = (InputOperator(spec, [table.schema]) for _ in range(2))
    list(first.process_batch(table.to_batches()[0]))
    second.load(list(first.save()))
    for name in ("histogram", "needed_slack"):
        assert getattr(oop.Late({"north": first}), name)() == getattr(oop.Late({"north": second}), name)()
    assert second.ledger.aside == 1
    second.ledger.drain()
    assert oop.Late({"north": second}).histogram().counts == (2,), "a row without a time is not late"


def test_errors() -> None:
    one = oop.source(pa.table({"ts": [1]}), time="ts", punctuate=oop.ordered(), name="one")
    two = oop.source(pa.table({"ts": [1]}), time="ts", punctuate=oop.ordered(), name="two")
    late = oop.union(one, two).run().late
    with pytest.raises(oop.OopError, match="several sources") as wrong:
        late.histogram()
    assert "'one', 'two'" in str(wrong.value)
    with pytest.raises(oop.OopError, match="no source 'three'"):
        late.needed_slack("three")
    with pytest.raises(oop.UnknownColumn):
        late.needed_slack("one", on="tz")
    with pytest.raises(ValueError, match="a share"):
        late.needed_slack("one", [99])
    with pytest.raises(ValueError, match="bins"):
        late.histogram("one", bins=[3])
    assert late.histogram("one").counts == ()
    assert np.all([n.more == 0 for n in late.needed_slack("one").needs])
