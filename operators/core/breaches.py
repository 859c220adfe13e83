"""Which promises do rows break?"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import pyarrow as pa

from oop.operators.core.coverage import below_groups, covered, matching, steps_above
from oop.operators.core.row_groups import distinct_groups, encode_groups
from oop.punctuation import END, Frontier, Punctuation
from oop.punctuation.group_promises import Promise


def broken_promises(frontier: Frontier, batch: pa.RecordBatch) -> Iterator[tuple[Promise, np.ndarray]]:
    """Each promise that rows of the batch match, with a mask of these rows. Bounds on one attribute of many groups are
    one promise here. A promise about a column that the batch lacks, because no consumer uses it, is left out."""
    some, names = covered(frontier, batch), set(batch.schema.names)
    if not some.any():
        return
    late = batch.filter(pa.array(some))
    for promise in _promises_about(frontier, late):
        if isinstance(promise, Punctuation) and not promise.patterns().keys() <= names:
            continue
        here = matching(promise, late) if isinstance(promise, Punctuation) else below_groups(promise, late)
        if here.any():
            rows = some.copy()
            rows[some] = here
            yield promise, rows


def _promises_about(frontier: Frontier, batch: pa.RecordBatch) -> Iterator[Promise]:
    """The promises about all rows, and those that may concern groups of these rows."""
    for attribute, bound in frontier.all.linear.items():
        yield Punctuation({attribute: bound})
    if frontier.ended:
        yield END
    for steps in frontier.all.stairs.values():  # for each row the first corner that it is below
        places = np.unique(steps_above(steps, batch)[1]).tolist()
        yield from (Punctuation(steps.corner(place)) for place in places if place < len(steps))
    yield from map(Punctuation, frontier.all.wide)
    for column, grouping in frontier.by.items():
        if column not in batch.schema.names:
            continue
        values = encode_groups(batch.column(column))[1]
        if grouping.is_flat:
            yield from grouping.flat.about((column,), dict.fromkeys(values))
        else:
            for pattern, corners in grouping.about(values):
                yield from (Punctuation(corner, {column: pattern}) for corner in corners)
    yield from (*frontier.across.mixed, *frontier.ranges)
    for columns, bounds in frontier.across.single.items():
        if all(c in batch.schema.names for c in columns):
            groups = distinct_groups({c: batch.column(c) for c in columns})[1]
            yield from bounds.about(columns, dict.fromkeys(groups))
            yield from bounds.more_about(columns, dict.fromkeys(groups))
