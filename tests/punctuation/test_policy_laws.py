"""Laws of all policies: what was promised holds, whatever the batches, wherever it is saved; groups are forgotten."""

import itertools
import json

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from oop.punctuation import Frontier, progress_groups, slack, timer, trackers
from tests.punctuation import naive
from tests.punctuation.drawn import (
    GROUPS,
    MANY,
    UNSEEN,
    bounds_of,
    data_policies,
    events,
    feed,
    is_late,
    linear_policies,
    policies,
    rows,
)

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
    """As if it had never come: compared with the state that it remembered."""
    progress, again = policy.start("ts"), policy.start("ts")
    feed(progress, before)
    given_ = [Frontier.of(*(progress.promises() if asked else ()))]
    again.restore(progress.state())
    given_.append(given_[0].copy())
    there = progress.remember()
    feed(progress, [event for event in since if isinstance(event, tuple)])
    progress.go_back(there)
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
