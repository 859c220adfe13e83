"""The oldest row that a join holds back, and the least promise that would release it."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

import numpy as np
import pyarrow as pa

from oop.errors import TimeError
from oop.operators.core.oldest import group_text, show_window, value_at
from oop.operators.core.operator import Held
from oop.operators.core.times import is_whole, show_time
from oop.operators.join.band import LEFT, RIGHT, SameWindow
from oop.operators.join.fields import JoinFields
from oop.operators.join.side import Side
from oop.punctuation import END, Punctuation
from oop.punctuation.patterns import Bound
from oop.punctuation.search import least_bound


def oldest_row(
    spec: JoinFields, given: Sequence[pa.Schema], sides: Sequence[Side], groups: Callable[[int], Mapping[str, str]]
) -> Held | None:
    """The held row with the least point, and the promise of the other side that would free it. ``given`` are the
    columns of the inputs, and ``groups`` has, for each side, the key columns by which the other side promises."""
    places = {side: place for side in (LEFT, RIGHT) if (place := sides[side].first()) is not None}
    if not places:
        return None
    points = {s: sides[s].table.read(np.array([p]))[1][0].item() for s, p in places.items()}
    side = min(points, key=points.__getitem__)
    own, band, point, other = sides[side], spec.band, points[side], 1 - side
    type_ = given[side].field(spec.times[side]).type
    name = "left" if side == LEFT else "right"
    if isinstance(band, SameWindow):
        near = band.grid.end(point)
        what = f"{name} row in window {show_window(band.grid.start(point), near, type_)}"
    else:
        near = point
        what = f"{name} row at {spec.times[side]} = {show_time(point, type_)}"

    def frees(bound: Bound) -> bool:
        try:
            return band.least_held(side, bound) > point
        except TimeError:  # the windows do not reach as far as this bound
            return bound > near

    bound = least_bound(frees, near if is_whole(type_) else float(near))
    if bound is None or bound == float("inf"):
        return Held(what, other, END)
    row = np.array([places[side]])
    group = {theirs: value_at(own.take([ours], row)[0], 0) for theirs, ours in groups(side).items()}
    return Held(what + group_text(group), other, Punctuation({spec.times[other]: bound}, group))
