"""The operators that take rows in any order (Aurora paper, section 5.2.1): Filter, Map, Union."""

from __future__ import annotations

from typing import Any

from oop.aurora.arguments import check_stream, wrong
from oop.operators.expressions.expr import Expr
from oop.streams.sources import union
from oop.streams.stream import Stream


class Filter:
    """``Filter(P1, …, Pm)(S)``: m + 1 streams; a row goes to the first whose predicate holds, else to the last.

    >>> import pyarrow as pa, oop
    >>> s = oop.source(pa.table({"Pos": [10, 30, 50]}), time="Pos", punctuate=None)
    >>> across, others = Filter(oop.col("Pos") >= 30)(s)
    >>> across.run().to_table()["Pos"].to_pylist(), others.run().to_table()["Pos"].to_pylist()
    ([30, 50], [10])
    """

    def __init__(self, *predicates: Expr) -> None:
        self.predicates = predicates

    def __call__(self, stream: Stream) -> tuple[Stream, ...]:
        check_stream(stream)
        return stream.split(*self.predicates)


class Map:
    """``Map(B1=F1, …, Bm=Fm)(S)``: rows with only these attributes, each a function of the row's; a column's name
    stands for its value.

    >>> import pyarrow as pa, oop
    >>> s = oop.source(pa.table({"Time": [1], "Pos": [7]}), time="Time", punctuate=None)
    >>> Map(Time="Time", Far=oop.col("Pos") * 2)(s).run().to_table().to_pylist()
    [{'Time': 1, 'Far': 14}]
    """

    def __init__(self, /, **functions: Any) -> None:
        self.functions = functions

    def __call__(self, stream: Stream) -> Stream:
        check_stream(stream)
        return stream.select(**self.functions)


class Union:
    """``Union()(S1, …, Sn)``: the rows of all streams, as they come.

    >>> import pyarrow as pa, oop
    >>> s = oop.source(pa.table({"Time": [1, 2]}), time="Time", punctuate=None)
    >>> Union()(s, s).run().to_table().num_rows
    4
    """

    def __call__(self, *streams: Stream) -> Stream:
        if not streams:
            raise wrong("a union is of at least one stream", "write Union()(a, b)")
        for stream in streams:
            check_stream(stream)
        return union(*streams)
