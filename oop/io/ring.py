"""`oop.Ring`: packets at a set rate, through a ring of fixed size that overflows when the reader does not keep up.

It feeds a query as a network card feeds a low-level query (OOP paper, section 6), for measurements in real time.
"""

from __future__ import annotations

import time
from collections.abc import Iterator

import pyarrow as pa

from oop.errors import SourceError, WrongArgument
from oop.frozen import frozen
from oop.kernels.ring import MOST_GROUPS, MOST_RATE, Drained, PacketColumns, PacketRing, make_packets
from oop.site import user_line

# The columns of oop.packets. With a timestamp, durations can be written as "1s"; a plain number would have no unit.
SCHEMA = pa.schema({"ts": pa.timestamp("us"), "src": pa.int32(), "dst": pa.int32(), "len": pa.int32()})
_TYPES = [field.type for field in SCHEMA]
_LONGEST_PAUSE = 0.01
_NANO = 1e-9


@frozen()
class RingCounts:
    """What became of the rows, and how long the reader was away; times in seconds, ``…_at`` in microseconds of ``ts``.

    ``produced`` rows are the dropped, the drained, and those ``waiting`` in the ring. ``greatest_fill`` is the most
    rows that were in the ring at once. ``behind`` is the most by which the producer was late, since it needs a core
    too.

    A pause is the time of the reading thread between two drains: in its own processor time, which other processes do
    not lengthen (``longest_pause``, and ``reader_seconds`` in all), or by the clock (``longest_gap``). ``…_at`` is the
    time of the last row that was drained before it. ``pauses`` counts the pauses by steps of processor time, each given
    by its least value. ``pauses_in_window`` has the longest pause that began in each sixteenth of the ring's
    ``window``.

    >>> import oop
    >>> ring = oop.Ring(rate=1_000_000, rows=2_000, slots=500)
    >>> ring.start()
    >>> while ring.counts.produced < 2_000:
    ...     pass
    >>> print(ring.counts)
    2,000 rows produced, 1,500 dropped, 0 drained, 500 in the ring (500 at most)
    """

    produced: int
    dropped: int
    drained: int
    waiting: int
    greatest_fill: int
    behind: float
    producer_seconds: float
    reader_seconds: float
    longest_pause: float
    longest_pause_at: int
    longest_gap: float
    longest_gap_at: int
    pauses: tuple[tuple[float, int], ...]
    pauses_in_window: tuple[float, ...]

    def __str__(self) -> str:
        return (
            f"{self.produced:,} rows produced, {self.dropped:,} dropped, {self.drained:,} drained, "
            f"{self.waiting:,} in the ring ({self.greatest_fill:,} at most)"
        )


