"""What `Run.metrics` shows: counts for each box and arc, and the rows held at the peak."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from oop.engines.boxes import Box


@dataclass(frozen=True)
class BoxMetrics:
    """One operator. ``seconds`` is what it and reading its output took; bounds are in the frontier's text."""

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


@dataclass(frozen=True)
class ArcMetrics:
    """One queue between two operators."""

    source: str
    target: str
    port: int
    rows: int
    promises: int
    queued_rows: int
    peak_queued_rows: int


@dataclass(frozen=True)
class Metrics:
    """Boxes in the order of the plan, inputs first; arcs by where they come from.

    >>> import oop, pyarrow as pa
    >>> run = oop.source(pa.table({"ts": [1, 2]}), time="ts", punctuate=oop.ordered(), name="north").run()
    >>> _ = run.to_table()
    >>> [(arc.source.split()[1], arc.target, arc.rows) for arc in run.metrics.arcs]
    [('north', 'result', 2)]
    """

    boxes: tuple[BoxMetrics, ...]
    arcs: tuple[ArcMetrics, ...]
    peak_rows: int

    def box(self, name: str) -> BoxMetrics:
        """The first box whose description begins with this.

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
        return "\n".join(lines)


def gather(boxes: Sequence[Box], peak_rows: int) -> Metrics:
    measured = tuple(_of(box) for box in boxes)
    arcs = tuple(
        ArcMetrics(
            box.node.spec.describe(),
            "result" if arc.target is None else arc.target.node.spec.describe(),
            arc.port,
            arc.rows,
            arc.promises,
            arc.queued_rows,
            arc.peak_rows,
        )
        for box in boxes
        for arc in box.outputs
    )
    return Metrics(measured, arcs, peak_rows)


def _of(box: Box) -> BoxMetrics:
    held, size = (0, 0) if box.stateful is None else (box.stateful.buffered_rows, box.stateful.state_bytes)
    return BoxMetrics(
        box.node.spec.describe(),
        box.node.site,
        box.rows_in,
        box.rows_out,
        box.batches_in,
        box.batches_out,
        box.promises_in,
        box.promises_out,
        box.seconds + getattr(box.operator, "seconds", 0.0),
        held,
        box.peak_buffered,
        size,
        box.peak_bytes,
        getattr(box.operator, "late_unused", 0),
        repr(box.frontier),
    )
