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

from oop.punctuation import Equal, In, NotIn, Punctuation, Range

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


def is_number(value):
    return value is not None and not is_nan(value)


def below(value, bound):
    return is_number(value) and value < bound


@functools.cache
def _where(column, test, *values):
    """The rows whose value passes the test."""
    tests = {
        "<": lambda v: below(v, values[0]),
        "=": lambda v: same(v, values[0]),
        "in": lambda v: any(same(v, w) for w in values),
        "not in": lambda v: not any(same(v, w) for w in values),
        "range": lambda v: not below(v, values[0]) and (below(v, values[1]) if values[1] is not None else is_number(v)),
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
        elif isinstance(pattern, In):
            rows &= _where(column, "in", *sorted(pattern.values, key=repr))
        elif isinstance(pattern, Range):
            rows &= _where(column, "range", pattern.low, pattern.high)
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


def _lists():
    """Bounds on some of the times, and lists of groups of one column or two."""
    links, protos = ([In(s) for s in _subsets(NAMED[c], 3) if len(s) > 1] for c in ("link", "proto"))
    wheres = [{"link": p} for p in links] + [{"proto": p} for p in protos]
    wheres += [{"link": p, "proto": q} for p in links for q in (*protos[::2], Equal("A"), NotIn({"A"}))]
    return st.sampled_from([Punctuation(corner, where) for corner in _corners(_times) for where in wheres])


RANGES = [Range(low, high) for low in (0, 1, 2) for high in (*BOUNDS, None) if high is None or low < high]


def _ranges(time):
    """Ranges of one time or both, with bounds on the other, and with groups."""
    wheres = [{"ts": r} for r in RANGES] + [{"ts_right": r} for r in RANGES[::2]]
    groups = [{}, {}, {"link": Equal("A")}, {"link": Equal(None)}, {"link": NotIn({"A"})}, {"link": In({"A", "B"})}]
    groups.append({"link": Equal("A"), "proto": Equal("B")})
    found = [
        Punctuation(corner, {**where, **group})
        for where in wheres
        for group in groups
        for corner in _corners([t for t in _times if t not in where])
    ]
    both = [{"ts": a, "ts_right": b} for a in RANGES for b in RANGES[::3]]
    named = [{"ts": a, "ts_right": b} for a in RANGES[::2] for b in map(Equal, (0, 1, None))] if time else []
    return st.sampled_from([*found, *(Punctuation({}, where) for where in (*both, *named))])


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

_listed = _lists()
_ranged = {time: _ranges(time) for time in (False, True)}

bounds = st.sampled_from(BOUNDS)
corners = st.sampled_from(_corners(_times))


def promises(time=("=", "not in"), ranges=True):
    """Promises of all kinds; ``time`` says which patterns other than ``<`` and ranges may stand on a time attribute."""
    ranged = [_ranged[bool(time)]] * 2 if ranges else []
    return st.one_of(_ungrouped, *_one, _two, _listed, *ranged, *(_named_times[time] if time else ()))


def lists(promise, size=6):
    return st.lists(promise, max_size=size)
