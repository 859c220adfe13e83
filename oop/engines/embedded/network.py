"""The network of a run: its boxes and the arcs between them (Aurora's words), built from a plan.

One box is made for each node of the plan, with an operator that is started here, and one arc for each edge. Boxes are
in the order of the plan: a box comes after those that feed it, and the box of the result is the last one.
"""

from __future__ import annotations

import os
from collections.abc import Container, Sequence
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from oop.engines.embedded.arcs import Arc
from oop.engines.embedded.bell import Bell
from oop.engines.embedded.boxes import Box, Gauge
from oop.engines.embedded.feeds import DirectFeed, RingFeed, ThreadFeed
from oop.engines.embedded.inner_superbox import InnerSuperbox
from oop.engines.embedded.pool import Pool
from oop.engines.embedded.shard_program import ShardProgram
from oop.engines.embedded.sharded import TURN_BATCHES, Sharded
from oop.engines.embedded.sharded_boxes import ShardedBox
from oop.engines.embedded.source import Source
from oop.engines.embedded.stamps import Stamps
from oop.engines.embedded.superbox import RunningSuperbox
from oop.errors import OopError
from oop.operators.core.batches import BATCH_ROWS, CROSSING_ROWS
from oop.operators.core.context import Context
from oop.operators.source.room import Room
from oop.plan.graph import Node, interests, needed_columns, sources, walk
from oop.plan.superboxes import Superbox, shard_superbox, superboxes

if TYPE_CHECKING:
    from oop.engines.embedded.options import Options

_MANY_ROWS = 1_000_000
_MOST_THREADS = 4  # unless the user asks for more: outside of kernels, threads wait for the one interpreter
_SOURCE_ROWS = BATCH_ROWS  # rows that a source gives in one round, if it has them at hand


