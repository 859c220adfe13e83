"""The least bound for which something holds, if it then holds for all greater bounds too.

What a promise does to a plan can be tried out, but not computed backwards. So the least promise that would be enough is
searched for.

>>> least_bound(lambda v: v // 60 >= 3, 0), least_bound(lambda v: v * v >= 2.0, 1.0), least_bound(lambda v: False, 7)
(180, 1.4142135623730951, None)
"""

from __future__ import annotations

import math
import struct
from collections.abc import Callable

from oop.punctuation.patterns import Bound

Holds = Callable[[Bound], bool]

_LEAST, _MOST = -(2**63), 2**63


def least_bound(holds: Holds, near: Bound) -> Bound | None:
    """The least bound for which it holds: a whole number if ``near`` is one, else a float; None if it holds for none.
    The nearer a whole ``near`` is, the fewer bounds are tried."""
    if isinstance(near, float):
        found = least_float(holds)
        return None if found == math.inf and not holds(found) else found
    near = max(_LEAST, min(_MOST, near))
    step = -1 if holds(near) else 1
    last, at = near, near
    while (holds(at) if step < 0 else not holds(at)) and (at != _MOST or step < 0):
        if at == _LEAST and step < 0:
            return at
        last, at = at, max(_LEAST, min(_MOST, near + step))
        step *= 2
    if at == _MOST and not holds(at):
        return None
    low, high = (at, last) if step < 0 else (last, at)  # it holds at ``high``, and not at ``low``
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (low, middle) if holds(middle) else (middle, high)
    return high


def least_float(holds: Holds) -> float:
    """The least float for which it holds; infinity if that is none."""
    low, high = _number(-math.inf), _number(math.inf)
    while low < high:
        middle = (low + high) // 2
        if holds(_float(middle)):
            high = middle
        else:
            low = middle + 1
    return _float(low)


def above(value: Bound) -> Bound:
    """The least bound that a value is below: ``x < above(v)`` holds of v, and of nothing greater.

    >>> above(7), above(1.0)
    (8, 1.0000000000000002)
    """
    return value + 1 if isinstance(value, int) else math.nextafter(value, math.inf)


def _number(value: float) -> int:
    """A float as a whole number: numbers are in the order of the floats, and neighbours have no gap between them."""
    (bits,) = struct.unpack("<q", struct.pack("<d", value))
    return bits if bits >= 0 else -(bits & (2**63 - 1))


def _float(number: int) -> float:
    bits = number if number >= 0 else -number | -(2**63)
    (value,) = struct.unpack("<d", struct.pack("<q", bits))
    return value
