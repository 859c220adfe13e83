"""The demo's generator does what it says, and its table says what is true."""

import sys
from dataclasses import replace
from itertools import pairwise

import numpy as np
import pyarrow as pa
import pytest

import oop
from oop import packets
from oop.cli import demo, demo_spark
from oop.cli.command import main
from oop.packets import SECOND, START

ROWS = 4_000


@pytest.fixture(scope="module")
def links() -> dict[str, packets.Arrivals]:
    return packets.generate(ROWS, seed=5)


@pytest.fixture(scope="module")
def results(links: dict[str, packets.Arrivals]) -> list[demo.Measured]:
    truth = demo.true_counts(links)
    feeds = demo.Feeds(links, lambda rows: None)
    return [demo.measure(way, feeds, truth) for way in demo.WAYS]


def test_generator_repeats(links: dict[str, packets.Arrivals]) -> None:
    again = packets.generate(ROWS, seed=5)
    assert all(links[name].rows.equals(again[name].rows) for name in links)
    assert not links["Main1"].rows.equals(packets.generate(ROWS, seed=6)["Main1"].rows)
    assert sum(link.rows.num_rows for link in links.values()) == ROWS


def test_arrivals(links: dict[str, packets.Arrivals]) -> None:
    for link in packets.LINKS:
        arrivals = links[link.name]
        assert (np.diff(arrivals.at) >= 0).all()
        late_by = arrivals.at - arrivals.times
        assert late_by.min() >= min(link.skew)
        assert late_by.max() <= max(link.skew) + packets.HELD_UP[1]
    behind = links["Main1"].times < np.maximum.accumulate(links["Main1"].times)
    assert 0.05 < behind.mean() < 0.15  # about a tenth is out of order


def test_ticks_keep_every_row_and_their_promises(links: dict[str, packets.Arrivals]) -> None:
    for arrivals in [*links.values(), packets.merged(links)]:
        ticks = arrivals.ticks()
        assert pa.Table.from_batches([t.batch for t in ticks]).num_rows == arrivals.rows.num_rows
        for earlier, later in pairwise(ticks):
            times = later.batch.column("ts").cast(pa.int64()).to_numpy()
            assert not len(times) or times.min() >= earlier.low
        assert ticks[-1].low is None


def test_ways(results: list[demo.Measured]) -> None:
    exact, in_order, small, enough, ample = results
    assert [r.lost > 0 for r in results] == [False, False, True, False, False]
    assert in_order.held > 10 * exact.held  # rows, where the others hold a partial aggregate for each window
    assert in_order.answer.equals(exact.answer.sort_by("window_start"))
    assert exact.first_stream < enough.first_stream < ample.first_stream
    assert exact.held <= enough.held < ample.held
    assert exact.answer.sort_by("window_start").equals(ample.answer.sort_by("window_start"))
    assert sum(small.answer["packets"].to_pylist()) == ROWS - small.lost


def test_a_wrong_answer_is_an_error(links: dict[str, packets.Arrivals]) -> None:
    truth = demo.true_counts(links)
    wrong = truth.copy()
    wrong[3] += 1
    with pytest.raises(oop.OopError, match="the answer is wrong: 1 rows are missing, 0 were late"):
        demo.measure(demo.WAYS[0], demo.Feeds(links, lambda rows: None), wrong)


def test_conclusion_follows_the_numbers(results: list[demo.Measured]) -> None:
    exact = replace(results[0], way="exact promises", held=8, first_stream=5.0, rows=1000, lost=0)
    others = [
        replace(exact, way="a: b", lost=20),
        replace(exact, way="c", first_stream=7.5, held=9),
        replace(exact, way="d", first_stream=4.0, held=8),
        replace(exact, way="e"),
    ]
    assert demo.conclusion([exact, *others]) == (
        "Exact promises lost none and gave the first window after 5.0 s of stream; a lost 2.0% of the rows; "
        "c lost none and gave it 2.5 s later, holding 9 rows against 8; "
        "d lost none and gave it 1.0 s earlier, holding 8 rows against 8; "
        "e lost none and gave it at the same time, holding 8 rows against 8."
    )


def test_truth_is_per_window(links: dict[str, packets.Arrivals]) -> None:
    truth = demo.true_counts(links)
    assert truth.sum() == ROWS
    first = sum(int((link.times < START + SECOND).sum()) for link in links.values())
    assert truth[0] == first


def test_on_spark_too(capsys: pytest.CaptureFixture[str], links: dict[str, packets.Arrivals], spark: object) -> None:
    stream = demo_spark.WAY.stream(demo.Feeds(links, lambda rows: None))
    run = stream.run()
    windows, late = run.to_table().num_rows, len(run.late)
    assert late > 0
    assert main(["demo", "--rows", f"{ROWS}", "--seed", "5", "--quiet"]) == 0
    said = " ".join(capsys.readouterr().out.split())
    assert f"On Spark, in local mode: {ROWS:,} rows, slack 500ms for each link: {windows} windows, {late} late" in said
    assert said.endswith("same answer as embedded: yes")


def test_another_answer_on_spark_is_seen(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    wrong = demo_spark.Compared(demo_spark.ROWS, 7, 120, same=False)
    monkeypatch.setattr("oop.engines.spark.session.local_session", lambda: None)
    monkeypatch.setattr(demo_spark, "compare", lambda session, rows, seed: wrong)
    said, same = demo.on_spark(rows=4_000_000, seed=0)
    assert not same
    assert said.startswith("On Spark, in local mode, with fewer rows to be quick: 200,000 rows")
    assert said.endswith("same answer as embedded: NO")
    assert main(["demo", "--rows", "2000", "--quiet"]) == 1


@pytest.mark.parametrize(
    ("missing", "why"), [("java", "Spark needs Java"), ("pyspark", "the Spark engine needs pyspark")]
)
def test_without_spark(
    missing: str, why: str, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    if missing == "java":
        monkeypatch.setattr("pyspark.sql.SparkSession.getActiveSession", lambda: None)
        monkeypatch.setattr("pyspark.sql.SparkSession._instantiatedSession", None)
        monkeypatch.setenv("JAVA_HOME", "/nowhere")
    else:
        monkeypatch.setitem(sys.modules, "pyspark", None)
    assert main(["demo", "--rows", "2000", "--quiet"]) == 0
    assert f"On Spark: left out, since {why}" in " ".join(capsys.readouterr().out.split())
