"""Policies by group take steps by what changes, not by all groups that there are."""

import pytest

from oop.punctuation import Interest, ordered, slack, timer
from oop.punctuation.above import Above
from oop.punctuation.interest import Gate
from oop.punctuation.slowest import Slowest
from tests.punctuation.counting import growth

LINEAR = 2.7  # of twice the rows: 2, and some room for a logarithm; a square would be 4
FOR_EVER = 10**9
MAKERS = {
    "by": lambda by, groups: slack(5, by=by),
    "idle for ever": lambda by, groups: slack(5, by=by, idle=FOR_EVER),
    "idle": lambda by, groups: slack(5, by=by, idle=20),
    "groups": lambda by, groups: slack(5, by=by, groups=groups),
    "ordered": lambda by, groups: ordered(by=by, idle=FOR_EVER),
    "rows": lambda by, groups: slack(rows=1, by=by, idle=50),
    "rows, groups": lambda by, groups: slack(rows=1, by=by, groups=groups),
    "every": lambda by, groups: slack(5, 10, by=by, idle=FOR_EVER),
    "timer": lambda by, groups: timer(1, 50, 2, by=by, idle=FOR_EVER),
    "timer, idle": lambda by, groups: timer(1, 50, 2, by=by, idle=20),
}
BY = {"one column": ("k", lambda i: i), "two columns": (["k", "l"], lambda i: (i, -i))}


def rows_of(shape, count):
    """Which group each row is of: a new one each, or all groups in turn so that the slowest changes with each row."""
    return list(range(count)) if shape == "new" else [i % (count // 4) for i in range(count)]


@pytest.mark.parametrize("shape", ["new", "turns"])
@pytest.mark.parametrize(
    ("name", "by"), [*((name, "one column") for name in MAKERS), *((n, "two columns") for n in ("idle", "groups"))]
)
def test_one_row_a_batch_takes_as_many_steps_however_many_groups_there_are(name, by, shape):
    columns, group = BY[by]

    def work(count):
        groups = [group(i) for i in rows_of(shape, count)]
        progress = MAKERS[name](columns, groups).start("ts")
        gate = Gate([Interest("ts", lambda bound: bound // 10, by=())])

        def run():
            for ts, which in enumerate(groups):
                progress.observe([ts], [which])
                progress.tick(ts)
                list(gate.through(progress.together()))

        return run

    assert growth(work, 48) < LINEAR


@pytest.mark.parametrize("name", ["by", "idle", "idle for ever", "rows, groups"])
def test_going_back_takes_steps_by_what_changed(name):
    """As it does for each batch where a late row is an error."""

    def work(count):
        groups = rows_of("turns", count)
        progress = MAKERS[name]("k", groups).start("ts")

        def run():
            for ts, which in enumerate(groups):
                there = progress.remember()
                progress.observe([ts], [which])
                progress.go_back(there)
                progress.observe([ts], [which])
                list(progress.together())

        return run

    assert growth(work, 48) < LINEAR


def test_what_has_left_a_heap_does_not_stay_in_it():
    """Groups that retire and come back while another one, of few rows, keeps anybody from looking for the slowest."""
    progress = slack(rows=2, by="k", idle=5).start("ts")
    for t in range(600):
        progress.observe([t, t, t, t, t], ["few" if t % 3 == 0 else "A", *"BBB", f"C{t % 20}"])
        list(progress.promises())
    assert len(progress._by_bound) < 100
    assert len(progress._by_greatest) < 100


def test_a_heap_forgets_entries_of_those_who_left():
    least = Slowest()
    for i in range(500):
        least.enter("A", i)
        least.leave("A")
    assert len(least) < 40
    least.enter("A", 7)
    least.enter("B", 9)
    assert least.find({"A": 7, "B": 9}.get) == ("A", 7)


def test_bounds_that_the_floor_has_passed_are_thrown_away_by_and_by():
    bounds = Above()
    for i in range(1_000):
        bounds.update({i: i + 3})
        bounds.raise_to(i)
        assert dict(bounds.items()) == {j: j + 3 for j in range(max(0, i - 2), i + 1)}
        assert [bounds.at(j) for j in (0, i, "other")] == [max(3, i), i + 3, i]
    assert len(bounds) < 40


def test_what_is_held_to_be_rolled_up_is_dropped_once_it_is_promised_of_all():
    progress, gate = slack(2, by="k", idle=5).start("ts"), Gate([Interest("ts", by=())])
    for t in range(500):
        progress.observe([t], [t])
        list(gate.through(progress.together()))
    assert len(list(gate.held.promises())) < 20
