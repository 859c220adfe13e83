"""Laws (oop/testing/laws.py) of user-defined aggregates, compiled and in plain Python, under the disorder fuzzer."""

from __future__ import annotations

import random
from collections import defaultdict
from collections.abc import Callable
from typing import Any, NamedTuple

import pyarrow as pa
import pytest

import oop
from oop.testing import check_operator
from tests.operators import fuzz
from tests.operators.test_laws import each, some_threads, some_time

LEAST, MOST = -(2**63), 2**63 - 1


class Moments(NamedTuple):
    n: int
    total: float


def seen(rows: list[dict[str, Any]], *names: str) -> list[Any]:
    """The rows that count: those without a null."""
    kept = [tuple(r[n] for n in names) for r in rows]
    return [row if len(names) > 1 else row[0] for row in kept if None not in row]


def or_null(found: list[Any], made: Callable[[], Any]) -> Any:
    return made() if found else None


def wrapped(whole: int) -> int:
    return (whole - LEAST) % 2**64 + LEAST


total = oop.aggregate(0, lambda s, v: s + v, lambda a, b: a + b)
mean = oop.aggregate(
    (0, 0.0),
    lambda s, x: (s[0] + 1, s[1] + x),
    lambda a, b: (a[0] + b[0], a[1] + b[1]),
    lambda s: s[1] / s[0],
)
weighted = oop.aggregate(
    lambda: (0.0, 0),
    lambda s, x, k: (s[0] + x * k, s[1] + k),
    lambda a, b: (a[0] + b[0], a[1] + b[1]),
    lambda s: s[0] / s[1],
)
spread = oop.aggregate(
    (MOST, LEAST),
    lambda s, v: (min(s[0], v), max(s[1], v)),
    lambda a, b: (min(a[0], b[0]), max(a[1], b[1])),
    lambda s: s[1] - s[0],
)
moments = oop.aggregate(
    Moments(0, 0.0), lambda s, x: Moments(s.n + 1, s.total + x), lambda a, b: Moments(a.n + b.n, a.total + b.total)
)
rate = oop.aggregate(0, lambda s: s + 1, lambda a, b: a + b, lambda s, start, end: s / (end - start) + start)
some = oop.aggregate(False, lambda s, v: s or v, lambda a, b: a or b)
rows = oop.aggregate(0, lambda s: s + 1)  # no merge
alone = oop.aggregate((1.5, 0), lambda s, k: (s[0] * 2, s[1] + k), final=lambda s: (s[0], s[1] > 3))  # no merge

Model = Callable[[list[dict[str, Any]], Any, Any], Any]
MODELS: dict[str, tuple[Any, Model]] = {
    "total": (total("v"), lambda m, a, b: or_null(v := seen(m, "v"), lambda: wrapped(sum(v)))),
    "mean": (mean("x"), lambda m, a, b: or_null(x := seen(m, "x"), lambda: sum(x) / len(x))),
    "weighted": (
        weighted("x", oop.col("k") + 1),
        lambda m, a, b: or_null(
            p := seen(m, "x", "k"), lambda: sum(x * (k + 1) for x, k in p) / sum(k + 1 for _, k in p)
        ),
    ),
    "spread": (spread("v"), lambda m, a, b: or_null(v := seen(m, "v"), lambda: max(v) - min(v))),
    "moments": (moments("x"), lambda m, a, b: or_null(x := seen(m, "x"), lambda: {"n": len(x), "total": sum(x)})),
    "some": (some(oop.col("v") < 0), lambda m, a, b: or_null(v := seen(m, "v"), lambda: min(v) < 0)),
    "n": (oop.count(), lambda m, a, b: len(m)),
}
OF_WINDOWS: dict[str, tuple[Any, Model]] = {"rate": (rate(), lambda m, a, b: len(m) / (b - a) + a)}
WITHOUT_MERGE: dict[str, tuple[Any, Model]] = {
    "rows": (rows(), lambda m, a, b: len(m)),
    "alone": (
        alone("k"),
        lambda m, a, b: or_null(k := seen(m, "k"), lambda: {"f0": 1.5 * 2 ** len(k), "f1": sum(k) > 3}),
    ),
}


