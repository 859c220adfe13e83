"""The laws where ranges of the time come group by group, in any order, and grow into bounds (OOP paper, section 3.2).

Another consumer asks for the time, so that ranges of it cross the source one by one; what they have become together is
more than the last of them says, and an operator that promises it must have let go as much.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator
from itertools import pairwise

import pytest

import oop
from oop.operators.core.operator import Element
from oop.testing import Harness, check_operator
from tests.operators import fuzz
from tests.operators.fuzz import CASES, TIMES
from tests.operators.test_laws import each

POLICY = oop.punctuated(by="k")
GROUPS = [1, 2]
SPAN = 40


def stream_of_ranges(rng: random.Random) -> list[Element]:
    """The time of each group in pieces, which are promised in any order, the first as a bound; rows come in between."""
    schema = fuzz.schema_of(TIMES["int64"])
    promises = []
    for k in GROUPS:
        cuts = sorted(rng.sample(range(1, SPAN), rng.randint(1, 4)))
        promises.append(oop.Punctuation({"ts": cuts[0]}, {"k": k}))
        promises += [oop.Punctuation({"ts": high}, {"k": k}, above={"ts": low}) for low, high in pairwise(cuts)]
    rng.shuffle(promises)
    if rng.random() < 0.3:
        promises.insert(rng.randrange(len(promises)), oop.Punctuation({"ts": rng.randint(1, SPAN)}))
    out: list[Element] = []
    given = oop.Frontier()
    for promise in [None, *promises]:
        if promise is not None:
            given.advance(promise)
            out.append(promise)
        rows = [some_row(rng) for _ in range(rng.choice([0, 0, 3]) if promise else 8)]
        rows = [row for row in rows if not given.covers_row(row)]
        if rows or promise is None:
            out.append(fuzz.batch(rows, schema))
    return out


def some_row(rng: random.Random) -> dict[str, object]:
    where = {"link": rng.choice(fuzz.LINKS), "k": rng.choice([*GROUPS, None])}
    return {"ts": rng.randrange(SPAN), **where, "v": rng.randrange(100), "x": None}


def with_another(stream: oop.Stream, source: oop.Stream) -> oop.Stream:
    """Beside it, somebody who asks for the time by group."""
    return stream.select("ts", "k").union(source.group_by("ts", "k").agg(n=oop.count()).select("ts", "k"))


def of_windows(window: object) -> Callable[[oop.Stream], oop.Stream]:
    return lambda s: s.window(window).group_by("k").agg(n=oop.count()).select(ts=oop.col("window_end"), k=oop.col("k"))


ONE = {
    "session": of_windows(oop.session(3)),
    "aggregate": of_windows(oop.tumbling(5)),
    "sliding": of_windows(oop.sliding(9, every=4)),
    "landmark": of_windows(oop.landmark(5)),
    "group by": lambda s: s.group_by("ts", "k").agg(n=oop.count()),
    "sort": lambda s: s.sort(),
    "each window": lambda s: s.each_window("ts"),
    **{
        f"dedup {keep}{' within' if within else ''}": (
            lambda s, keep=keep, within=within: s.dedup(*(["k"] if within else ["k", "ts"]), keep=keep, **within)
        )
        for keep in ("any", "first", "last")
        for within in ({}, {"within": 3})
    },
}
TWO = {
    **{
        how: lambda a, b, how=how: a.join(b, on="k", within=(-3, 5), how=how)
        for how in ("inner", "left", "semi", "anti", "full")
    },
    "resample": lambda a, b: a.resample(b, within=4, by="k", x=oop.mean("v")),
}


@pytest.mark.parametrize("name", [*ONE, *TWO])
def test_ranges_of_the_time_by_group(name):
    """One element at a time in most cases, with the checks of a run; every fifth time all laws."""

    def case(rng: random.Random, seed: int) -> None:
        inputs = [stream_of_ranges(rng) for _ in range(1 if name in ONE else 2)]
        asking = rng.randrange(len(inputs))

        def pipeline(*streams: oop.Stream) -> oop.Stream:
            return with_another((ONE | TWO)[name](*streams), streams[asking])

        if seed % 5 == 0 and name != "dedup any within":  # which of several passes is a matter of who comes first
            check_operator(pipeline, *inputs, seed=seed, punctuate=POLICY)
            return
        harness = Harness(pipeline, *(i[0].schema for i in inputs), punctuate=POLICY)
        for element, port in one_at_a_time(rng, inputs):
            harness.feed(element, port=port)
            harness.check_held_back()
        harness.end()
        assert harness.buffered_rows == 0

    each(range(CASES // 12), case)


def one_at_a_time(rng: random.Random, inputs: list[list[Element]]) -> Iterator[tuple[Element, int]]:
    """The elements of all inputs, any of which may be the next to go on."""
    left = [list(reversed(i)) for i in inputs]
    while any(left):
        port = rng.choice([i for i, elements in enumerate(left) if elements])
        yield left[port].pop(), port
