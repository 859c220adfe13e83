"""Policies at a source: what they promise, and which rows that makes late."""

import itertools
import json
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from oop.punctuation import (
    Frontier,
    Punctuation,
    at_end,
    ordered,
    progress_groups,
    punctuated,
    slack,
    timer,
    trackers,
)
from oop.punctuation.durations import NANOSECONDS, in_units
from oop.punctuation.encoding import dumps, loads
from tests.punctuation import naive

MANY = settings(max_examples=300, deadline=None)
NAN = float("nan")

GROUPS = ("A", "B", 3, 1.5, None, NAN)
KNOWN = ("A", 3, NAN)
UNSEEN = "Z"
PAIRS = (("A", 6), ("A", None), ("B", 6), (None, NAN), (None, 6), ("B", NAN))
KNOWN_PAIRS = (("A", 6), (None, float("nan")), ("B", 6))  # a NaN of its own
BOTH = {"by": ["link", "proto"]}
VECTORS = json.loads((Path(__file__).parents[1] / "vectors" / "slack_punct.json").read_text(encoding="utf-8"))

times = st.one_of(st.integers(0, 25), st.integers(0, 50).map(lambda t: t / 2), st.sampled_from([None, NAN]))
rows = st.lists(st.tuples(times, st.sampled_from(GROUPS)), max_size=30)
bounds_of = st.one_of(
    st.integers(0, 8).map(lambda s: ({"bound": s}, naive.behind(s))),
    st.integers(0, 3).map(lambda n: ({"rows": n}, naive.behind_rows(n))),
)
idles = [{}, {"idle": 1}, {"idle": 4}, {"idle": 12}]
groupings = st.sampled_from([{"groups": KNOWN}, *idles])
pair_groupings = st.sampled_from([{"groups": KNOWN_PAIRS}, *idles])
everies = st.sampled_from([None, 1, 3, 2.5])
data_policies = st.builds(
    lambda how, grouping, every: slack(**how[0], by="link", **grouping, every=every),
    bounds_of,
    groupings,
    everies,
)
linear_policies = st.builds(lambda how, every: slack(**how[0], every=every), bounds_of, everies)
timers = st.builds(
    lambda every, lull, late, by: timer(every, lull, late, **by),
    st.integers(1, 4),
    st.integers(0, 10),
    st.integers(0, 5),
    st.one_of(st.just({}), groupings.map(lambda g: {"by": "link", **g})),
)
policies = st.one_of(linear_policies, data_policies, timers)
readings = st.integers(0, 40)
events = st.lists(st.one_of(st.tuples(times, st.sampled_from(GROUPS)), readings), max_size=30)


def feed(progress, events):
    """Rows go in one by one, readings of the clock tick: the bound before each row."""
    before = []
    for event in events:
        if isinstance(event, tuple):
            before += progress.observe([event[0]], [event[1]])
        else:
            progress.tick(event)
    return before


def frontier_of(progress):
    return Frontier.of(*progress.promises())


def is_late(value, bound):
    return naive.has_time(value) and bound is not None and value < bound


# What the rows imply


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


# Laws of all policies


@settings(max_examples=500, deadline=None)
@given(policies, events, st.data())
def test_no_row_on_time_matches_a_promise_already_given(policy, events, data):
    progress, given_ = policy.start("ts"), Frontier()
    for event in events:
        bounds = feed(progress, [event])
        if bounds and not is_late(event[0], bounds[0]):
            assert not given_.covers_row({"ts": event[0], "link": event[1]})
        if data.draw(st.booleans()):
            for promise in progress.promises():
                given_.advance(promise)


@MANY
@given(policies, events)
def test_bounds_never_retreat(policy, events):
    progress = policy.start("ts")
    last = {}
    for event in events:
        if isinstance(event, tuple):
            group = naive.key(event[1]) if policy.by else ""
            (bound,) = feed(progress, [event])
            assert last.get(group) is None or bound >= last[group]
            last[group] = bound
        else:
            progress.tick(event)