class Ring:
    """Packets at a set rate, for `oop.source`: a thread in C writes ``rate`` rows a second into a ring of ``slots``
    rows, from when the run is first read. It never waits: a row that finds the ring full is dropped, and counted
    (`counts`). Without ``rows=`` it goes on until `stop`, or until the run ends.

    Columns are ``ts`` (when the row is due, from 1970 on), ``src`` and ``dst`` (together one of ``groups``, drawn
    evenly), ``len``. Row i depends only on the rate, the groups and the seed, not on the fate of other rows
    (`packets`).

    The engine is given what is there, in batches of up to ``batch`` rows. While there are fewer than ``enough`` rows
    (default: ``batch``) it waits for more, but no longer than 10 ms, nor until a quarter of the ring has filled. Small
    batches make for short pauses, and a reader that has fallen behind catches up with large ones. ``window``, in
    microseconds, tells pauses apart by where in a window they begin.

    >>> import oop
    >>> ring = oop.Ring(rate=1_000_000, rows=5_000)
    >>> packets = oop.source(ring, time="ts", punctuate=oop.ordered())
    >>> counts = packets.window(oop.tumbling("1ms")).agg(n=oop.count())
    >>> counts.run().to_table()["n"].to_pylist()
    [1000, 1000, 1000, 1000, 1000]
    >>> ring.counts.drained, ring.counts.dropped
    (5000, 0)
    """

    def __init__(
        self,
        rate: int,
        *,
        rows: int | None = None,
        groups: int = 65_536,
        slots: int = 262_144,
        batch: int = 8_192,
        enough: int | None = None,
        seed: int = 0,
        window: int = 0,
    ) -> None:
        self.rate = _number("rate", rate, 1, MOST_RATE, "rows a second")
        self.rows = None if rows is None else _number("rows", rows, 0, 2**62, "rows in all")
        self.groups = _number("groups", groups, 1, MOST_GROUPS, "pairs of src and dst")
        self.slots = _number("slots", slots, 1, MOST_GROUPS, "rows that the ring holds")
        self.batch = _number("batch", batch, 1, MOST_GROUPS, "rows of a batch at most")
        self.enough = self.batch if enough is None else _number("enough", enough, 1, self.batch, "rows worth a batch")
        self.seed = _number("seed", seed, 0, 2**64 - 1, "what groups and lengths are drawn by")
        self.window = _number("window", window, 0, 2**62, "microseconds by which pauses are told apart")
        self.pause = min(_LONGEST_PAUSE, self.enough / self.rate, self.slots / self.rate / 4)
        self._ring = PacketRing(
            rate=self.rate,
            rows=self.rows,
            groups=self.groups,
            seed=self.seed,
            slots=self.slots,
            window=self.window,
        )
        self._is_started = self._is_read = False

    def __repr__(self) -> str:
        return f"Ring(rate={self.rate}, rows={self.rows}, groups={self.groups}, slots={self.slots})"

    def start(self) -> None:
        """Let the rows begin to come, as reading would. A ring runs once.

        >>> import oop
        >>> ring = oop.Ring(rate=1_000_000, rows=10)
        >>> ring.start()
        >>> while ring.counts.produced < 10:
        ...     pass
        >>> ring.drain(4).num_rows, ring.drain(100).num_rows, ring.drain(100).num_rows
        (4, 6, 0)
        """
        pa.array([0])  # Arrow's first conversion loads pandas, if it is installed; that must not happen while rows come
        self._ring.start()
        self._is_started = True

    def stop(self) -> None:
        """Let no more rows come; those in the ring can still be drained, and then it has ended.

        >>> import oop
        >>> ring = oop.Ring(rate=1_000)
        >>> packets = oop.source(ring, time="ts", punctuate=oop.ordered())
        >>> for batch in packets.run():
        ...     ring.stop()
        >>> ring.counts.drained == ring.counts.produced > 0
        True
        """
        self._ring.stop()
        self._is_started = True

    def drain(self, most: int) -> pa.RecordBatch:
        """Up to ``most`` of the rows in the ring, for use without a run. One thread at a time may call it.

        >>> import oop
        >>> oop.Ring(rate=1_000).drain(100).num_rows  # it has not started
        0
        """
        return _batch(self._ring.drain(most))

    def forget_pauses(self) -> None:
        """Count pauses anew, since the first windows of a run are unlike the others. Only the reading thread may call
        it.

        >>> import oop
        >>> ring = oop.Ring(rate=1_000_000, rows=5_000)
        >>> packets = oop.source(ring, time="ts", punctuate=oop.ordered())
        >>> for batch in packets.run():
        ...     ring.forget_pauses()
        >>> ring.counts.longest_pause < 1
        True
        """
        self._ring.forget_pauses()

    def packets(self, first: int, rows: int) -> pa.RecordBatch:
        """Rows by their numbers, as the producer makes them, to compute the expected answer.

        >>> import oop
        >>> oop.Ring(rate=1_000, groups=1_000).packets(7, 1).to_pylist()
        [{'ts': datetime.datetime(1970, 1, 1, 0, 0, 0, 7000), 'src': 0, 'dst': 173, 'len': 218}]
        """
        return _of_columns(make_packets(first, rows, rate=self.rate, groups=self.groups, seed=self.seed))

    @property
    def counts(self) -> RingCounts:
        """What has happened so far; any thread may call it.

        >>> import oop
        >>> oop.Ring(rate=1_000).counts.produced
        0
        """
        c = self._ring.counts()
        return RingCounts(
            produced=c.written + c.dropped,
            dropped=c.dropped,
            drained=c.drained,
            waiting=c.written - c.drained,
            greatest_fill=c.greatest_fill,
            behind=c.behind * _NANO,
            producer_seconds=c.producer_cpu * _NANO,
            reader_seconds=c.drainer_cpu * _NANO,
            longest_pause=c.longest_cpu * _NANO,
            longest_pause_at=c.longest_cpu_at,
            longest_gap=c.longest * _NANO,
            longest_gap_at=c.longest_at,
            pauses=tuple((2**step * _NANO, n) for step, n in enumerate(c.pauses) if n),
            pauses_in_window=tuple(ns * _NANO for ns in c.parts) if self.window else (),
        )

    @property
    def waiting(self) -> bool:
        """Are there rows that nobody has drained?

        >>> import oop
        >>> oop.Ring(rate=1_000).waiting
        False
        """
        return bool(self._ring.waiting())

    def trains(self, rows: int) -> Iterator[list[pa.RecordBatch]]:
        """For the engine: the rows in the ring, up to ``rows`` at once; an empty train while there are too few.

        >>> import oop
        >>> ring = oop.Ring(rate=1_000_000, rows=100)
        >>> sum(batch.num_rows for train in ring.trains(64) for batch in train)
        100
        """
        if self._is_read:
            raise SourceError(
                "this ring was already read: its rows come once", hint="make an oop.Ring for each source and each run"
            )
        self._is_read = True
        return self._trains(min(rows, self.batch))

    def _trains(self, most: int) -> Iterator[list[pa.RecordBatch]]:
        if not self._is_started:
            self.start()
        try:
            last = time.perf_counter()
            while (waiting := self._ring.waiting()) is not None:
                now = time.perf_counter()
                # A batch costs more than a row, so several rows should gather.
                if waiting >= min(self.enough, most) or (waiting and now - last >= self.pause):
                    last = now
                    yield [self.drain(min(most, max(self.enough, waiting // 2)))]
                else:
                    yield []
        finally:
            self.stop()


def _number(name: str, value: object, least: int, most: int, meaning: str) -> int:
    if isinstance(value, bool) or not isinstance(value, int) or not least <= value <= most:
        raise WrongArgument(
            f"{name} is a whole number from {least:,} to {most:,}, not {value!r}",
            at=user_line(),
            hint=f"{name}= says the {meaning}: oop.Ring(rate=1_000_000, rows=10_000_000, groups=260_000)",
        )
    return value


def _batch(drained: Drained) -> pa.RecordBatch:
    block, rows, room = drained
    whole = pa.py_buffer(block)
    starts = (0, 8 * room, 12 * room, 16 * room)
    columns = [
        pa.Array.from_buffers(type_, rows, [None, whole.slice(start)], 0)
        for type_, start in zip(_TYPES, starts, strict=True)
    ]
    return pa.RecordBatch.from_arrays(columns, schema=SCHEMA)


def _of_columns(columns: PacketColumns) -> pa.RecordBatch:
    return pa.RecordBatch.from_arrays(
        [pa.array(values).view(type_) for values, type_ in zip(columns, _TYPES, strict=True)], schema=SCHEMA
    )