@pytest.fixture(autouse=True)
def environment(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("OOP_KERNELS", raising=False)


def chosen(rng: random.Random, monkeypatch: pytest.MonkeyPatch, models: dict[str, Any], merge: bool) -> dict[str, Any]:
    """One to three of them; native kernels run what Numba compiled, reference what the user wrote."""
    monkeypatch.setenv("OOP_KERNELS", rng.choice(["reference", "native"]))
    wanted = {n: models[n] for n in rng.sample(list(models), rng.randint(1, 3))}
    if not merge:
        name = rng.choice(list(WITHOUT_MERGE))
        wanted[name] = WITHOUT_MERGE[name]
    return wanted


def windows(monkeypatch: pytest.MonkeyPatch) -> Callable[[random.Random, int], None]:
    """Tumbling, sliding and with gaps; late rows dropped or admitted; in panes where all can merge, else without."""

    def case(rng: random.Random, seed: int) -> None:
        time = some_time(rng)
        range_ = rng.randint(1, 15)
        slide = rng.choice([range_, rng.randint(1, range_), rng.randint(1, range_), range_ + rng.randint(1, 5)])
        offset = rng.randint(-7, 7)
        if pa.types.is_floating(time) and rng.random() < 0.5:
            range_, slide, offset = range_ * 0.1, slide * 0.1, offset * 0.1
        keys = rng.choice([[], ["link"], ["link", "k"]])
        wanted = chosen(rng, monkeypatch, MODELS | OF_WINDOWS, rng.random() < 0.5)
        late = rng.choice(["drop", "drop", "admit"])
        elements = fuzz.random_stream(rng, time)
        if late == "admit":
            placed = fuzz.with_admitted(elements, keys, range_, slide, offset)
        else:
            placed = fuzz.placed(fuzz.on_time(elements), range_, slide, offset)
        members: dict[tuple[Any, ...], list[dict[str, Any]]] = defaultdict(list)
        for row, w in placed:
            members[(w, *(row[k] for k in keys))].append(row)
        expected = []
        plain = fuzz.window_rows(placed, keys, range_, slide, offset, time, {})  # in the same order
        for ((w, *_), group), edges in zip(members.items(), plain, strict=True):
            start, end = offset + w * slide, fuzz.end_of(w, range_, slide, offset)
            expected.append({**edges, **{n: model(group, start, end) for n, (_, model) in wanted.items()}})
        window = oop.sliding(range_, every=slide, offset=offset)
        check_operator(
            lambda s: s.window(window).group_by(*keys).agg(**{n: a for n, (a, _) in wanted.items()}),
            elements,
            seed=seed,
            late=late,
            threads=some_threads(rng),
            expected=expected,
        )

    return case


def groups(monkeypatch: pytest.MonkeyPatch) -> Callable[[random.Random, int], None]:
    def case(rng: random.Random, seed: int) -> None:
        time = some_time(rng)
        elements = fuzz.random_stream(rng, time)
        keys = rng.choice([["ts"], ["ts", "link"], ["link", "ts", "k"]])
        members: dict[tuple[Any, ...], list[dict[str, Any]]] = defaultdict(list)
        for row in fuzz.typed(fuzz.on_time(elements), fuzz.schema_of(time)):
            members[tuple(row[k] for k in keys)].append(row)
        wanted = chosen(rng, monkeypatch, MODELS, rng.random() < 0.5)
        expected = [
            {**dict(zip(keys, values, strict=True)), **{n: model(group, 0, 0) for n, (_, model) in wanted.items()}}
            for values, group in members.items()
        ]
        check_operator(
            lambda s: s.group_by(*keys).agg(**{n: a for n, (a, _) in wanted.items()}),
            elements,
            seed=seed,
            threads=some_threads(rng),
            expected=expected,
        )

    return case


def test_windows_and_groups(seeds: range, monkeypatch: pytest.MonkeyPatch) -> None:
    cases = windows(monkeypatch), windows(monkeypatch), groups(monkeypatch)
    each(seeds, lambda rng, seed: cases[seed % 3](rng, seed))


def test_sessions_of_a_user_defined_aggregate_that_does_not_begin_with_zeros():
    """Slots of sessions are used again: each begins as init says."""
    product = oop.aggregate(1, lambda s, v: s * v, lambda a, b: a * b)
    rows = {"ts": [1, 2, 20, 21, 40], "v": [2, 3, 5, 7, 11]}
    s = oop.source(
        [pa.record_batch({n: [c[i]] for n, c in rows.items()}) for i in range(5)], time="ts", punctuate=oop.ordered()
    )
    found = s.window(oop.session(3)).agg(p=product("v")).run().to_table().to_pylist()
    assert [r["p"] for r in found] == [6, 35, 11]


def test_final_sees_the_edges_of_a_session():
    rate = oop.aggregate(0.0, lambda s, x: s + x, lambda a, b: a + b, lambda s, start, end: s / (end - start))
    s = oop.source(pa.table({"ts": [1, 2, 30], "v": [6.0, 6.0, 9.0]}), time="ts", punctuate=oop.ordered())
    found = s.window(oop.session(3)).agg(r=rate("v")).run().to_table().to_pylist()
    assert [r["r"] for r in found] == [3.0, 3.0]