@MANY
@given(st.one_of(linear_policies, data_policies), rows, st.lists(st.integers(0, 30), max_size=5))
def test_lateness_does_not_depend_on_batches_or_on_when_promises_are_asked_for(policy, rows, cuts):
    values, groups = [v for v, _ in rows], [g for _, g in rows]
    once, cut = policy.start("ts"), policy.start("ts")
    before, edges = [], [0, *sorted(min(c, len(rows)) for c in cuts), len(rows)]
    for start, stop in itertools.pairwise(edges):
        before += cut.observe(values[start:stop], groups[start:stop])
        list(cut.promises())
    assert before == once.observe(values, groups)


@MANY
@given(st.one_of(linear_policies, data_policies), rows, st.data())
def test_late_rows_and_rows_without_a_time_change_nothing(policy, rows, data):
    whole, clean = policy.start("ts"), policy.start("ts")
    for value, group in rows:
        (bound,) = whole.observe([value], [group])
        if naive.has_time(value) and not is_late(value, bound):
            assert clean.observe([value], [group]) == [bound]
        if data.draw(st.booleans()):
            assert list(whole.promises()) == list(clean.promises())


@pytest.mark.parametrize("through", ["itself", "json"])
@MANY
@given(policies, events, st.integers(0, 30), st.data())
def test_state_and_restore_at_any_point_change_nothing(through, policy, events, at, data):
    progress = policy.start("ts")
    feed(progress, events[:at])
    if data.draw(st.booleans()):
        list(progress.promises())
    state = progress.state()
    again = policy.start("ts")
    again.restore(json.loads(json.dumps(state)) if through == "json" else state)
    for event in events[at:]:
        assert feed(again, [event]) == feed(progress, [event])
        assert list(again.promises()) == list(progress.promises())


@MANY
@given(policies, events, events, events, st.booleans())
def test_what_came_since_a_mark_can_be_forgotten(policy, before, since, after, asked):
    """As if it had never come: compared with the policy's state at the mark."""
    progress, again = policy.start("ts"), policy.start("ts")
    feed(progress, before)
    given_ = [Frontier.of(*(progress.promises() if asked else ()))]
    again.restore(progress.state())
    given_.append(given_[0].copy())
    mark = progress.mark()
    feed(progress, [event for event in since if isinstance(event, tuple)])
    progress.rewind(mark)
    for event in [None, *after]:
        if event is not None:
            assert feed(progress, [event]) == feed(again, [event])
        for frontier, policy_ in zip(given_, (progress, again), strict=True):
            for promise in policy_.promises():
                frontier.advance(promise)
        assert given_[0] == given_[1]


