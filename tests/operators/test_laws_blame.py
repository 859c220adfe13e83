"""`Run.blame` under the fuzzer: what it names holds the window back, what it advises releases it, and less does not."""

from __future__ import annotations

import math
import random
from collections.abc import Callable

import pyarrow as pa
import pytest

import oop
from oop.engines.blame import Holder
from oop.engines.embedded.tracing import _bound, _known, _only
from oop.operators.core.operator import Element
from oop.testing import Harness, ManualClock
from tests.operators import fuzz
from tests.operators.fuzz import CASES, TIMES
from tests.operators.test_laws import each

PIECES = 5


@pytest.fixture(params=range(PIECES))
def seeds(request: pytest.FixtureRequest) -> range:
    piece = request.param
    return range(piece * CASES // PIECES, (piece + 1) * CASES // PIECES, 2)  # each runs its stream several times


ONE: list[Callable[..., oop.Stream]] = [
    lambda s: s.window(oop.tumbling(5)).agg(n=oop.count()),
    lambda s: s.window(oop.tumbling(5)).group_by("link").agg(n=oop.count()),
    lambda s: s.window(oop.sliding(9, every=4)).group_by("link", "k").agg(n=oop.count()),
    lambda s: s.window(oop.sliding(2, every=5)).group_by("k").agg(n=oop.count()),
    lambda s: s.group_by("ts", "link").agg(n=oop.count()),
    lambda s: s.filter(oop.col("k") == 1).window(oop.tumbling(4)).agg(n=oop.count()),
    lambda s: s.dedup("ts", "link", keep="first"),
    lambda s: s.dedup("link", "ts", "k", keep="last"),
    lambda s: s.dedup("link", "k", keep="first", within=3),
    lambda s: s.dedup("link", keep="last", within=4),
    lambda s: (
        s.window(oop.tumbling(5)).group_by("link").agg(n=oop.count()).window(oop.tumbling(10)).agg(n=oop.sum("n"))
    ),
]
SPANS = ONE[7:9]  # in the units of whole numbers
TWO: list[Callable[..., oop.Stream]] = [
    lambda a, b: oop.union(a, b).window(oop.tumbling(5)).group_by("link").agg(n=oop.count()),
    lambda a, b: a.join(b, on="link", within=(-3, 4)),
    lambda a, b: a.join(b, on="k", within=(-3, 4), how="left").window(oop.sliding(6, every=3)).agg(n=oop.count()),
    lambda a, b: a.join(b, window=oop.tumbling(5)),
    lambda a, b: a.join(b, on="k", within=(0, 4)).group_by("ts", "ts_right").agg(n=oop.count()),
]


def test_blame_names_what_holds_it_back(seeds: range) -> None:
    def case(rng: random.Random, seed: int) -> None:
        pipeline = rng.choice([*ONE, *TWO])
        times = ["int64"] if pipeline in SPANS else ["int64"] * 5 + ["timestamp", "float64", "date"]
        time = TIMES[rng.choice(times)]
        streams = [fuzz.random_stream(rng, time) for _ in range(1 if pipeline in ONE else 2)]
        given = [[*elements, oop.END] if rng.random() < 0.2 else elements for elements in streams]
        _check(pipeline, given, time, threads=2 if rng.random() < 0.1 else 1)

    each(seeds, case)


def _check(pipeline: Callable[..., oop.Stream], given: list[list[Element]], time: pa.DataType, threads: int) -> None:
    def fed(*more: tuple[int, Element]) -> Harness:
        harness = Harness(pipeline, *[fuzz.schema_of(time)] * len(given), threads=threads)
        for port, elements in enumerate(given):
            harness.feed(*elements, *(e for p, e in more if p == port), port=port)
        return harness

    harness = fed()
    blame = harness.run.blame()
    assert (blame is None) == (harness.buffered_rows == 0)
    if blame is None:
        return
    least = reach(harness, blame)
    assert not math.isnan(least)
    assert str(blame).count("held back by") == len(blame.sources) > 0
    holders = {int(s.source.removeprefix("input ")): s.release for s in blame.sources}
    for port in holders:  # each alone, with all others at their end
        ended = fed(*((p, oop.END) for p in range(len(given)) if p != port))
        assert reach(ended, blame) <= least, f"{blame} … not by {port}"
    weaker = [(port, less) for port, release in holders.items() if (less := lesser(release)) is not None]
    assert reach(fed(*weaker), blame) <= least, f"less would do: {blame}"
    tried = []
    after: oop.Blame | None = blame
    while after is not None and (after.what, after.operator) == (blame.what, blame.operator):
        holders = {int(s.source.removeprefix("input ")): s.release for s in after.sources}
        assert holders not in tried, f"still open: {after}"  # groups that hold it back have their turn
        tried.append(holders)
        for port, release in holders.items():
            harness.feed(release, port=port)
        after = harness.run.blame()


def reach(harness: Harness, blame: oop.Blame) -> float:
    """How far the promise must go that releases the first thing which the operator holds.

    While that is no further than it was, what was the oldest is still there: what comes to an operator on top of
    another may be older.
    """
    boxes = [b for b in harness.run._boxes if b.node.spec.describe() == blame.operator]
    found = [b.operator.oldest() for b in boxes]
    return min((min(h.release.below.values(), default=math.inf) for h in found if h is not None), default=math.nan)


def lesser(release: oop.Punctuation) -> oop.Punctuation | None:
    """The same promise with a bound that is a little lower."""
    if release.is_end:
        return None
    ((attribute, bound),) = release.below.items()
    return oop.Punctuation({attribute: bound - (1 if isinstance(bound, int) else 0.125)}, release.where)


@pytest.mark.parametrize("options", [{"keys": ["link", "ts"]}, {"keys": ["link"], "within": 3}], ids=["key", "span"])
@pytest.mark.parametrize("keep", ["first", "last"])
def test_a_row_that_dedup_holds_waits_for_its_own_group(keep: str, options: dict) -> None:
    keys = options["keys"]
    within = options.get("within")
    h = Harness(lambda s: s.dedup(*keys, keep=keep, within=within), {"ts": "int64", "link": "string"})
    h.push({"ts": [5, 7], "link": ["A", "B"]})
    h.promise(where={"link": "A"}, ts=4)
    h.promise(where={"link": "B"}, ts=2)  # further behind, but the oldest row is not of this group
    blame = h.run.blame()
    assert blame is not None and blame.what == "the row with ts = 5 of link = 'A'"
    assert [(s.group, s.release) for s in blame.sources] == [
        ("group link = 'A'", oop.Punctuation({"ts": 6}, {"link": "A"}))
    ]
    h.promise(where={"link": "A"}, ts=6)
    after = h.run.blame()
    assert after is not None and after.what == "the row with ts = 7 of link = 'B'"
    h.promise(where={"link": "B"}, ts=8)
    left = h.run.blame()
    assert (left is None) == (within is None)
    if left is not None:
        assert left.what == "the span that began at ts = 5 of link = 'A'"
        assert [s.release for s in left.sources] == [oop.Punctuation({"ts": 9}, {"link": "A"})]


POLICIES = [
    oop.punctuated(),
    oop.ordered(),
    oop.slack(4),
    oop.slack(rows=2),
    oop.slack(3, every=10),
    oop.slack(5, by="link", groups=["A", "B", "C", None]),
    oop.slack(5, by="link", idle=15),
]


def test_blame_dates_the_promise_that_it_shows(seeds: range) -> None:
    """So many rows ago, and so long ago, as the source came to promise so much: whether it helped somebody or not."""

    def case(rng: random.Random, seed: int) -> None:
        pipeline, policy = rng.choice(ONE[:6]), rng.choice(POLICIES)
        clock = ManualClock(0)
        harness = Harness(pipeline, fuzz.schema_of(TIMES["int64"]), punctuate=policy, clock=clock)
        box = harness.sources[0]
        history = [(0, 0, _known(box))]
        for element in fuzz.random_stream(rng, TIMES["int64"]):
            punct = isinstance(element, oop.Punctuation)
            if punct and not policy.carried:
                continue
            pieces = [element] if punct else [element.slice(i, 1) for i in range(element.num_rows)]
            for piece in pieces:
                harness.feed(piece)
                history.append((clock.now(pa.int64()), box.rows_out, _known(box)))
                clock.advance(1)
                for holder in getattr(harness.run.blame(), "sources", ()):
                    _check_date(holder, history, clock.now(pa.int64()), box.rows_out)

    each(seeds, case)


def _check_date(holder: Holder, history: list[tuple[int, int, oop.Frontier]], now: int, rows: int) -> None:
    then = history[0]
    if holder.promised is not None:
        attribute, _, bound = holder.promised.partition(" < ")
        where = holder.release.where
        bounds = [_bound(_only(known, where), attribute, where) for _, _, known in history]
        then = next(h for h, b in zip(history, bounds, strict=True) if b is not None and b >= int(bound))
    assert (holder.ago, holder.rows) == (str(now - then[0]), rows - then[1]), str(holder)
