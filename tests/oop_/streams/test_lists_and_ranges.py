"""Promises about lists of groups and ranges of an attribute, as a user meets them (OOP paper, sections 3.2 and 4.2)."""

from datetime import datetime

import pyarrow as pa
import pytest

import oop
from oop.punctuation import Corners
from oop.testing import Harness
from oop.testing.tables import promise

COLUMNS = {"ts": "int64", "k": "int64"}
ROWS = {"ts": [1, 2, 3, 4], "k": [5, 10, 15, 25]}
TILE = oop.Punctuation(above={"k": 10}, below={"k": 20})
BY_K = oop.punctuated(on=["ts"], by="k")


def started(pipeline, punctuate=None, inputs=1):
    harness = Harness(pipeline, *[COLUMNS] * inputs, punctuate=punctuate)
    harness.push(ROWS)
    return harness


def ks(harness):
    return [row["k"] for row in harness.rows()]


@pytest.mark.parametrize("keep", ["any", "first", "last"])
def test_dedup_forgets_the_keys_of_lists_and_ranges(keep):
    harness = started(lambda s: s.dedup("k", keep=keep), BY_K)
    harness.feed(TILE)
    assert harness.buffered_rows == 2
    harness.feed(oop.Punctuation(where={"k": [5, 25, None]}))
    assert (harness.buffered_rows, sorted(ks(harness))) == (0, ROWS["k"])


def test_groups_leave_by_promises_about_data_attributes_alone():
    harness = started(lambda s: s.group_by("k").agg(n=oop.count()), BY_K)
    harness.feed(oop.Punctuation(where={"k": [5, 25]}))
    assert sorted(ks(harness)) == [5, 25]
    harness.feed(TILE)
    assert sorted(ks(harness)) == [10, 15]
    assert harness.buffered_rows == 0
    assert oop.Frontier.of(*harness.promises()) == oop.Frontier.of(oop.Punctuation(where={"k": [5, 25]}), TILE)


@pytest.mark.parametrize("window", [oop.tumbling(10), oop.sliding(10, every=5), oop.session(3)], ids=str)
def test_windows_of_a_range_of_keys_close(window):
    harness = started(lambda s: s.window(window).group_by("k").agg(n=oop.count()))
    harness.feed(oop.Punctuation(above={"k": 10}, below={"k": 20, "ts": 20}))
    assert set(ks(harness)) == {10, 15}
    harness.feed(oop.Punctuation(below={"ts": 20}, where={"k": [25, 7]}))
    assert set(ks(harness)) == {25}
    assert harness.buffered_rows > 0


def test_windows_that_a_range_has_closed_stay_closed():
    """Admitted late rows find them gone, also when a bound says more than the range did."""
    harness = Harness(
        lambda s: s.window(oop.tumbling(10)).group_by("k").agg(n=oop.count()),
        COLUMNS,
        punctuate=oop.punctuated(on=["ts", "k"]),
        late="admit",
    )
    harness.push(ROWS)
    harness.feed(TILE, oop.Punctuation(below={"k": 30}))
    assert set(ks(harness)) == {10, 15}
    harness.push({"ts": [6], "k": [15]})
    harness.end()
    assert set(ks(harness)) == {5, 25}


def test_a_join_frees_rows_of_lists_and_ranges():
    harness = started(lambda a, b: a.join(b, on="k", within=(-5, 5)), inputs=2)
    harness.feed(TILE, port=1)
    assert harness.buffered_rows == 2
    harness.feed(oop.Punctuation(where={"k": [25, 26]}), port=1)
    assert harness.buffered_rows == 1


def test_a_filter_makes_what_is_said_of_its_range_a_promise_about_all_of_its_rows():
    k = oop.col("k")
    for predicate in ((k >= 10) & (k < 20), (k > 10) & (k < 20), k.between(12, 19), k == 15):
        harness = started(lambda s, p=predicate: s.filter(p).window(oop.tumbling(10)).agg(n=oop.count()))
        harness.feed(oop.Punctuation(above={"k": 10}, below={"k": 20, "ts": 10}))
        assert [row["window_start"] for row in harness.rows()] == [0]
    harness = started(lambda s: s.filter((k >= 9) & (k < 20)).window(oop.tumbling(10)).agg(n=oop.count()))
    harness.feed(oop.Punctuation(above={"k": 10}, below={"k": 20, "ts": 10}))
    assert harness.rows() == []


