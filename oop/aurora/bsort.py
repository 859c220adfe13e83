"""BSort (Aurora paper, section 5.2.2.1): the order that it assumes is the order of its output."""

from __future__ import annotations

from oop.aurora.arguments import check_stream, no_order
from oop.operators.assume.order import TUP, Order
from oop.streams.stream import Stream


class BSort:
    """``BSort(assuming=O)(S)``: the rows of S after ``slack`` passes of a bubble sort on the order's attribute; each
    group of the order is sorted by itself. All rows are put out: "BSort outputs exactly the tuples it processes".

    >>> import pyarrow as pa, oop
    >>> s = oop.source(pa.table({"A": [1, 3, 1, 2, 4, 4, 8, 3, 4, 4]}), time="A", punctuate=None)
    >>> BSort(assuming=oop.Order("A", slack=2))(s).run().to_table()["A"].to_pylist()
    [1, 1, 2, 3, 4, 3, 4, 4, 4, 8]
    """

    def __init__(self, assuming: Order) -> None:
        if not isinstance(assuming, Order):
            raise no_order(assuming)
        self.order = assuming

    def __call__(self, stream: Stream) -> Stream:
        check_stream(stream)
        if self.order.on == TUP:  # rows arrive in that order
            return stream
        return stream.bsort(self.order.slack, by=self.order.group_by, on=self.order.on)
