"""What `Run.metrics` shows: counts for each box and arc, the rows held at the peak, and latency where it is
measured."""

from __future__ import annotations

from oop.frozen import frozen


@frozen()
class BoxMetrics:
    """The counts of one operator. ``seconds`` is the time that it took, output included. ``frontier`` is the text of
    what it has promised. ``note`` is what the operator has decided by itself, as the aggregate over sliding windows
    does."""

    name: str
    site: str
    rows_in: int
    rows_out: int
    batches_in: int
    batches_out: int
    promises_in: int
    promises_out: int
    seconds: float
    buffered_rows: int
    peak_buffered_rows: int
    state_bytes: int
    peak_state_bytes: int
    late_unused: int
    frontier: str
    note: str = ""

    @property
    def selectivity(self) -> float | None:
        """Rows out for each row in.

        >>> import oop, pyarrow as pa
        >>> s = oop.source(pa.table({"ts": [1, 2, 3, 4]}), time="ts", punctuate=oop.ordered())
        >>> run = s.filter(oop.col("ts") > 3).run()
        >>> _ = run.to_table()
        >>> run.metrics.box("Filter").selectivity
        0.25
        """
        return self.rows_out / self.rows_in if self.rows_in else None

    @property
    def cost_per_row(self) -> float | None:
        """Seconds for each row in.

        >>> import oop, pyarrow as pa
        >>> run = oop.source(pa.table({"ts": [1, 2]}), time="ts", punctuate=oop.ordered()).run()
        >>> _ = run.to_table()
        >>> run.metrics.box("Source").cost_per_row > 0
        True
        """
        return self.seconds / self.rows_in if self.rows_in else None


@frozen()
class ArcMetrics:
    """One queue between two operators."""

    source: str
    target: str
    port: int
    rows: int
    promises: int
    queued_rows: int
    peak_queued_rows: int


@frozen()
class Latency:
    """How long each row of the result took since the oldest row that it comes from entered, in the clock's unit
    (microseconds). ``counts`` has, for each step of latency, the least latency of the step and its number of rows."""

    rows: int
    mean: float
    greatest: int
    counts: tuple[tuple[int, int], ...]

    def quantile(self, share: float) -> int:
        """The quantile of latency, as the least latency of the step that it falls in.

        >>> Latency(4, 3.0, 8, ((0, 1), (2, 2), (8, 1))).quantile(0.5)
        2
        """
        passed = 0
        for least, count in self.counts:
            passed += count
            if passed >= share * self.rows:
                return least
        return self.greatest

    def __str__(self) -> str:
        shown = [("mean", self.mean), *((f"{s:.0%}", self.quantile(s)) for s in (0.5, 0.99)), ("max", self.greatest)]
        return f"latency of {self.rows:,} rows: " + ", ".join(f"{name} {value / 1000:,.1f} ms" for name, value in shown)


@frozen()
class Metrics:
    """``boxes`` are in the order of the plan, inputs first, and ``arcs`` in the order of the boxes that they come from.
    ``latency`` is measured in runs with ``oop.Embedded(latency=True)``.

    >>> import oop, pyarrow as pa
    >>> run = oop.source(pa.table({"ts": [1, 2]}), time="ts", punctuate=oop.ordered(), name="north").run()
    >>> _ = run.to_table()
    >>> [(arc.source.split()[1], arc.target, arc.rows) for arc in run.metrics.arcs]
    [('north', 'result', 2)]
    """

    boxes: tuple[BoxMetrics, ...]
    arcs: tuple[ArcMetrics, ...]
    peak_rows: int
    latency: Latency | None = None

    def box(self, name: str) -> BoxMetrics:
        """The first box whose description begins with this name.

        >>> import oop, pyarrow as pa
        >>> s = oop.source(pa.table({"ts": [1, 2, 12]}), time="ts", punctuate=oop.ordered())
        >>> run = s.window(oop.tumbling(10)).agg(n=oop.count()).run()
        >>> _ = run.to_table()
        >>> run.metrics.box("Aggregate").rows_out
        2
        """
        for box in self.boxes:
            if box.name.startswith(name):
                return box
        raise KeyError(f"no box {name!r}; there are {', '.join(b.name for b in self.boxes)}")

    def __str__(self) -> str:
        head = f"{'box':<44} {'rows in':>10} {'rows out':>10} {'promises':>9} {'held':>8} {'peak':>8} {'ns/row':>8}"
        lines = [head]
        for b in self.boxes:
            cost = "" if b.cost_per_row is None else f"{b.cost_per_row * 1e9:,.0f}"
            lines.append(
                f"{b.name[:44]:<44} {b.rows_in:>10,} {b.rows_out:>10,} {b.promises_out:>9,} "
                f"{b.buffered_rows:>8,} {b.peak_buffered_rows:>8,} {cost:>8}"
            )
            lines += [f"    {b.note}"] if b.note else []
        return "\n".join(lines)