@pytest.mark.parametrize(
    ("column", "low", "high", "expected"),
    [
        (oop.col("k") // 10, 10, 20, "m in [1, 2)"),
        (oop.col("k") // 10, 11, 29, None),
        (oop.col("k") // 10, 11, 40, "m in [2, 4)"),
        (oop.col("k") + 3, 10, 20, "m in [13, 23)"),
        (oop.col("k") * 2, 10, 20, "m in [19, 40)"),
        (-oop.col("k"), 10, 20, None),
        (oop.greatest(oop.col("k"), oop.col("ts")), 10, 20, None),
    ],
)
def test_ranges_cross_increasing_functions(column, low, high, expected):
    harness = Harness(lambda s: s.select(m=column), COLUMNS, punctuate=oop.punctuated(on=["ts", "k"]))
    harness.feed(oop.Punctuation(above={"k": low}, below={"k": high}))
    assert list(map(str, harness.promises())) == ([] if expected is None else [expected])
    harness.push({"ts": list(range(60)), "k": [k for k in range(60) if not low <= k < high] + [-1] * (high - low)})
    given = oop.Frontier.of() if expected is None else oop.Frontier.of(promise(expected))
    assert not any(map(given.covers_row, harness.rows()))


def test_rows_in_a_range_are_late():
    harness = started(lambda s: s)
    harness.rows()
    harness.feed(oop.Punctuation(above={"k": 10}, below={"k": 20, "ts": 9}), oop.Punctuation(where={"k": [1, None]}))
    harness.push({"ts": [8, 9, 8, 8, 8, 8], "k": [10, 10, 20, 9, 1, None]})
    assert [(row["ts"], row["k"]) for row in harness.rows()] == [(9, 10), (8, 20), (8, 9)]
    late = harness.late["input 0"].to_pylist()
    broke = {row["k"]: row["broke"] for row in late}
    assert broke == {10: "ts < 9, k in [10, 20)", 1: "k = 1", None: "k = None"}


def test_ranges_and_lists_of_times_are_written_as_times():
    def day(month):
        return datetime(2008, month, 1)

    rows = pa.record_batch({"ts": [1, 2, 3], "day": pa.array([day(1), day(2), day(3)], pa.timestamp("us"))})
    said = [oop.Punctuation(above={"day": day(2)}, below={"day": day(3)}), oop.Punctuation(where={"day": [day(1)]})]
    stream = oop.source([rows, *said], time="ts", punctuate=oop.punctuated(on=["ts", "day"]), name="days")
    batches = [b.to_pylist() for b in stream.group_by("day").agg(n=oop.count()).run()]
    assert [{row["day"] for row in b} for b in batches] == [{day(1), day(2)}, {day(3)}]


def test_text_has_lists_and_no_ranges():
    rows = pa.record_batch({"ts": [1, 2], "shop": ["A", "B"]})

    def run(said):
        stream = oop.source([rows, said], time="ts", punctuate=oop.punctuated(by="shop"))
        return [b.num_rows for b in stream.group_by("shop").agg(n=oop.count()).run()]

    assert run(oop.Punctuation(where={"shop": ["A", "C"]})) == [1, 1]
    with pytest.raises(ValueError, match="shop: a range is of numbers or times"):
        oop.Punctuation(above={"shop": "A"})
    with pytest.raises(oop.OopError, match="shop"):
        run(oop.Punctuation(above={"shop": 5}))
    with pytest.raises(oop.SchemaMismatch, match=r"a bound or range needs an integer, .* and 'shop' is string"):
        run(oop.Punctuation({"shop": 3}))
    with pytest.raises(oop.OopError, match="7 is not a value"):
        run(oop.Punctuation(where={"shop": ["A", 7]}))


def test_lists_and_ranges_travel_in_arrow_files(tmp_path):
    said = [TILE, oop.Punctuation({"ts": 3}, {"k": [5, None]}), oop.Punctuation(above={"k": 25}, below={"ts": 4})]
    elements = [pa.record_batch(ROWS), *said]
    policy = oop.punctuated(on=["ts", "k"])
    oop.source(elements, time="ts", punctuate=policy).run(to=tmp_path / "rows.arrow")
    again = oop.source(tmp_path / "rows.arrow", time="ts", punctuate=policy)
    found = [e for e in again.run().elements() if isinstance(e, oop.Punctuation)]
    assert oop.Frontier.of(*found[:-1]) == oop.Frontier.of(*said)


def test_groups_beside_a_range_do_not_look_at_each_other(monkeypatch):
    looked = 0
    covers = Corners.covers

    def counting(*args):
        nonlocal looked
        looked += 1
        return covers(*args)

    def steps(groups, range_of):
        nonlocal looked
        frontier, looked = oop.Frontier.of(oop.Punctuation(above={range_of: 7})), 0
        for group in range(groups):
            assert frontier.advance(oop.Punctuation({"ts": 5}, {"link": group, "port": group}))
            assert frontier.advance(oop.Punctuation({"ts": 6}, {"link": group, "port": group}))
        return looked

    monkeypatch.setattr(Corners, "covers", counting)
    for range_of in ("v", "ts"):
        assert steps(400, range_of) < 4.5 * steps(100, range_of)


def test_one_list_is_one_value_on_its_way():
    harness = Harness(lambda s: s.window(oop.tumbling(10)).group_by("k").agg(n=oop.count()), COLUMNS)
    harness.feed(oop.Punctuation({"ts": 10}, {"k": list(range(1_000))}))
    assert oop.Frontier.of(*harness.promises()).bound("window_start", {"k": 999}) == 10


FAR = 2**63
UNSIGNED_PLANS = {
    "groups": lambda s: s.group_by("k").agg(n=oop.count()),
    "windows": lambda s: s.window(oop.tumbling(3)).group_by("k").agg(n=oop.count()),
    "sessions": lambda s: s.window(oop.session(2)).group_by("k").agg(n=oop.count()),
    "dedup": lambda s: s.dedup("k", keep="last"),
    "join": lambda s: s.join(s, on="k", within=(-3, 3), how="left"),
    "each window": lambda s: s.each_window("ts"),
    "filter": lambda s: s.filter(oop.col("k") > 3).group_by("k").agg(n=oop.count()),
}
UNSIGNED_PROMISES = [
    oop.Punctuation({"k": 2}, above={"k": 0}),
    oop.Punctuation({"k": FAR + 9}, above={"k": FAR + 4}),
    oop.Punctuation(above={"k": FAR}),
    oop.Punctuation({"k": 5}),
    oop.Punctuation({"k": FAR + 3}),
    oop.Punctuation({"ts": 5, "k": FAR + 6}),
    oop.Punctuation({"ts": 9, "k": FAR + 6}, above={"k": 3}),
]


@pytest.mark.parametrize("name", UNSIGNED_PLANS)
def test_ranges_of_keys_beyond_all_times(name):
    """A uint64 key need not fit a signed number, as a time must: the answer is that for small keys."""

    def rows_of(base):
        def put(promise):
            def moved(bounds):
                return {a: b + base - FAR if a == "k" and b >= FAR else b for a, b in bounds.items()}

            ranges = dict(promise.where)
            return oop.Punctuation(
                {**moved(promise.below), **moved({a: p.high for a, p in ranges.items() if p.high is not None})},
                above=moved({a: p.low for a, p in ranges.items()}),
            )

        def batch(ts, k):
            far = [None if v is None else base + v - 100 if v > 100 else v for v in k]
            return pa.record_batch({"ts": ts, "k": pa.array(far, pa.uint64())})

        for said in UNSIGNED_PROMISES:
            elements = [batch([1, 2, 3, 4], [1, 105, None, 105]), put(said), batch([7, 8, 9], [7, 105, 102])]
            s = oop.source(elements, time="ts", punctuate=oop.punctuated(by="k"))
            run = UNSIGNED_PLANS[name](s).run(oop.Embedded(check=True))
            rows = run.to_table().to_pylist()
            yield (
                sorted(str({c: v - base if v and v >= base else v for c, v in r.items()}) for r in rows),
                len(run.late),
            )

    assert list(rows_of(FAR)) == list(rows_of(1000))
