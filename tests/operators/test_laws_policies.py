"""The laws of sources with policies of every kind, in all and by group, and of the windows behind them."""

from __future__ import annotations

from contextlib import nullcontext

import pytest

import oop
from oop.testing import check_operator
from tests.operators import fuzz
from tests.operators.fuzz import CASES, TIMES
from tests.operators.test_laws import each, some_threads
from tests.punctuation import naive


@pytest.mark.parametrize(
    "policy",
    [
        oop.ordered(),
        oop.slack(5),
        oop.slack(5, every=4),
        oop.slack(rows=3),
        oop.slack(5, by="link"),
        oop.slack(5, by="link", groups=["A", "B", "C"]),
        oop.slack(5, by="link", idle=9),
        oop.slack(5, by=["link", "k"]),
        oop.slack(rows=1, by=["k", "link"], groups=[(1, "A"), (None, "B"), (2, None)]),
        oop.slack(5, by=["link", "k"], idle=9),
        oop.ordered(by=["x", "link"], idle=9),
        oop.at_end(),
        {"ts": oop.slack(5), "v": oop.slack(2**60)},
    ],
    ids=str,
)
def test_source_policies_do_not_depend_on_batches(policy):
    def case(rng, seed):
        elements = [e for e in fuzz.random_stream(rng, TIMES["int64"]) if not isinstance(e, oop.Punctuation)]
        check_operator(lambda s: s, elements, seed=seed, punctuate=policy)

    each(range(CASES // 5), case)


@pytest.mark.parametrize("window", [oop.tumbling(5), oop.sliding(9, every=4)], ids=str)
@pytest.mark.parametrize(
    "policy",
    [
        oop.slack(5, by="link"),
        oop.slack(5, by="link", groups=["A", "B", "C", None]),
        oop.slack(5, by="link", idle=9),
        oop.slack(5, by=["link", "k"]),
        oop.slack(5, by=["link", "k"], groups=[(link, k) for link in ("A", "B", "C", None) for k in (1, 2, None)]),
        oop.slack(rows=1, by=["k", "link"], idle=9),
    ],
    ids=["by", "groups", "idle", "by two", "groups of two", "idle of two"],
)
def test_windows_under_group_wise_policies(policy, window):
    """Promises of all groups come in a row, as trains. The groups of a window are those that have promises, fewer of
    them, or more."""

    def case(rng, seed):
        elements = fuzz.cut_rows(rng, fuzz.random_stream(rng, TIMES["int64"]))
        keys = list(policy.columns) if len(policy.columns) == 1 or not policy.promises_rest else ["link"]
        keys = rng.choice([keys, ["link", "k"]])
        run = oop.source(elements, time="ts", punctuate=policy).run()
        kept = [r for b in run for r in b.to_pylist()]
        range_, slide = (5, 5) if window.kind == "tumbling" else (9, 4)
        wanted = {"n": oop.count()}
        rows = fuzz.window_rows(fuzz.placed(kept, range_, slide, 0), keys, range_, slide, 0, TIMES["int64"], wanted)
        check_operator(
            lambda s: s.window(window).group_by(*keys).agg(**wanted),
            elements,
            seed=seed,
            punctuate=policy,
            threads=some_threads(rng),
            expected=rows,
        )

    each(range(CASES // (5 * len(policy.columns))), case)


@pytest.mark.parametrize("late", ["drop", "raise"])
@pytest.mark.parametrize("time", ["int64", "float64", "date"])
def test_rows_are_late_by_their_group_whatever_its_columns(time, late):
    """A row is late iff it is under the bound that the rows before it imply for its group: against the model, with few
    groups and many, of every type of column, one row a batch and all at once."""

    def case(rng, seed):
        rows, schema, columns = fuzz.grouped_rows(rng, TIMES[time])
        known = list(dict.fromkeys(naive.key(tuple(row[c] for c in columns)) for row in rows))
        grouping = rng.choice(
            [{}, {"idle": rng.choice([1, 6, 20])}, {"groups": rng.sample(known, (len(known) + 1) // 2)}]
        )
        n = rng.choice([0, 1, 3])
        how, bound_of = rng.choice([({"rows": n}, naive.behind_rows(n)), ({"bound": n}, naive.behind(n))])
        events = [(row["ts"], tuple(row[c] for c in columns)) for row in rows]
        before, _, _ = naive.grouped(events, bound_of, **grouping)
        bad = [b is not None and row["ts"] < b for row, b in zip(rows, before, strict=True)]
        table = fuzz.batch(rows, schema)
        if "groups" in grouping:
            grouping = {"groups": [fuzz.from_key(g) for g in grouping["groups"]]}
        by = columns if len(columns) > 1 else columns[0]
        for size in (1, 5, len(rows)):
            batches = [table.slice(i, size) for i in range(0, len(rows), size)]
            policy = oop.slack(**how, by=by, **grouping)
            run = oop.source(batches, time="ts", punctuate=policy, late=late, schema=schema, name="in").run()
            if late == "raise":
                kept = 0
                with pytest.raises(oop.LateRow) if any(bad) else nullcontext():
                    for piece in run:
                        kept += piece.num_rows
                assert kept == (bad.index(True) if any(bad) else len(rows))
                continue
            assert run.to_table().num_rows == len(rows) - sum(bad)
            assert run.late["in"]["v"].to_pylist() == [row["v"] for row, b in zip(rows, bad, strict=True) if b]

    each(range(CASES // 5), case)
