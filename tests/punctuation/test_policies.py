"""Policies at a source promise what the rows before imply, in all and by group, and as cases from elsewhere say."""

import itertools
import json
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from oop.punctuation import Frontier, Punctuation, ordered, slack, timer
from oop.punctuation.encoding import dumps, loads
from tests.punctuation import naive
from tests.punctuation.drawn import (
    BOTH,
    GROUPS,
    MANY,
    NAN,
    PAIRS,
    UNSEEN,
    bounds_of,
    data_policies,
    events,
    feed,
    frontier_of,
    groupings,
    pair_groupings,
    rows,
    timers,
    times,
)

VECTORS = json.loads((Path(__file__).parents[1] / "vectors" / "slack_punct.json").read_text(encoding="utf-8"))


@MANY
@given(rows, bounds_of)
def test_slack_is_what_the_rows_before_imply(rows, how):
    arguments, bound_of = how
    progress = slack(**arguments).start("ts")
    before, bound = naive.linear(rows, bound_of)
    assert progress.observe([v for v, _ in rows]) == before
    assert frontier_of(progress).bound("ts") == bound


@settings(max_examples=500, deadline=None)
@given(rows, bounds_of, groupings)
@example([(1, "B"), (5, "A"), (6, "A"), (20, "B"), (3, "A")], ({"rows": 2}, naive.behind_rows(2)), {"idle": 4})
@example([(None, "A"), (5, "B")], ({"bound": 0}, naive.behind(0)), {"idle": 4})
def test_slack_by_group_is_what_the_rows_before_imply(rows, how, grouping):
    arguments, bound_of = how
    progress = slack(**arguments, by="link", **grouping).start("ts")
    frontier = Frontier()
    for n, (value, group) in enumerate(rows):
        before, owns, rest = naive.grouped(rows[: n + 1], bound_of, **grouping)
        assert progress.observe([value], [group]) == before[-1:]
        for promise in progress.promises():
            assert frontier.advance(promise)
        assert frontier.bound("ts") == frontier.bound("ts", {"link": UNSEEN}) == rest
        for g in GROUPS:
            if naive.key(g) in owns:
                assert frontier.bound("ts", {"link": g}) == owns[naive.key(g)]


@MANY
@given(st.lists(st.tuples(times, st.sampled_from(PAIRS)), max_size=30), bounds_of, pair_groupings, st.booleans())
def test_slack_by_two_columns_is_what_the_rows_before_imply(rows, how, grouping, turned):
    """A group is a pair of values; in which order the columns were written makes no difference."""
    arguments, bound_of = how
    by = {"by": ["proto", "link"]} if turned else BOTH
    known = {"groups": [pair[::-1] for pair in grouping["groups"]]} if turned and "groups" in grouping else grouping
    progress = slack(**arguments, **by, **known).start("ts")
    frontier = Frontier()
    for n, (value, group) in enumerate(rows):
        before, owns, rest = naive.grouped(rows[: n + 1], bound_of, **grouping)
        assert progress.observe([value], [group]) == before[-1:]
        for promise in progress.promises():
            assert frontier.advance(promise)
        assert frontier.bound("ts") == frontier.bound("ts", {"link": "A", "proto": UNSEEN}) == rest
        for link, proto in PAIRS:
            if naive.key((link, proto)) in owns:
                assert frontier.bound("ts", {"link": link, "proto": proto}) == owns[naive.key((link, proto))]


@MANY
@given(events, st.integers(1, 4), st.integers(0, 10), st.integers(0, 5))
def test_a_timer_promises_what_its_last_tick_saw(events, every, lull, late):
    progress = timer(every, lull, late).start("ts")
    before, bound = naive.timer(events, every, lull, late)
    assert feed(progress, events) == before
    assert frontier_of(progress).bound("ts") == bound


@settings(max_examples=500, deadline=None)
@given(events, st.integers(1, 4), st.integers(0, 10), st.integers(0, 5), groupings)
@example([(9, "A"), 9, (20, "A"), (10, "B"), 13, (11, "B")], 1, 9, 0, {"idle": 30})
@example([(20, "A"), 5, (15, "B")], 1, 0, 0, {})
def test_a_timer_by_group_promises_what_its_last_tick_saw(events, every, lull, late, grouping):
    progress = timer(every, lull, late, by="link", **grouping).start("ts")
    frontier = Frontier()
    for n, event in enumerate(events):
        before, owns, rest = naive.timer_by(events[: n + 1], every, lull, late, **grouping)
        assert feed(progress, [event]) == (before[-1:] if isinstance(event, tuple) else [])
        for promise in progress.promises():
            assert frontier.advance(promise)
        assert frontier.bound("ts") == frontier.bound("ts", {"link": UNSEEN}) == rest
        for g in GROUPS:
            assert frontier.bound("ts", {"link": g}) == owns.get(naive.key(g), rest)


