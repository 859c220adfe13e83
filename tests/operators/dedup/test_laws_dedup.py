"""The laws in oop/testing/laws.py for dedup: at once, first and last, and within a span."""

from __future__ import annotations

import pyarrow as pa

import oop
from oop.testing import Harness, bag, check_operator, resplit
from tests.operators import fuzz
from tests.operators.drawn import by_values, each, some_threads, span_in
from tests.operators.fuzz import TIMES


def best_of(rows, names, last):
    """The first or last by time, then by value."""
    ordered = sorted(rows, key=lambda r: by_values(r, ["ts", *(n for n in names if n != "ts")]))
    return ordered[-1 if last else 0]


def by_key(rows, keys):
    found = {}
    for row in rows:
        found.setdefault(tuple(row[k] for k in keys), []).append(row)
    return found


def in_spans(rows, within):
    """By definition: the first row begins a span, the next one behind it the next span."""
    spans = []
    for row in sorted(rows, key=lambda r: r["ts"]):
        if not spans or row["ts"] - spans[-1][0]["ts"] > within:
            spans.append([])
        spans[-1].append(row)
    return spans


def test_dedup(seeds):
    def case(rng, seed):
        time = TIMES[rng.choice(list(TIMES))]
        schema = fuzz.schema_of(time)
        elements = fuzz.random_stream(rng, time)
        keys = rng.choice([["ts"], ["ts", "k"], ["link", "ts", "k"], []])
        keep = rng.choice(["any", "first", "last"])
        groups = by_key(fuzz.on_time(elements), keys or schema.names)
        rows = [best_of(members, schema.names, keep == "last") for members in groups.values()]
        shown = keys or schema.names if keep == "any" else schema.names  # which of a key's rows comes first is open

        def pipeline(s):
            return s.dedup(*keys, keep=keep).select(*shown)

        expected = [{n: r[n] for n in shown} for r in fuzz.typed(rows, schema)]
        check_operator(pipeline, elements, seed=seed, threads=some_threads(rng), expected=expected)

    each(seeds, case)


def test_dedup_within_a_span(seeds):
    each(seeds, lambda rng, seed: (any_within if rng.random() < 0.4 else decided_within)(rng, seed))


def decided_within(rng, seed):
    time = TIMES[rng.choice(list(TIMES))]
    schema = fuzz.schema_of(time)
    elements = fuzz.random_stream(rng, time)
    keys = rng.choice([["k"], ["link"], ["link", "k"]])
    within, keep = rng.choice([0, 1, 3, 8]), rng.choice(["first", "last"])
    groups = by_key(fuzz.on_time(elements), keys).values()
    spans = [span for members in groups for span in in_spans(members, within)]
    rows = fuzz.typed([best_of(span, schema.names, keep == "last") for span in spans], schema)

    def pipeline(s):
        return s.dedup(*keys, keep=keep, within=span_in(within, time))

    check_operator(pipeline, elements, seed=seed, threads=some_threads(rng), expected=rows)


def any_within(rng, seed):
    """One row for each event, as long as rows of an event are at most so far apart and events further."""
    time = TIMES[rng.choice(["int64", "int32"])]
    within = rng.choice([0, 1, 3, 8])
    period = 3 * within + 2
    elements = [_only(e, lambda ts: ts % period <= within) for e in fuzz.random_stream(rng, time)]
    keys = rng.choice([["k"], ["link"], ["link", "k"]])
    events = {(*(r[k] for k in keys), r["ts"] // period) for r in fuzz.on_time(elements)}

    def pipeline(s):
        return s.dedup(*keys, within=within).select(*keys, event=oop.col("ts") // period)

    expected = [dict(zip([*keys, "event"], event, strict=True)) for event in events]
    check_operator(pipeline, elements, seed=seed, threads=some_threads(rng), expected=expected)


def test_any_within_a_span_goes_row_by_row(seeds):
    """Whatever the rows: as they come, and not by how they are cut into batches, coupled, or spread over threads."""

    def case(rng, seed):
        time = TIMES[rng.choice(["int64", "float64"])]
        elements = fuzz.random_stream(rng, time)
        keys, within = rng.choice([["k"], ["link"], ["link", "k"]]), rng.choice([0, 1, 3, 8])
        passed = []
        for row in fuzz.on_time(elements):
            same = [p["ts"] for p in passed if all(p[k] == row[k] for k in keys)]
            if all(abs(row["ts"] - ts) > within for ts in same):
                passed.append(row)
        schema = fuzz.schema_of(time)
        for cut in (elements, resplit(elements, seed), resplit(elements, seed, largest=1000)):
            harness = Harness(lambda s: s.dedup(*keys, within=within), schema, threads=some_threads(rng))
            if rng.random() < 0.5:
                harness.feed(*cut)
            else:
                for element in cut:
                    harness.feed(element)
            harness.end()
            assert bag(harness.rows()) == bag(passed)

    each(seeds, case)


def test_any_within_a_span_of_times_that_are_far_apart():
    times = [2**63 - 1, -(2**63), 5, 2**63 - 2, -(2**63) + 1, 4]
    h = Harness(lambda s: s.dedup("k", within=1), {"ts": "int64", "k": "int64"})
    h.push({"ts": times, "k": [1] * 6})
    assert [r["ts"] for r in h.rows()] == times[:3]


def _only(element, keep):
    if isinstance(element, oop.Punctuation):
        return element
    return element.filter(pa.array([keep(ts) for ts in element.column("ts").to_pylist()], pa.bool_()))