@MANY
@given(bounds_of, st.sampled_from([1, 3, 2.5]), rows, st.data())
def test_every_gives_one_promise_for_each_step_of_the_grid(how, every, rows, data):
    arguments, bound_of = how
    progress = slack(**arguments, every=every).start("ts")
    promised = []
    for n, (value, _) in enumerate(rows):
        progress.observe([value])
        if not data.draw(st.booleans()):
            continue
        promised += [p.below["ts"] for p in progress.promises()]
        bound = naive.linear(rows[: n + 1], bound_of)[1]
        if bound is None:
            assert not promised
        else:
            assert promised[-1] <= bound
            assert promised[-1] // every == bound // every
    assert all(a // every < b // every for a, b in itertools.pairwise(promised))


@MANY
@given(data_policies.filter(lambda p: p.every is not None), rows)
def test_every_by_group_delays_promises_by_less_than_a_step(policy, rows):
    """Compared with the same policy that promises at once."""
    slow, prompt = policy.start("ts"), type(policy)(**{**vars(policy), "every": None}).start("ts")
    given_, all_ = Frontier(), Frontier()
    for value, group in rows:
        assert slow.observe([value], [group]) == prompt.observe([value], [group])
        for promise in prompt.promises():
            all_.advance(promise)
        for promise in slow.promises():
            assert given_.advance(promise)
        for g in (*GROUPS, UNSEEN):
            late, soon = (f.bound("ts", {"link": g}) for f in (given_, all_))
            assert (late is None) == (soon is None)
            assert late is None or (late <= soon and late // policy.every == soon // policy.every)


# Memory


@pytest.mark.parametrize("policy", [slack(2, by="k", idle=5), timer(1, 50, 2, by="k", idle=5)], ids=str)
def test_retired_groups_are_forgotten(policy):
    progress = policy.start("ts")
    for t in range(300):
        progress.observe([t], [t])
        progress.tick(t)
        list(progress.promises())
    assert max(len(part) for part in progress.state().values()) < 20


# Values


@pytest.mark.parametrize("policy", [at_end(), punctuated(), punctuated(on="end")], ids=str)
def test_policies_that_look_at_no_row_promise_nothing(policy):
    progress = policy.start("ts")
    assert progress.observe([3, 1]) == [None, None]
    assert list(progress.promises()) == []
    assert not policy.is_data_driven


@pytest.mark.parametrize(
    "make",
    [
        lambda: slack(),
        lambda: slack(5, rows=3),
        lambda: slack(rows=-1),
        lambda: slack(rows=True),
        lambda: slack(rows=1.5),
        lambda: ordered(groups=["A"]),
        lambda: ordered(idle=5),
        lambda: ordered(by="link", groups=["A"], idle=5),
        lambda: ordered(by="link", groups="AB"),
        lambda: ordered(by="link", groups=[]),
        lambda: punctuated(on=[]),
        lambda: ordered(by=[]),
        lambda: ordered(by=5),
        lambda: ordered(by=["link", 5]),
        lambda: ordered(by=["link", "link"]),
        lambda: punctuated(by=["link", "link"]),
        lambda: ordered(by=["link", "proto"], groups=["A", "B"]),
        lambda: ordered(by=["link", "proto"], groups=["AB"]),
        lambda: ordered(by=["link", "proto"], groups=[("A", 6), ("A", 6, 1)]),
        lambda: ordered(by=["link", "proto"], groups=[{"link": "A"}]),
        lambda: ordered(by=["link", "proto"], groups=[{"link": "A", "proto": 6, "k": 1}]),
        lambda: ordered(by="link", groups=[{"proto": 6}]),
    ],
)
def test_arguments_that_make_no_sense_are_refused(make):
    with pytest.raises(ValueError, match=r"\w+"):
        make()


@pytest.mark.parametrize(
    "policy",
    [
        slack(-1),
        slack("-1s"),
        ordered(every=0),
        ordered(by="k", idle="0s"),
        timer("1s", lull=-1),
        timer(1, 1, "-1s"),
    ],
)
def test_durations_of_the_wrong_sign_are_refused(policy):
    with pytest.raises(ValueError, match=r"negative|greater than 0"):
        policy.in_units(lambda d: in_units(d, NANOSECONDS["s"]))


@pytest.mark.parametrize(
    "policy",
    [
        slack("5s"),
        ordered(every="1s"),
        ordered(by="k", idle="1s"),
        timer("1s", 5),
        timer(1, "5s"),
        timer(1, 5, "5s"),
        timer(1, 5, by="k", idle="5s"),
    ],
    ids=str,
)
def test_a_policy_starts_only_when_its_durations_are_numbers(policy):
    with pytest.raises(ValueError, match="in_units"):
        policy.start("ts")
    policy.in_units(lambda d: in_units(d, NANOSECONDS["s"])).start("ts")


def test_a_list_of_one_column_is_its_name():
    for make in (ordered, lambda **by: slack(5, **by), lambda **by: slack(rows=2, **by), punctuated):
        assert make(by=["link"]) == make(by="link")
        assert str(make(by=["proto", "link"])).endswith("by link, proto")
    assert ordered(by=["link"], groups=["A"]) == ordered(by="link", groups=[{"link": "A"}])
    assert slack(5, by=["proto", "link"], groups=[(6, "A")]) == slack(5, **BOTH, groups=[{"proto": 6, "link": "A"}])


# Cases from elsewhere


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


def test_a_group_has_one_tracker_however_many_batches_it_is_in(monkeypatch):
    made = []

    def tracker(policy):
        made.append(policy)
        return trackers.Greatest(5)

    monkeypatch.setattr(type(slack(5)), "tracker", tracker)
    groups = progress_groups.GroupedProgress(slack(5, by="link"), "ts")
    for _ in range(10):
        assert groups.active(["A", "B"]) == [groups.trackers["A"], groups.trackers["B"]]
    assert len(made) == 2
