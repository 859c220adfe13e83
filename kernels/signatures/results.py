"""Results of groups as Arrow columns: keys and aggregates of a table, and what is the same for all of its groups.

The columns are copies, so that the table and its arrays can serve the next window. A window of a few thousand groups
leaves in one call of C. Where groups are many, a copy costs more than new arrays for the next window.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Sequence
from enum import IntEnum
from typing import NamedTuple

import pyarrow as pa

from oop.kernels.checks import Array, KernelError
from oop.kernels.signatures.groups import GroupTableBase
from oop.kernels.signatures.stem import KernelWithState, Stem


class ResultKind(IntEnum):
    """Where a column comes from. Of those with counts, a group that counted nothing is null."""

    CONSTANT = 0
    """A number of 64 bits that is given with each batch."""
    KEY = 1
    """A key column of the table."""
    VALUES = 2
    """Words: whole numbers, or the bits of floats."""
    COUNTED = 3
    """Words, of which the column's type has as many bits as it needs; and counts."""
    SUM = 4
    """High and low words of exact sums (`SumKernels`), and counts."""
    MEAN = 5
    """The same, divided by the counts."""


class GroupWords(NamedTuple):
    """A word of 64 bits for each group: column ``word`` of the array of this number, which has ``width`` of them."""

    array: int
    word: int = 0
    width: int = 1


class ResultColumn(NamedTuple):
    """A column of results: a ``key`` has the number of its column, aggregates have their words, counts last."""

    kind: ResultKind
    key: int = 0
    words: tuple[GroupWords, ...] = ()


_WORDS = {ResultKind.VALUES: 1, ResultKind.COUNTED: 2, ResultKind.SUM: 3, ResultKind.MEAN: 3}


def array_error() -> KernelError:
    return KernelError("an array of aggregates is missing, or too short")


def key_error() -> KernelError:
    return KernelError("the table has no such key column")


def groups_error() -> KernelError:
    return KernelError("the table has no such groups")


class GroupResultsBase(KernelWithState):
    """Makes batches with this schema of the groups of tables.

    >>> import numpy as np
    >>> from oop.kernels import dispatch, views
    >>> table = dispatch.kernels("reference").GroupTable(["int"])
    >>> _ = table.map([views.column(pa.array([7, 9]))])
    >>> schema = pa.schema({"end": pa.timestamp("s"), "k": pa.int64(), "n": pa.int64()})
    >>> columns = [ResultColumn(ResultKind.CONSTANT), ResultColumn(ResultKind.KEY)]
    >>> columns.append(ResultColumn(ResultKind.VALUES, words=(GroupWords(0),)))
    >>> results = dispatch.kernels("reference").GroupResults(schema, columns)
    >>> results.give(table, [np.array([2, 5])], [60]).select(["k", "n"]).to_pylist()
    [{'k': 7, 'n': 2}, {'k': 9, 'n': 5}]
    """

    def __init__(self, schema: pa.Schema, columns: Sequence[ResultColumn]) -> None:
        for field, column in zip(schema, columns, strict=True):
            if len(column.words) != _WORDS.get(column.kind, 0):
                raise KernelError(f"{field.name} has {len(column.words)} words for each group")
            if column.kind not in (ResultKind.KEY, ResultKind.COUNTED) and field.type.bit_width != 64:
                raise KernelError(f"{field.name} must have 64 bits")
            if column.key < 0:
                raise KernelError(f"{field.name} has no key column")
            if any(not 0 <= word < width for _, word, width in column.words):
                raise KernelError(f"{field.name} lies outside of its array")
        self.schema, self.columns = schema, list(columns)
        self.constants = sum(column.kind is ResultKind.CONSTANT for column in columns)
        self.arrays = 1 + max((words.array for column in columns for words in column.words), default=-1)
        self.run_init()

    @abstractmethod
    def give(
        self,
        table: GroupTableBase,
        arrays: Sequence[Array],
        constants: Sequence[int | float],
        first: int = 0,
        stop: int | None = None,
    ) -> pa.RecordBatch | None:
        """The results of all groups of a table, or of those from ``first`` up to ``stop``. Their aggregates are in
        these arrays. None if a sum does not fit."""

    @abstractmethod
    def forget(self) -> None:
        """Drop the references to the last table's arrays (kept so that an unchanged table needs no new pointers)."""


class ResultKernels(Stem):
    GroupResults: type[GroupResultsBase]