class Network:
    """The boxes of a plan, run with these options. ``clocked`` are the boxes that look at the clock, and ``result`` is
    the arc to the reader of the result. ``arrived`` rings when something has come, from a reader of an input or from
    the ``pool``. ``pause`` is the longest time to wait for that, in seconds."""

    def __init__(self, root: Node, options: Options) -> None:
        self.clock = options.clock
        self.gauge = Gauge()
        self.arrived = Bell()
        self.pause = 0.01
        self.result: Arc[Box] = Arc(None, 0, None, options.batch_rows)
        threads = options.threads or _threads_for(root)
        self.pool = Pool(threads, self.arrived) if threads > 1 else None
        if self.pool is not None:
            # Arrow loads pandas, if it is installed, at its first conversion. That must not happen in a thread: an
            # interrupt in the middle of the import would leave it locked for all threads.
            pa.array([0])
        self.boxes: list[Box] = []
        self.clocked: list[Box] = []
        timers = self._build(root, options)
        threaded = options.readers or options.silent_for is not None or (timers and self.clock.live)
        train = min(getattr(options.scheduler, "train", _SOURCE_ROWS), _SOURCE_ROWS)
        joined = superboxes(root, parts=self.pool is not None) if options.joins_boxes else []
        inputs = [box for box in self.boxes if box.node.is_source]
        gathers = {id(box.node) for box in self.boxes if box.operator.leaves_when_filled}
        long = _with_long_trains(joined, gathers, len(inputs) == 1 and train == _SOURCE_ROWS)
        self.sources = [self._source(box, CROSSING_ROWS if id(box.node) in long else train, threaded) for box in inputs]
        self._join_boxes(joined)

    @property
    def round_rows(self) -> int:
        """How many rows a source gives in one round, if it has them at hand."""
        return _SOURCE_ROWS if self.pool is None else CROSSING_ROWS

    @property
    def is_threaded(self) -> bool:
        """Are there threads beside the one that reads the result?"""
        return self.pool is not None or any(isinstance(s.feed, ThreadFeed) for s in self.sources)

    def _join_boxes(self, joined: Sequence[Superbox]) -> None:
        """Give sources, and the first boxes of other superboxes, what runs them."""
        boxes = {id(box.node): box for box in self.boxes}
        of = {id(source.box.node): source for source in self.sources}
        for found in joined:
            if found.code is None:
                continue
            path = [boxes[id(node)] for node in found.nodes]
            if path[0].node.is_source:
                of[id(path[0].node)].superbox = RunningSuperbox(path, found, self.pool)
            else:
                path[0].superbox = InnerSuperbox(path, found)

    def _build(self, root: Node, options: Options) -> bool:
        """Make boxes and arcs. True if a source's policy or an operator looks at the clock."""
        asked, needed = interests(root), needed_columns(root)
        boxes: dict[int, Box] = {}
        timers = False
        for node in walk(root):
            context = Context(
                node.input_schemas(), options.batch_rows, needed[id(node)], asked[id(node)], self.clock.now
            )
            box = boxes[id(node)] = self._box(node, context, options)
            operator = box.operator
            room = Room(options.late_rows)
            for ledger in operator.ledgers:
                ledger.room = room
            for port, edge in enumerate(node.inputs):
                arc = Arc(box, port, edge.route, options.batch_rows)
                boxes[id(edge.node)].outputs.append(arc)
                box.inputs.append(arc)
            if node.is_source:
                operator = box.input_operator
                stamps = Stamps(box, self.clock, node.schema.field(operator.spec.time).type)
                box.stamps, operator.made = stamps, stamps.note
                for progress in operator.clocked:  # raises if the clock cannot count in the column's unit
                    self.clock.now(node.schema.field(progress.attribute).type)
                    timers = True
            if node.spec.clocked:
                self.clocked.append(box)
                timers = True
        boxes[id(root)].outputs.append(self.result)
        self.boxes = list(boxes.values())
        return timers

    def _box(self, node: Node, context: Context, options: Options) -> Box:
        columns = node.spec.shard_columns(node.input_schemas())
        sizes: dict[str, Any] = {"batch_rows": options.batch_rows, "queue_rows": options.queue_rows}
        if self.pool is None or columns is None:
            # rows that cross to threads together must not be split by turns
            turn_rows = max(TURN_BATCHES * options.batch_rows, 0 if self.pool is None else CROSSING_ROWS)
            operator = node.spec.start(context)
            return Box(node, operator, self.gauge, check=options.check, turn_rows=turn_rows, **sizes)
        sharded = Sharded(node.spec, context, columns, self.pool.threads, self.pool)
        superbox = shard_superbox(node, context.wanted) if options.joins_boxes else None
        if superbox is not None:
            for shard in sharded.shards:
                shard.program = ShardProgram(shard.operator, superbox)
        return ShardedBox(node, sharded, self.gauge, check=options.check, **sizes)

    def _source(self, box: Box, train: int, threaded: bool) -> Source:
        """An input with its feed. ``train`` is about how many rows a train has, where that many are at hand."""
        data = box.node.data
        assert data is not None
        try:
            trains = data.trains(train)
        except OopError as wrong:
            raise wrong.located(box.node.site) from None
        if data.ring is not None:
            self.pause = min(self.pause, data.ring.pause)
            return Source(box, RingFeed(trains, data.ring))
        live = (threaded or data.progress is not None) and data.kind == "live"
        return Source(box, ThreadFeed(trains, self.arrived) if live else DirectFeed(trains, data.waiting))


def _with_long_trains(joined: Sequence[Superbox], gathers: Container[int], is_alone: bool) -> set[int]:
    """The sources whose trains are longer, by id of their nodes. Lanes wait for each other twice in each train. A
    program that puts rows into state holds none of them, so a source that ``is_alone`` has longer trains as well, which
    cost fewer calls; of several sources, one would come further ahead of the others. What ``gathers`` only so many
    groups is asked after each train whether there are too many."""
    return {
        id(superbox.nodes[0])
        for superbox in joined
        if (code := superbox.code) is not None
        and id(superbox.nodes[-1]) not in gathers
        and (code.shard is not None or (is_alone and superbox.rows is None))
    }


def _threads_for(root: Node) -> int:
    """The number of threads that pays. Below a million rows, starting threads costs more than they save."""
    rows = sum(node.data.count_rows() or 0 for node in sources(root) if node.data is not None)
    return min(os.cpu_count() or 1, _MOST_THREADS) if rows >= _MANY_ROWS else 1
