"""Row numbers: the sequence number that the input gave a row, in a hidden column (OOP paper, section 5.2).

Rows are numbered from 0 as they come in, before guard, filters and null handling, so that the rows that a row window
counts do not depend on the plan. After n rows no number below n will come, so ``__seq < n`` is promised, and filters
and maps pass that on. The column exists only if an operator needs it (`oop.plan.numbering`).
"""

from __future__ import annotations

import heapq
from collections.abc import Iterable, Iterator, Sequence
from operator import itemgetter
from typing import TypeAlias

import numpy as np
import pyarrow as pa

from oop.errors import SchemaMismatch
from oop.frozen import frozen
from oop.kernels.scratch import new_array
from oop.operators.core.spec import Spec
from oop.operators.core.train import Helps, helping
from oop.operators.expressions.expr import Expr
from oop.operators.source.guard import Cut
from oop.punctuation import Punctuation

SEQ = "__seq"
SHOWN = "row number"
"""The name of the column in `explain`."""
Numbers: TypeAlias = range | np.ndarray

_counted = np.arange(65_536)


@frozen()
class Numbered(Spec):
    """A placeholder in a plan that is being written: at this place rows must have numbers.
    `oop.plan.numbering.resolved` replaces it.

    ``sources`` allows this behind a union too, where the number also tells from which source a row is (`of_source`).
    """

    sources: bool = False
    name = "Numbered"

    def schema(self, inputs: Sequence[pa.Schema]) -> pa.Schema:
        return schema_with_number(inputs[0])


_SOURCE = 2**44
"""The number of rows that each source may have if the numbers of several sources are combined."""


def of_source(number: Expr, source: int) -> Expr:
    """A row's number combined with the number of its source, in order of source, then of row."""
    return number + source * _SOURCE


def schema_with_number(schema: pa.Schema) -> pa.Schema:
    """The columns, and the number behind them."""
    if SEQ in schema.names:
        raise SchemaMismatch(f"a column may not be called {SEQ} where rows are counted", hint="rename it")
    return schema.append(pa.field(SEQ, pa.int64()))


def append_numbers(batch: pa.RecordBatch, numbers: Numbers) -> pa.RecordBatch:
    """The rows with these numbers.

    >>> append_numbers(pa.record_batch({"ts": [8, 9]}), range(5, 7)).to_pydict()
    {'ts': [8, 9], '__seq': [5, 6]}
    """
    if isinstance(numbers, range):
        out = new_array(len(numbers), np.int64)
        for at in range(0, len(out), len(_counted)):  # adding to a counted array is faster than counting again
            piece = out[at : at + len(_counted)]
            np.add(_counted[: len(piece)], numbers.start + at, out=piece)
    else:
        out = numbers
    column = pa.Array.from_buffers(pa.int64(), len(out), [None, pa.py_buffer(out)])
    return batch.append_column(pa.field(SEQ, pa.int64()), column)


def promised(rows: int) -> Punctuation:
    """The promise that can be made once this number of rows has come."""
    return Punctuation({SEQ: rows})


def with_number_cuts(
    cuts: Iterable[Cut], ends: Sequence[int], first_row: int, rows: int, helps: Helps
) -> Iterator[Cut]:
    """The places where promises cut a train of ``rows`` rows: the given cuts, and the ends of batches at which a
    promise about numbers helps.

    >>> list(with_number_cuts([], [2, 5, 9], 10, 9, lambda promise: promise.below[SEQ] > 12))
    [(5, Punctuation(__seq < 15))]
    """
    places = [end for end in ends if 0 < end < rows]
    return heapq.merge(cuts, helping(SEQ, places, [first_row + p for p in places], helps), key=itemgetter(0))
