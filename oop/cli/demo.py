"""``oop demo``: the paper's first query, run in several ways (OOP paper, section 2).

Q1 counts the packets of three links per window. With exact promises each link says which rows will no longer come, and
the union promises the least of the three. In order the same promises release rows from a sort behind each link, and a
merge holds the rows until the slowest link has come as far (the paper's option 1). With slack the links come as one
stream, in which Main2's skew looks like disorder, and promises are guesses from the rows that arrive (option 2).

To compare another way of running Q1, add a `Way` to `WAYS`.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import nullcontext
from time import perf_counter

import numpy as np
import pyarrow as pa

import oop
from oop import packets
from oop.cli.feeds import WINDOW, Feeds, Way
from oop.engines.metrics import Metrics
from oop.frozen import frozen
from oop.packets import SECOND, START

SHOWN = 5  # how many windows of the answer are printed
COLUMNS = ("way", "rows held\nat the peak", "first window\n(stream, clock)", "throughput", "rows lost")


def _exact(feeds: Feeds) -> oop.Stream:
    return oop.union(*(feeds.source(name, ticks, oop.punctuated()) for name, ticks in feeds.ticks.items()))


def _slack(bound: str) -> Callable[[Feeds], oop.Stream]:
    return lambda feeds: feeds.source("links", feeds.all, oop.slack(bound))


WAYS: tuple[Way, ...] = (
    Way("exact promises", _exact),
    Way("the same, in order", _exact, "iop"),
    Way("slack 4s: too small", _slack("4s")),
    Way("slack 7s: enough", _slack("7s")),
    Way("slack 15s: ample", _slack("15s")),
)


@frozen()
class Measured:
    """The measurements of one way. ``first_stream`` and ``first_clock`` are the seconds of arrivals, and by the clock,
    that had passed when the first window came out."""

    way: str
    answer: pa.Table
    held: int
    first_stream: float
    first_clock: float
    seconds: float
    rows: int
    lost: int

    def as_row(self) -> tuple[str, ...]:
        first = f"{self.first_stream:.1f} s, {self.first_clock:.2f} s"
        return (self.way, f"{self.held:,}", first, f"{self.rows / self.seconds / 1e6:.1f} M/s", f"{self.lost:,}")


def measure(way: Way, feeds: Feeds, truth: np.ndarray) -> Measured:
    """Run one way. Its answer must be the truth, without the rows that it reports as late."""
    feeds.now = START
    begin = perf_counter()
    run = way.stream(feeds).run(order=way.order)
    batches: list[pa.RecordBatch] = []
    first_stream = first_clock = 0.0
    for batch in run:
        if not batches:
            first_stream, first_clock = (feeds.now - START) / SECOND, perf_counter() - begin
        batches.append(batch)
    seconds = perf_counter() - begin
    if not batches:
        raise oop.OopError(f"{way.name}: no window came out", hint="generate more packets with --rows")
    answer = pa.Table.from_batches(batches)
    lost = _lost(way.name, answer, truth, len(run.late))
    rows = int(truth.sum())
    return Measured(way.name, answer, _held(run.metrics), first_stream, first_clock, seconds, rows, lost)


def _lost(name: str, answer: pa.Table, truth: np.ndarray, late: int) -> int:
    """The number of rows that the answer does not count. An answer that is wrong in any other way is an error."""
    windows = (answer["window_start"].cast(pa.int64()).to_numpy() - START) // SECOND
    missing = truth.copy()
    np.subtract.at(missing, windows, answer["packets"].to_numpy())
    if (missing < 0).any() or missing.sum() != late or len(np.unique(windows)) < len(windows):
        raise oop.OopError(f"{name}: the answer is wrong: {missing.sum()} rows are missing, {late} were late")
    return late


def _held(metrics: Metrics) -> int:
    return max(metrics.peak_rows, *(box.peak_buffered_rows for box in metrics.boxes))


def true_counts(links: dict[str, packets.Arrivals]) -> np.ndarray:
    """The packets in each window, counted over all rows at once."""
    times = np.concatenate([link.times for link in links.values()])
    return np.bincount((times - START) // SECOND)


def conclusion(results: Sequence[Measured]) -> str:
    """One sentence on the measurements, which compares the other ways with the first."""
    first, *others = results
    name = first.way[0].upper() + first.way[1:]
    begin = f"{name} lost {_share(first)} and gave the first window after {first.first_stream:.1f} s of stream"
    return f"{'; '.join([begin, *(_against(first, other) for other in others)])}."


def _against(first: Measured, other: Measured) -> str:
    name = other.way.partition(":")[0]
    if other.lost:
        return f"{name} lost {_share(other)}"
    wait = round(other.first_stream - first.first_stream, 1)
    when = f"{abs(wait)} s {'later' if wait > 0 else 'earlier'}" if wait else "at the same time"
    return f"{name} lost {_share(other)} and gave it {when}, holding {other.held:,} rows against {first.held:,}"


def _share(result: Measured) -> str:
    return f"{result.lost / result.rows:.1%} of the rows" if result.lost else "none"


def run_demo(rows: int = 4_000_000, seed: int = 0, quiet: bool = False, spark: bool = True) -> int:
    """Print the answer to Q1, the table, then whether Spark gives the same answer. Returns 1 if it does not, else 0."""
    from rich import box
    from rich.console import Console
    from rich.progress import Progress
    from rich.table import Table

    console = Console(highlight=False)
    links = packets.generate(rows, seed)
    truth = true_counts(links)
    with Progress(console=console, transient=True, disable=quiet or not console.is_terminal) as progress:
        task = progress.add_task("", total=int(truth.sum()) * len(WAYS))
        feeds = Feeds(links, lambda taken: progress.advance(task, taken))
        results = []
        for way in WAYS:
            progress.update(task, description=way.name)
            results.append(measure(way, feeds, truth))

    console.print(f"Q1: packets of {', '.join(links)} per window of {WINDOW}, {truth.sum():,} rows\n")
    first = results[0].answer.sort_by("window_start").slice(0, SHOWN)
    for row in first.to_pylist():
        console.print(f"  {row['window_start']:%H:%M:%S} – {row['window_end']:%H:%M:%S}  {row['packets']:>9,}")
    console.print(f"  … {results[0].answer.num_rows - first.num_rows} more\n")

    table = Table(box=box.SIMPLE_HEAD, pad_edge=False)
    for i, name in enumerate(COLUMNS):
        table.add_column(name, justify="right" if i else "left", no_wrap=True)
    for result in results:
        table.add_row(*result.as_row())
    console.print(table)
    console.print(conclusion(results))
    if not spark:
        return 0
    with console.status("Q1 on Spark", spinner="line") if console.is_terminal and not quiet else nullcontext():
        said, same = on_spark(rows, seed)
    console.print(f"\n{said}", markup=False)
    return 0 if same else 1


def on_spark(rows: int, seed: int) -> tuple[str, bool]:
    """What to print about Q1 on Spark, and False if its answer is wrong. Without Spark this part is left out."""
    from oop.cli import demo_spark
    from oop.engines.spark.session import local_session

    try:
        session = local_session()
    except oop.OopError as missing:
        return f"On Spark: left out, since {missing.what} ({missing.hint}).", True
    compared = demo_spark.compare(session, min(rows, demo_spark.ROWS), seed)
    fewer = ", with fewer rows to be quick" if rows > demo_spark.ROWS else ""
    return f"On Spark, in local mode{fewer}: {compared}", compared.same