def as_pairs(events):
    """The same events with groups of two columns: what tells groups apart is in one of them, or in both."""
    table = {naive.key(g): pair for g, pair in zip(GROUPS, PAIRS, strict=True)}
    return [(e[0], table[naive.key(e[1])]) if isinstance(e, tuple) else e for e in events]


@MANY
@given(st.one_of(data_policies, timers.filter(lambda p: p.by is not None)), events, st.integers(0, 30))
def test_groups_of_two_columns_are_judged_as_those_of_one(policy, events, at):
    """Whatever the policy: only the names of the groups differ. It is saved and restored on the way, as JSON."""
    single = policy.start("ts")
    groups = None if policy.groups is None else tuple(p for _, p in as_pairs([(0, g) for g in policy.groups]))
    both = replace(policy, by=("link", "proto"), groups=groups)
    pairs = both.start("ts")
    for n, (event, twin) in enumerate(zip(events, as_pairs(events), strict=True)):
        assert feed(pairs, [twin]) == feed(single, [event])
        for one, two in itertools.zip_longest(single.promises(), pairs.promises()):
            assert one.below == two.below
            assert len(two.where) == 2 * len(one.where)
        if n == at:
            state, pairs = pairs.state(), both.start("ts")
            pairs.restore(loads(dumps(state)))


def test_the_rest_never_advances_without_groups_or_idle():
    progress = ordered(by="link").start("ts")
    progress.observe(range(100), ["A", "B"] * 50)
    assert list(progress.promises()) == [Punctuation({"ts": g}, {"link": k}) for g, k in ((98, "A"), (99, "B"))]
    assert not ordered(by="link").promises_rest


def test_rows_of_a_group_that_is_not_known_hold_nothing_back():
    progress = ordered(by="link", groups=["A"]).start("ts")
    assert progress.observe([5, 3, 9, 4], ["A", "?", "?", "?"]) == [None, 5, 5, 5]
    assert list(progress.promises()) == [Punctuation({"ts": 5})]


def test_a_group_that_returns_resumes_at_the_rest():
    progress = ordered(by="link", idle=10).start("ts")
    before = progress.observe([0, 5, 20, 4, 12, 20, 25], ["A", "B", "B", "A", "A", "A", "A"])
    assert before == [None, 0, 5, 20, 20, 20, 20]


def test_a_group_that_returns_keeps_what_was_promised_about_it():
    """B has too few rows for a bound, so that the rest has none when A retires."""
    progress = slack(rows=2, by="link", idle=20).start("ts")
    progress.observe([1, 5, 6, 7], ["B", "A", "A", "A"])
    assert list(progress.promises()) == [Punctuation({"ts": 5}, {"link": "A"})]
    assert progress.observe([30, 3, 5], ["B", "A", "A"]) == [None, 5, 5]


def test_a_timer_gives_a_group_that_comes_between_two_ticks_its_slack():
    progress = timer(1, lull=100, slack=3, by="link", idle=30).start("ts")
    feed(progress, [(9, "A"), 0, (20, "A")])
    assert feed(progress, [(10, "B"), 1, (8, "B")]) == [6, 7]


def test_a_timer_without_groups_or_idle_promises_unseen_groups_the_lull_alone():
    progress = timer(1, lull=2, by="link").start("ts")
    assert feed(progress, [(20, "A"), 5, (15, "B"), (15, "A")]) == [None, 3, 20]
    assert frontier_of(progress).bound("ts", {"link": UNSEEN}) == 3


def test_rows_without_a_time_neither_stop_a_policy_nor_make_a_group_active():
    assert slack(1).start("ts").observe([None, NAN, 5, None, NAN, 3]) == [None, None, None, 4, 4, 4]
    progress = ordered(by="link", idle=4).start("ts")
    progress.observe([None, NAN, 5], ["A", "A", "B"])
    assert list(progress.promises()) == [Punctuation({"ts": 5})]


@pytest.mark.parametrize("case", VECTORS, ids=lambda case: case["id"])
def test_vectors(case):
    """slack 5; with a clock, which then starts at 7: a timer whose lull is the slack."""
    late, now = case["params"]["slack"], 7
    policy = timer(every=1, lull=late, slack=late) if case["params"].get("clock") else slack(late)
    progress = policy.start("ts")
    for step in case["steps"]:
        if "in" in step:
            progress.observe([step["ts"]])
        elif "clock_advance" in step:
            now += step["clock_advance"]
        else:
            progress.tick(now)
            assert [p.below["ts"] for p in progress.promises()] == step["expect_punct"]
