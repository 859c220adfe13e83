"""`Run.late`: which promises rows broke and how late they were, also where not all of them are kept."""

from __future__ import annotations

import math
import random
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

import oop
from oop.operators.core.context import Context
from oop.operators.source.input import Input
from oop.operators.source.operator import InputOperator
from oop.operators.source.room import Room
from tests.oop_.engines.embedded.late_runs import SHARES, random_table, run_of
from tests.operators.fuzz import CASES


def both_late(rng: random.Random) -> tuple[pa.Table, dict[str, Any]]:
    table = random_table(rng)
    starts = [t.as_py() - rng.randint(0, 30) for t in table["ts"]]
    policies = {"ts": oop.slack(rng.choice([0, 3])), "start": rng.choice([oop.slack(5), oop.slack(rows=2)])}
    return table.append_column("start", pa.array(starts)), policies


def test_a_row_is_booked_on_every_attribute_whose_promise_it_broke() -> None:
    """As if the source had promised about that attribute alone."""
    several = 0
    for seed in range(CASES // 10):
        table, policies = both_late(random.Random(seed))
        late = run_of(table, policies).late
        counts = []
        for attribute, policy in policies.items():
            alone = run_of(table, {attribute: policy}).late
            assert late.histogram(on=attribute) == alone.histogram(on=attribute)
            found, wanted = (x.needed_slack(on=attribute, shares=SHARES) for x in (late, alone))
            assert (found.rows, found.late, found.needs) == (wanted.rows, wanted.late, wanted.needs)
            counts.append(found.late)
        several += sum(counts) > len(late)
        assert max(counts) <= len(late) == late["north"].num_rows <= sum(counts), "a row is kept once"
    assert several


def test_what_is_booked_survives_saving_and_draining() -> None:
    table, policies = both_late(random.Random(3))
    table = table.select(["ts", "start"]).cast(pa.schema([("ts", pa.int64()), ("start", pa.int64())]))
    spec = Input("north", "ts", tuple({**policies, "start": oop.slack(rows=2)}.items()))
    first, second = (InputOperator(spec, Context([table.schema])) for _ in range(2))
    for batch in table.to_batches():
        list(first.process_batch(batch))
    second.load(list(first.save()))
    for on in ("ts", "start"):
        one, other = (oop.Late({"north": operator}) for operator in (first, second))
        assert one.histogram(on=on) == other.histogram(on=on)
        assert one.needed_slack(on=on) == other.needed_slack(on=on)
    assert first.ledger.table().equals(second.ledger.table())
    second.ledger.drain()
    third = InputOperator(spec, Context([table.schema]))
    third.load(list(second.save()))
    for on in ("ts", "start"):
        one, other = (oop.Late({"north": operator}) for operator in (first, third))
        assert one.histogram(on=on) == other.histogram(on=on)
        assert one.needed_slack(on=on).late == other.needed_slack(on=on).late > 0


def test_promises_of_the_data_are_booked_by_attribute_too() -> None:
    rows = pa.record_batch({"ts": [5, 1, 9, 5], "start": [1, 9, 0, 8], "link": ["A", "A", "B", "A"]})
    promises = [
        oop.Punctuation({"ts": 4}),
        oop.Punctuation({"start": 3}),
        oop.Punctuation({"ts": 6}, {"link": "A"}),
        oop.Punctuation({"start": 7}, {"link": "B"}),
    ]
    late = run_of([*promises, rows], oop.punctuated(on=["ts", "start"], by="link")).late
    assert len(late) == 4
    assert sum(late.histogram(on="ts").counts) == 3 and sum(late.histogram(on="start").counts) == 2
    assert late.needed_slack(on="ts").of(1.0).more == 5, "the strongest promise that was broken counts"
    assert late.needed_slack(on="start").of(1.0).more == 7
    joint = [oop.Punctuation({"ts": 4}), oop.Punctuation({"ts": 9, "start": 9})]
    late = run_of([*joint, rows.slice(1)], oop.punctuated(on=["ts", "start"])).late
    assert (late.histogram().unknown, sum(late.histogram().counts)) == (1, 1)


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
    plain = InputOperator(spec, Context([tables[0].schema]))
    drained = InputOperator(spec, Context([tables[0].schema]))
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
        drained = InputOperator(spec, Context([tables[0].schema]))
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
    first, second = (InputOperator(spec, Context([table.schema])) for _ in range(2))
    list(first.process_batch(table.to_batches()[0]))
    second.load(list(first.save()))
    for name in ("histogram", "needed_slack"):
        assert getattr(oop.Late({"north": first}), name)() == getattr(oop.Late({"north": second}), name)()
    assert second.ledger.without_time == 1
    second.ledger.drain()
    assert oop.Late({"north": second}).histogram().counts == (2,), "a row without a time is not late"


@pytest.mark.parametrize(("size", "most"), [(1, 0), (1, 300), (7, 300), (7, 10_000), (100, 1)])
def test_the_law_of_late_rows_that_are_not_kept(size: int, most: int) -> None:
    """The first ones are kept, as they are without a cap, however small the batches; of all it is known how many they
    are and how late. They are counted as state, and take no more of it than the cap."""
    rng = np.random.default_rng(3)
    times = [None if rng.random() < 0.05 else int(t) for t in np.arange(1_500) - rng.integers(0, 300, 1_500)]
    table = pa.table({"ts": pa.array(times, pa.int64()), "link": [f"link {i % 7}" for i in range(1_500)]})

    def late(late_rows: int, size: int) -> tuple[oop.Late, int]:
        batches = table.to_batches(max_chunksize=size)
        stream = oop.source(
            batches, time="ts", punctuate=oop.slack(20, by="link", idle=10), name="north", nulls="aside"
        )
        run = stream.run(oop.Embedded(late_rows=late_rows))
        run.to_table()
        return run.late, run.metrics.boxes[0].state_bytes

    whole, _ = late(100_000, size)
    found, nbytes = late(most, size)
    kept = min(most, len(whole))
    assert len(found) == len(whole) > 1_000 and found["north"] == whole["north"][:kept]
    assert found.not_kept == ({"north": len(whole) - kept} if kept < len(whole) else {})
    assert ("not kept" in repr(found)) == (kept < len(whole))
    assert found.histogram() == whole.histogram()
    for exact, rough in zip(whole.needed_slack().needs, found.needed_slack().needs, strict=True):
        assert exact.more <= rough.more <= exact.more * (1 + 1 / 16)
    assert nbytes == found.sources["north"].nbytes <= kept * 100 + 256 * 2_000
    assert len(found.sources["north"].entries) <= 256 + kept // 16  # small ones are put together
    found.drain()
    assert found.histogram() == whole.histogram() and not found["north"].num_rows
    assert found.not_kept == ({"north": len(whole) - kept} if kept < len(whole) else {})


def test_what_is_not_kept_is_saved_as_a_count() -> None:
    spec = Input("north", "ts", (("ts", oop.ordered()),))
    operators = [InputOperator(spec, Context([pa.schema({"ts": pa.int64()})])) for _ in range(2)]
    operators[0].ledger.room = Room(400)
    parts: dict[str, Any] = {}
    for number in range(3):  # saved in between: what is saved stays as it is, though it is small
        list(operators[0].process_batch(pa.record_batch({"ts": [1_000 + number]})))
        for time in range(200):
            list(operators[0].process_batch(pa.record_batch({"ts": [time]})))
        parts.update(operators[0].save())
    operators[1].load(parts.items())
    first, second = (operator.ledger for operator in operators)
    assert first.table() == second.table() and first.table().num_rows == 400
    assert (
        (second.late, second.not_kept, second.drained)
        == (first.late, first.not_kept, first.drained)
        == (
            600,
            200,
            first.drained,
        )
    )
    second.drain()
    parts.update(second.save())
    operators[0].load((key, part) for key, part in parts.items() if part is not None)
    assert not operators[0].ledger.entries, "nothing that was drained comes back"
    assert first.room.left == 400, "and there is room again"


@pytest.mark.parametrize("groups", [50, 1])
def test_shards_keep_late_rows_together(groups: int) -> None:
    """As many as one thread keeps, also where all of them come to one shard."""
    values, keys = np.r_[[5_000] * 50, np.arange(900)], np.r_[np.arange(50), np.arange(900) % 50] % groups
    table = pa.table({"ts": np.arange(950), "v": values, "k": keys})
    stream = oop.source(table, time="ts", punctuate=oop.ordered(), name="north")
    assumed = oop.aurora.Assume(oop.Order("v", group_by="k"))(stream)
    for threads in (1, 2):
        run = assumed.run(oop.Embedded(threads=threads, late_rows=51))
        assert run.to_table().num_rows == 50
        assert (len(run.late), run.late["Assume"].num_rows, run.late.not_kept) == (900, 51, {"Assume": 849})
        run.late.drain()
        assert {ledger.room.left for ledger in run.late.operators["Assume"].ledgers} == {51}


@pytest.mark.parametrize("wrong", [-1, 1.5, None, True])
def test_late_rows_is_a_number(wrong: Any) -> None:
    with pytest.raises(ValueError, match="late_rows is a number of at least 0"):
        oop.Embedded(late_rows=wrong)


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
