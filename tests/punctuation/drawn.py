"""Policies, rows and readings of a clock that Hypothesis draws, and how a running policy is fed with them."""

from hypothesis import settings
from hypothesis import strategies as st

from oop.punctuation import Frontier, slack, timer
from tests.punctuation import naive

MANY = settings(max_examples=300, deadline=None)
NAN = float("nan")

GROUPS = ("A", "B", 3, 1.5, None, NAN)
KNOWN = ("A", 3, NAN)
UNSEEN = "Z"
PAIRS = (("A", 6), ("A", None), ("B", 6), (None, NAN), (None, 6), ("B", NAN))
KNOWN_PAIRS = (("A", 6), (None, float("nan")), ("B", 6))  # a NaN of its own
BOTH = {"by": ["link", "proto"]}


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
