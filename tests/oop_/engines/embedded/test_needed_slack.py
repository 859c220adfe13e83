"""`Run.late` tells the slack that would have kept the late rows, which is tried by running again with it."""

from __future__ import annotations

import math
import random
from fractions import Fraction
from typing import Any

import pyarrow as pa
import pytest

import oop
from oop.operators.core.context import Context
from oop.operators.source import slack_needed
from oop.operators.source.input import Input
from oop.operators.source.operator import InputOperator
from tests.oop_.engines.embedded.late_runs import SHARES, random_table, run_of
from tests.operators.fuzz import CASES


def late_share(table: Any, policy: Any) -> int:
    return len(run_of(table, policy).late)


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
        table = table.append_column("k", pa.array([i % 3 for i in range(table.num_rows)]))
        check_needed(table, rng.choice([0, 3, 20]), **rng.choice([{}, {}, {"by": "link"}, {"by": ["link", "k"]}]))


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
    at_end = run_of(pa.table({"ts": [20, 7]}), oop.at_end()).late.needed_slack()
    assert "to keep all     what is promised will do" in str(at_end)


def check_needed_rows(table: Any, data: Any, n: int) -> bool:
    """The advised number of rows keeps the share; where it is exact, one row less does not."""
    found = run_of(data, oop.slack(rows=n)).late.needed_slack(shares=SHARES)
    assert (found.rows, found.late) == (table.num_rows, late_share(table, oop.slack(rows=n)))
    for need in found.needs:
        wanted = math.ceil(Fraction(str(need.share)) * found.rows)
        assert need.rows is not None and need.slack is None
        assert found.rows - late_share(table, oop.slack(rows=need.rows)) >= wanted
        if need.exact:
            assert need.more > 0 and found.rows - late_share(table, oop.slack(rows=need.rows - 1)) < wanted
        assert need.rows == n or need.more > 0
    return all(need.exact or need.more == 0 for need in found.needs)


@pytest.mark.parametrize("span", [slack_needed.SPAN, 6])
def test_slack_by_rows_is_told_how_many_rows_it_needs(span: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """Also where more rows came in between than are remembered: then it is enough, if not the smallest."""
    monkeypatch.setattr(slack_needed, "SPAN", span)
    monkeypatch.setattr(slack_needed, "_PIECES", 3)
    monkeypatch.setattr(slack_needed, "_MILESTONES", 8)
    sure = []
    for seed in range(CASES // 10):
        rng = random.Random(seed)
        table, n = random_table(rng), rng.choice([0, 1, 4])
        size = rng.choice([1, 3, 50, 1000])
        data = rng.choice([table, [b for i in range(0, len(table), size) for b in table.slice(i, size).to_batches()]])
        sure.append(check_needed_rows(table, data, n))
    assert all(sure) == (span > 1000)
    assert any(sure)


def test_slack_by_rows_says_so() -> None:
    late = run_of(pa.table({"ts": [20, 21, 22, 7, 23, 19]}), oop.slack(rows=1)).late
    assert [need.rows for need in late.needed_slack(shares=(0.5, 0.8, 1)).needs] == [1, 3, 4]
    assert str(late.needed_slack(shares=(0.5, 0.8, 1))).splitlines()[1:] == [
        "  to keep 50 %    at most slack 1 rows",
        "  to keep 80 %    slack 3 rows",
        "  to keep all     slack 4 rows",
    ]
    late.drain()
    assert [(need.rows, need.exact) for need in late.needed_slack(shares=(0.5, 1)).needs] == [(1, False), (4, True)]
    by_group = run_of(pa.table({"ts": [20, 7, 9], "link": ["A"] * 3}), oop.slack(rows=0, by="link")).late
    assert (by_group.needed_slack().of(1.0).more, by_group.needed_slack().of(1.0).rows) == (13, None)


def test_rows_without_a_value_are_not_among_the_greater_ones() -> None:
    times = pa.array([9.0, math.nan, None, math.inf, 8.0, 3.0])
    table = pa.table({"ts": [0] * 6, "x": times})
    late = run_of(table, {"ts": oop.ordered(), "x": oop.slack(rows=0)}).late
    assert late.needed_slack(on="x").of(1.0).rows == 2


def test_what_is_drained_and_what_was_loaded_is_enough_rows() -> None:
    rng = random.Random(5)
    tables = [random_table(rng).select(["ts"]).cast(pa.schema([("ts", pa.int64())])) for _ in range(6)]
    spec = Input("north", "ts", (("ts", oop.slack(rows=1)),))
    plain, saved = InputOperator(spec, Context([tables[0].schema])), InputOperator(spec, Context([tables[0].schema]))
    parts: dict[str, Any] = {}
    for i, table in enumerate(tables):
        for operator in (plain, saved):
            for batch in table.to_batches():
                list(operator.process_batch(batch))
        if i % 2:
            saved.ledger.drain()
        for key, part in saved.save():
            parts = {k: p for k, p in {**parts, key: part}.items() if p is not None}
        saved = InputOperator(spec, Context([tables[0].schema]))
        saved.load(parts.items())
    exact, rough = (oop.Late({"north": o}).needed_slack(shares=SHARES) for o in (plain, saved))
    assert exact.late == rough.late > 20
    for one, other in zip(exact.needs, rough.needs, strict=True):
        assert one.rows is not None and other.rows is not None and one.rows <= other.rows
        assert not other.exact or one.rows == other.rows


def test_the_slack_of_float_times_is_a_float() -> None:
    run = oop.source(pa.table({"ts": [1.5, 3.5]}), time="ts", punctuate=oop.ordered(), name="s").run()
    run.to_table()
    assert [repr(need.slack) for need in run.late.needed_slack().needs] == ["0.0"] * 3
