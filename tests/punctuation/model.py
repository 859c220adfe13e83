"""A brute-force model: a frontier is a list of promises, a row is late iff one of them matches it.

The universe of rows is finite, yet decides what holds for all rows: below, between and above the bounds and
the named times that the strategies draw there is a time that no promise names, and "Z" stands for the groups
that none names. A set of rows is an integer with a bit for each row.
"""

import functools
import itertools
import math
import operator

from hypothesis import strategies as st

from oop.punctuation import Equal, NotIn, Punctuation

NAN = float("nan")
TIMES = (-1, 0, 0.5, 1, 1.5, 2, 3, math.inf, None, NAN)
GROUPS = ("A", "B", None, NAN, "Z")
COLUMNS = {"ts": TIMES, "ts_right": TIMES, "link": GROUPS, "proto": GROUPS}
BOUNDS = (0, 1, 2, math.inf)
NAMED = {"link": ("A", "B", None, NAN), "proto": ("A", "B", None, NAN), "ts": (0, 1, 2, None, NAN)}

ROWS = [dict(zip(COLUMNS, row, strict=True)) for row in itertools.product(*COLUMNS.values())]
EVERY_ROW = (1 << len(ROWS)) - 1


def is_nan(value):
    return isinstance(value, float) and math.isnan(value)


def same(a, b):
    """Equality of groups: null and NaN equal themselves."""
    return (is_nan(a) and is_nan(b)) or a == b


def below(value, bound):
    return value is not None and not is_nan(value) and value < bound


@functools.cache
def _where(column, test, *values):
    """The rows whose value passes the test."""
    tests = {
        "<": lambda v: below(v, values[0]),
        "=": lambda v: same(v, values[0]),
        "not in": lambda v: not any(same(v, w) for w in values),
    }
    passed = [v for v in COLUMNS[column] if tests[test](v)]  # the very objects, NaN among them
    return sum(1 << i for i, row in enumerate(ROWS) if any(row[column] is v for v in passed))


def rows_below(corner):
    return functools.reduce(operator.and_, (_where(a, "<", b) for a, b in corner.items()), EVERY_ROW)


def rows_with(values):
    return functools.reduce(operator.and_, (_where(c, "=", v) for c, v in values.items()), EVERY_ROW)


def rows_of(promise):
    """The rows that match a promise."""
    rows = rows_below(promise.below)
    for column, pattern in promise.where.items():
        if isinstance(pattern, NotIn):
            rows &= _where(column, "not in", *sorted(pattern.values, key=repr))
        else:
            rows &= _where(column, "=", pattern.value)
    return rows


def late(promises):
    """The rows that match any of the promises."""
    return functools.reduce(operator.or_, map(rows_of, promises), 0)


def _subsets(values, most):
    return [s for n in range(1, most + 1) for s in itertools.combinations(values, n)]


def _corners(attributes):
    """Bounds on none, some or all of the attributes."""
    choices = itertools.product((None, *BOUNDS), repeat=len(attributes))
    return [{a: b for a, b in zip(attributes, c, strict=True) if b is not None} for c in choices]


def _wheres(columns, kinds=("=", "not in")):
    """A pattern on each of the columns."""
    patterns = [
        [Equal(v) for v in NAMED[c]] + [NotIn(s) for s in _subsets(NAMED[c], 2) if "not in" in kinds] for c in columns
    ]
    return [dict(zip(columns, chosen, strict=True)) for chosen in itertools.product(*patterns)]


def _pool(attributes, columns, kinds=("=", "not in")):
    """All promises with bounds on some of the attributes and a pattern on each column: quick to draw."""
    found = itertools.product(_corners(attributes), _wheres(columns, kinds))
    return st.sampled_from([Punctuation(corner, where) for corner, where in found])


_times = ("ts", "ts_right")
_ungrouped = _pool(_times, ())
_one = [_pool(_times, ("link",)), _pool(_times, ("proto",))]
_two = _pool(_times, ("link", "proto"))
_named_times = {
    kinds: [_pool(("ts_right",), ("ts",), kinds), _pool(("ts_right",), ("ts", "link"), kinds)]
    for kinds in [("=",), ("=", "not in")]
}

bounds = st.sampled_from(BOUNDS)
corners = st.sampled_from(_corners(_times))


def promises(time=("=", "not in")):
    """Promises of all kinds; ``time`` says which patterns other than ``<`` may stand on a time attribute."""
    return st.one_of(_ungrouped, *_one, _two, *(_named_times[time] if time else ()))


def lists(promise, size=6):
    return st.lists(promise, max_size=size)
