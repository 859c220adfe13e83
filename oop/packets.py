"""Generated packets of three links, in the order of their arrival, for the demo, the examples and the benchmarks.

The links are those of the paper's first query (OOP paper, section 2): Control has little traffic, Main1 and Main2 have
much. Main2 arrives some seconds behind Main1, by a skew that changes. A tenth of the rows of each link are held up on
the way and come out of order.

>>> links = generate(rows=10_000, seed=1)
>>> {name: len(link.at) for name, link in links.items()}
{'Control': 100, 'Main1': 5000, 'Main2': 4900}
>>> tick = links["Main2"].ticks()[100]
>>> tick.low is not None and tick.at - tick.low > 3_000_000  # what is still to come began over 3 s ago
True
"""

from __future__ import annotations

from collections.abc import Mapping
from itertools import pairwise
from typing import NamedTuple

import numpy as np
import pyarrow as pa

from oop.frozen import frozen

SCHEMA = pa.schema({"ts": pa.timestamp("us"), "src": pa.int32(), "dst": pa.int32(), "len": pa.int32()})
START = 1_219_536_000_000_000  # 2008-08-24
SECOND = 1_000_000
DURATION = 120 * SECOND
TICK = SECOND // 10
DISORDERED = 0.1  # the share of the rows of each link that is held up
HELD_UP = (SECOND // 5, SECOND)  # the least and the longest time for which rows are held up


@frozen()
class PacketLink:
    """A link, with its share of all rows. ``skew`` is how far its arrivals are behind: at the beginning and the end of
    the stream, and in its middle."""

    name: str
    share: float
    skew: tuple[int, int] = (0, 0)


LINKS = (
    PacketLink("Control", 0.01),
    PacketLink("Main1", 0.5),
    PacketLink("Main2", 0.49, (3 * SECOND, 6 * SECOND)),
)
MOST_LATE = max(max(link.skew) for link in LINKS) + HELD_UP[1]
"""No row of any link arrives later than this after its timestamp."""


class Tick(NamedTuple):
    """The rows of a tenth of a second of arrivals, and the least timestamp that is still to come (None: no more)."""

    at: int
    batch: pa.RecordBatch
    low: int | None


@frozen(eq=False)
class Arrivals:
    """Rows in the order in which they arrive. ``at`` has their arrival times, in microseconds since 1970."""

    at: np.ndarray
    rows: pa.RecordBatch

    @property
    def times(self) -> np.ndarray:
        return self.rows.column("ts").cast(pa.int64()).to_numpy()

    def by_second(self, rows: pa.RecordBatch) -> list[pa.RecordBatch]:
        """Rows made from these, one for each, cut by each second of arrivals, so that links that are read in turn
        advance together."""
        edges = np.searchsorted(self.at, np.arange(START, START + DURATION + MOST_LATE + SECOND, SECOND))
        return [rows.slice(begin, end - begin) for begin, end in pairwise(edges.tolist())]

    def ticks(self) -> list[Tick]:
        """The rows cut by arrival time, so that several links can be fed side by side. ``low`` is the paper's low-water
        mark (equation 1), which the generator knows because it has the rows that are still to come."""
        low = np.minimum.accumulate(self.times[::-1])[::-1]
        ends = np.arange(START + TICK, START + DURATION + MOST_LATE + 2 * TICK, TICK)
        edges = np.searchsorted(self.at, ends)
        found, begin = [], 0
        for at, end in zip(ends.tolist(), edges.tolist(), strict=True):
            still = int(low[end]) if end < len(low) else None
            found.append(Tick(at, self.rows.slice(begin, end - begin), still))
            begin = end
        return found


def generate(rows: int, seed: int = 0) -> dict[str, Arrivals]:
    """The arrivals of all links, together about this many rows. The same seed gives the same rows."""
    random = np.random.default_rng(seed)
    return {link.name: _arrivals(link, round(rows * link.share), random) for link in LINKS}


def merged(links: Mapping[str, Arrivals]) -> Arrivals:
    """All links as one stream, in the order of arrival."""
    at = np.concatenate([link.at for link in links.values()])
    order = np.argsort(at, kind="stable")
    rows = pa.concat_batches([link.rows for link in links.values()])
    return Arrivals(at[order], rows.take(pa.array(order)))


def _arrivals(link: PacketLink, rows: int, random: np.random.Generator) -> Arrivals:
    times = np.sort(random.integers(0, DURATION, rows))
    least, most = link.skew
    at = times + least + ((most - least) * np.sin(np.pi * times / DURATION) ** 2).astype(np.int64)
    held_up = random.random(rows) < DISORDERED
    at[held_up] += random.integers(*HELD_UP, held_up.sum())
    order = np.argsort(at, kind="stable")
    columns = [
        pa.array(START + times[order]).view(SCHEMA.field("ts").type),
        *(pa.array(random.integers(0, 1_000, rows, np.int32)) for _ in ("src", "dst")),
        pa.array(random.integers(40, 1_500, rows, np.int32)),
    ]
    return Arrivals(START + at[order], pa.RecordBatch.from_arrays(columns, schema=SCHEMA))
