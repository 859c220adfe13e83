"""A plan cut into stages, between which rows are shuffled by key.

*Producers* are the nodes at which rows begin or are held: sources and operators with state. They are numbered in the
order of the plan. Between two producers stand only operators that pass rows. A producer's worker runs all of them, and
ships their output to the *stages* (operators with state) behind them, or to the result. Promises are not pushed through
these operators: a stage keeps what each producer has promised, and translates that (`port_frontier`).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from functools import cached_property
from typing import Any

import pyarrow as pa

from oop.frozen import frozen
from oop.io.data import Data
from oop.operators.core.context import Context
from oop.operators.core.operator import Operator
from oop.operators.core.spec import UsedColumns
from oop.operators.source.input import Input
from oop.plan.graph import Edge, Node, consumers, interests, needed_columns, walk
from oop.punctuation import Frontier, Interest


@frozen(eq=False)
class Stages:
    """``root`` is a plan without its data, so that it can be shipped. ``shards`` is the number of workers of each
    stage. ``foreign`` are the numbers of the sources whose rows Spark reads; these are stages, too.
    """

    root: Node
    shards: int
    foreign: frozenset[int] = frozenset()

    def __reduce__(self) -> tuple[Any, ...]:
        """Ship it without cached results: they are keyed by the identity of nodes, which differs in another process."""
        return Stages, (self.root, self.shards, self.foreign)

    @cached_property
    def nodes(self) -> list[Node]:
        return walk(self.root)

    @cached_property
    def producers(self) -> list[Node]:
        return [n for n in self.nodes if not n.spec.passes]

    @property
    def result(self) -> int:
        """The number that stands for the result; it is greater than those of all stages."""
        return len(self.producers)

    @cached_property
    def sources(self) -> list[int]:
        return [i for i, n in enumerate(self.producers) if n.is_source]

    @cached_property
    def stages(self) -> list[int]:
        """The stages that hold state between micro-batches, in the order in which rows pass them."""
        return [i for i, n in enumerate(self.producers) if not n.is_source or i in self.foreign]

    @cached_property
    def _numbers(self) -> dict[int, int]:
        return {id(n): i for i, n in enumerate(self.producers)}

    def number(self, node: Node) -> int:
        return self._numbers[id(node)]

    @cached_property
    def _readers(self) -> dict[int, list[tuple[Node, int]]]:
        return consumers(self.root)

    def readers(self, node: Node) -> Iterator[tuple[Node, int, int | None]]:
        """The nodes that read a node, each with its port, and the output that it reads if the node is a split."""
        for reader, port in self._readers.get(id(node), ()):
            yield reader, port, reader.inputs[port].route

    @cached_property
    def _needed(self) -> dict[int, UsedColumns]:
        return needed_columns(self.root)

    def wanted(self, node: Node) -> UsedColumns:
        """The columns of a node that are used; None if all of them are."""
        return self._needed[id(node)]

    def start(self, node: Node) -> Operator:
        """A running operator, which leaves out columns that are not used."""
        return node.spec.start(Context(node.input_schemas(), wanted=self.wanted(node)))

    def source_schema(self, number: int, whole: bool) -> pa.Schema:
        """The columns of a source that must be read: those that are used, and those that its promises depend on. With
        ``whole``, or if a late row is an error that shows the row, all of them are read. Row numbers are not read.
        """
        node = self.producers[number]
        (schema,) = node.input_schemas()
        used = self.wanted(node)
        if whole or used is None or node.source.late == "raise":
            return schema
        used |= set(policy_columns(node.source, schema))
        return pa.schema([field for field in schema if field.name in used])

    def columns(self, number: int, port: int) -> list[str]:
        """The columns that must be shipped to a port of a stage."""
        node = self.producers[number]
        asked = node.spec.needs(self.wanted(node), node.input_schemas())[port]
        return [name for name in node.input_schemas()[port].names if asked is None or name in asked]

    def shard_columns(self, number: int, port: int) -> tuple[str, ...] | None:
        """The columns by which the rows for a stage are parted. None if its first shard takes all rows.

        An operator that promises by counting rows has only one shard, because no shard could count for the others.
        """
        node = self.producers[number]
        columns = None if node.spec.counts else node.spec.shard_columns(node.input_schemas())
        return None if columns is None else columns[port]

    def promised(self, number: int, workers: Sequence[Frontier]) -> Frontier:
        """What a producer has promised, given what its workers have promised. If one worker takes all rows, that one
        alone counts."""
        if not self.producers[number].is_source and self.shard_columns(number, 0) is None:
            return workers[0]
        return Frontier.meet(workers)

    @cached_property
    def _interests(self) -> dict[int, list[Interest]]:
        return interests(self.root)

    def interests(self, number: int) -> list[Interest]:
        """The promises of a producer that help its consumers."""
        return self._interests[id(self.producers[number])]

    def targets(self, number: int) -> set[int]:
        """The stages that a producer's rows and promises may reach, and perhaps the result."""
        found: set[int] = set()
        waiting = [self.producers[number]]
        while waiting:
            node = waiting.pop()
            if node is self.root:
                found.add(self.result)
            for reader, _, _ in self.readers(node):
                if reader.spec.passes:
                    waiting.append(reader)
                else:
                    found.add(self.number(reader))
        return found

    def senders(self, number: int) -> list[int]:
        """The producers whose promises a stage must hear."""
        return [i for i in range(number) if number in self.targets(i)]

    def port_frontier(self, number: int, port: int, promised: Mapping[int, Frontier]) -> Frontier:
        """What is promised on a port of a stage, given what the producers have promised."""
        node = self.producers[number].inputs[port].node
        given = {id(self.producers[i]): frontier for i, frontier in promised.items()}
        return _translate(node, given)

    @cached_property
    def _names(self) -> list[str]:
        found: list[str] = []
        for node in self.producers:
            name = node.source.source if node.is_source else node.spec.name
            unique, n = name, 2
            while unique in found:
                unique, n = f"{name} ({n})", n + 1
            found.append(unique)
        return found

    def name(self, number: int) -> str:
        """The name of a producer in the progress and among late files: the user's name of a source, or the operator's
        name."""
        return self._names[number]

    def workers(self, number: int) -> int:
        """The number of frontiers that a stage keeps for a producer: one for a source, one for each shard of a
        stage."""
        return 1 if self.producers[number].is_source else self.shards


def _translate(node: Node, given: Mapping[int, Frontier]) -> Frontier:
    if id(node) in given:
        return given[id(node)]
    if not node.spec.passes:
        return Frontier()  # it has promised nothing yet
    return node.crossing.translate([_translate(e.node, given) for e in node.inputs])


def without_data(root: Node) -> Node:
    """The plan with sources that know only the schema of their data."""
    made: dict[int, Node] = {}
    for node in walk(root):
        inputs = tuple(Edge(made[id(e.node)], e.route) for e in node.inputs)
        data = node.data
        if data is not None:
            data = Data(data.schema, data.kind, data.label, _no_data, data.batch_rows)
        made[id(node)] = replace(node, inputs=inputs, data=data)
    return made[id(root)]


def _no_data() -> Iterator[pa.RecordBatch]:
    raise AssertionError("a plan that was shipped has no data")


def policy_columns(spec: Input, schema: pa.Schema) -> list[str]:
    """The columns that a source's promises depend on. Promises in the data may name any column."""
    if any(policy.carried for _, policy in spec.policies):
        return list(schema.names)
    columns = [spec.time]
    for attribute, policy in spec.policies:
        columns += [attribute, *(policy.attributes or ()), *policy.columns]
    return list(dict.fromkeys(columns))
