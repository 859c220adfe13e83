"""What the demo's ways have in common: the feeds of the links' packets, and the query that they answer."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

import oop
from oop import packets
from oop.frozen import frozen
from oop.operators.core.operator import Element
from oop.packets import START, Tick

WINDOW = "1s"


class Feeds:
    """Feeds the links' arrivals to a pipeline. ``now`` is the arrival time of the last rows that the pipeline took, and
    ``tell`` is called with the number of rows each time.

    With ``whole`` a link is handed over as a list, whose end is known. Without, its elements are made one by one as the
    pipeline asks for them.
    """

    def __init__(self, links: dict[str, packets.Arrivals], tell: Callable[[int], object], whole: bool = False) -> None:
        self.ticks = {name: link.ticks() for name, link in links.items()}
        self.all = packets.merged(links).ticks()
        self.now = START
        self.tell = tell
        self.whole = whole

    def feed(self, ticks: Sequence[Tick], promises: bool) -> Iterator[Element]:
        for tick in ticks:
            self.now = max(self.now, tick.at)
            self.tell(tick.batch.num_rows)
            yield tick.batch
            if promises:
                yield oop.END if tick.low is None else oop.Punctuation(below={"ts": tick.low})

    def source(self, name: str, ticks: Sequence[Tick], policy: oop.punctuation.Policy) -> oop.Stream:
        def feed() -> Iterator[Element]:
            return self.feed(ticks, promises=not policy.is_data_driven)

        data = list(feed()) if self.whole else feed
        return oop.source(data, time="ts", punctuate=policy, name=name, schema=packets.SCHEMA)


@frozen()
class Way:
    """A way of running Q1: its name, how it makes one stream of the links, and the ``order`` of `Stream.run`."""

    name: str
    union: Callable[[Feeds], oop.Stream]
    order: str = "oop"

    def stream(self, feeds: Feeds) -> oop.Stream:
        return self.union(feeds).window(oop.tumbling(WINDOW)).agg(packets=oop.count())
