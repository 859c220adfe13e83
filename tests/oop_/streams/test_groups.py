"""Group-wise promises through whole pipelines (OOP paper, A.1.1): groups that finish early come out early; groups
retire and come back."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

import oop
from oop.testing import Harness

ROW = {"ts": "int64", "link": "string", "v": "int64"}
Pipeline = Callable[[oop.Stream], oop.Stream]
PIPELINES: dict[str, Pipeline] = {
    "window": lambda s: s.window(oop.tumbling(10)).group_by("link").agg(n=oop.count()),
    "sliding": lambda s: s.window(oop.sliding(10, every=5)).group_by("link").agg(n=oop.count()),
    "filter and map": lambda s: (
        s.filter(oop.col("v") >= 0)
        .select(t=oop.col("ts") + 100, link="link")
        .window(oop.tumbling(10), on="t")
        .group_by("link")
        .agg(n=oop.count())
    ),
    "two windows": lambda s: (
        s.window(oop.tumbling(5)).group_by("link").agg(n=oop.count())
        .window(oop.tumbling(10)).group_by("link").agg(n=oop.sum("n"))
    ),
    "group by": lambda s: s.group_by("ts", "link").agg(n=oop.count()),
    "union with itself": lambda s: (
        s.union(s.filter(oop.col("v") > 0)).window(oop.tumbling(10)).group_by("link").agg(n=oop.count())
    ),
}  # fmt: skip


def rows(*pairs: tuple[int, str | None]) -> list[dict[str, Any]]:
    return [{"ts": t, "link": link, "v": 1} for t, link in pairs]


def links(harness: Harness) -> set[str | None]:
    return {row["link"] for row in harness.rows()}


@pytest.mark.parametrize("threads", [1, 2])
@pytest.mark.parametrize("name", PIPELINES)
def test_a_group_that_finishes_early_comes_out_early(name: str, threads: int) -> None:
    h = Harness(PIPELINES[name], ROW, threads=threads)
    h.push(rows((1, "A"), (2, "B"), (3, None)))
    h.promise(ts=60, where={"link": "A"})
    assert links(h) == {"A"}
    h.feed(oop.Punctuation({}, {"link": None}))  # the end of one group
    assert links(h) == {None}
    blame = h.run.blame()
    assert blame is not None and blame.sources[0].group == "group link = 'B'"
    h.promise(ts=60)
    assert links(h) == {"B"}
    assert h.buffered_rows == 0


@pytest.mark.parametrize("name", PIPELINES)
def test_a_filter_that_fixes_a_group_needs_no_key(name: str) -> None:
    """``link == 'A'`` makes A's bound one for all rows: no other group is waited for."""
    h = Harness(lambda s: PIPELINES[name](s.filter(oop.col("link") == "A")), ROW)
    h.push(rows((1, "A"), (2, "B")))
    h.promise(ts=60, where={"link": "A"})
    assert links(h) == {"A"}
    assert h.buffered_rows == 0
    assert any("link" not in p.where for p in h.promises())


@pytest.mark.parametrize("policy", [oop.ordered(by="link", groups=["A", "B"]), oop.ordered(by="link", idle=1_000)])
def test_active_groups_hold_back_the_rest_and_not_each_other(policy: Any) -> None:
    h = Harness(PIPELINES["window"], ROW, punctuate=policy)
    h.push(rows((1, "A"), (2, "B")))
    h.push(rows((25, "A")))
    assert links(h) == {"A"}, "B is still open"
    h.push(rows((11, "B")))
    assert links(h) == {"B"}
    assert [r["ts"] for r in h.late["input 0"].to_pylist()] == []


def test_a_group_retires_and_comes_back_where_the_rest_is() -> None:
    """ordered(idle=20): B is silent for more than 20, so its windows go out with the rest's bound. When it returns it
    resumes at the rest, which is A's bound by then: what it brings below that is late."""
    h = Harness(PIPELINES["window"], ROW, punctuate=oop.ordered(by="link", idle=20))
    h.push(rows((1, "A"), (5, "B")))
    h.push(rows((22, "A")))
    assert links(h) == {"A"}, "B is idle for 17"
    h.push(rows((26, "A")))
    assert links(h) == {"B"}, "B has retired: nobody holds its window back"
    h.push(rows((24, "B"), (31, "B"), (27, "B")))
    late = h.late["input 0"].to_pylist()
    assert [(r["ts"], r["broke"]) for r in late] == [(24, "ts < 26"), (27, "ts < 31")]
    h.push(rows((45, "A")))
    assert links(h) == {"A"}, "B is active again, and holds its own window [30, 40) open"
    blame = h.run.blame()
    assert blame is not None
    assert blame.what == "window [30, 40) of link = 'B'"
    h.push(rows((40, "B")))
    assert h.rows() == [{"window_start": 30, "window_end": 40, "link": "B", "n": 1}]


def test_a_group_that_comes_back_resumes_at_its_policy_if_that_is_greater() -> None:
    h = Harness(PIPELINES["window"], ROW, punctuate=oop.slack(5, by="link", idle=20))
    h.push(rows((10, "A"), (10, "B")))
    h.push(rows((40, "A")))  # B retires; the rest is 35
    h.push(rows((60, "B")))  # back: its own policy says 55, more than the rest
    h.push(rows((54, "B"), (55, "B"), (36, "C")))
    late = h.late["input 0"].to_pylist()
    assert [(r["link"], r["ts"], r["broke"]) for r in late] == [("B", 54, "ts < 55")]
    h.push(rows((34, "D")))
    assert h.late["input 0"].to_pylist()[-1]["link"] == "D", "a group never seen begins at the rest"


def test_a_group_that_is_not_among_those_named_has_the_rests_bound() -> None:
    h = Harness(PIPELINES["window"], ROW, punctuate=oop.ordered(by="link", groups=["A", "B"]))
    h.push(rows((3, "C"), (12, "A")))
    assert links(h) == set(), "B may hold the rest back for ever"
    h.push(rows((11, "B")))
    assert links(h) == {"C"}
    h.push(rows((10, "C"), (12, "C")))
    assert [(r["ts"], r["broke"]) for r in h.late["input 0"].to_pylist()] == [(10, "ts < 11")]
