"""WSort (Aurora* and Medusa paper, section 2.2): the sort with a timeout."""

from __future__ import annotations

from oop.aurora.arguments import check_stream, wrong
from oop.operators.core.arrival import timeout_in
from oop.punctuation.durations import Duration
from oop.streams.stream import Stream


class WSort:
    """``WSort(A1, …, An, timeout=t)(S)``: the rows of S in ascending order of these attributes, at least one in each
    period of the clock. A row that comes after a greater row has left is set aside in ``Run.late["WSort"]``.

    >>> import pyarrow as pa, oop
    >>> s = oop.source(pa.table({"A": [2, 1, 2], "B": [5, 7, 3]}), time="A", punctuate=None)
    >>> WSort("A", "B", timeout="1s")(s).run().to_table().to_pylist()
    [{'A': 1, 'B': 7}, {'A': 2, 'B': 3}, {'A': 2, 'B': 5}]
    """

    def __init__(self, *columns: str, timeout: Duration) -> None:
        if not columns:
            raise wrong("WSort sorts by at least one attribute", "write WSort('A', timeout='1s')")
        timeout_in(timeout)  # refuses an invalid timeout
        self.columns, self.timeout = columns, timeout

    def __call__(self, stream: Stream) -> Stream:
        check_stream(stream)
        return stream.wsort(*self.columns, timeout=self.timeout)
