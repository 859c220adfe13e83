"""Joins small entries of the ledger, because an entry of a single row costs a hundred times as much as the row."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from itertools import groupby

import numpy as np
import pyarrow as pa

from oop.operators.core.batches import concat
from oop.operators.source.entries import Entry

SMALL = 64  # rows
LOOSE = 256  # small entries that are put together at a time


def coupled(entries: Iterable[Entry]) -> Iterator[Entry]:
    """The same rows in the same order, in fewer entries. Rows without a time stay by themselves."""

    def kind(entry: Entry) -> tuple[object, ...]:
        return entry.attribute, entry.has_no_time, entry.rows.num_rows < SMALL or id(entry)

    for _, same in groupby(entries, kind):
        of_one = list(same)
        rows = concat([entry.rows for entry in of_one])
        if rows is None or len(of_one) == 1:  # None: dictionaries that Arrow cannot join
            yield from of_one
        else:
            yield _together(of_one, rows)


def _together(entries: Sequence[Entry], rows: pa.RecordBatch) -> Entry:
    """One entry for the rows of several, which says of each row what its own entry said. It has the same form as an
    entry that was saved and loaded."""
    said = [entry.say() for entry in entries]
    measures = dict.fromkeys(measure for entry in entries for measure in entry.booked)
    booked = {
        measure: np.concatenate([e.booked.get(measure, np.full(e.rows.num_rows, np.nan)) for e in entries])
        for measure in measures
    }
    text = entries[0].text if entries[0].has_no_time else None
    broke, late_by = (pa.concat_arrays([pair[i] for pair in said]) for i in (0, 1))
    return replace(entries[0], rows=rows, bounds=None, text=text, said=(broke, late_by), booked=booked)
