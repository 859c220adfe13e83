"""The demo's generator does what it says, and its table says what is true."""

from dataclasses import replace
from itertools import pairwise

import numpy as np
import pyarrow as pa
import pytest

import oop
from oop import demo, packets
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
    exact, small, enough, ample = results
    assert [r.lost > 0 for r in results] == [False, True, False, False]
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
