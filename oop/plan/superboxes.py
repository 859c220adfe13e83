"""Superboxes: boxes that run as a unit (Scheduling paper, section 4.1), as one program from a source to state.

Whatever passes rows behind a source, up to and including what the next operator with state does with a row, becomes one
program (`oop.kernels.steps`), as far as it can be written as steps. Something that has no steps cuts it in two: the
first program hands its rows out, and another one begins behind it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

import pyarrow as pa

from oop.frozen import frozen
from oop.kernels.steps import ProgramCode
from oop.operators.core.spec import UsedColumns
from oop.operators.core.writing import PARTED_ONCE, ProgramWriter, RowsCode, Unwritten
from oop.operators.passing.union import Union
from oop.plan.graph import Node, consumers, needed_columns, walk

_FORKS = "several operators read it"


@frozen(eq=False)
class Superbox:
    """Nodes that follow each other and become one program. The first may be a source. If the last one has no state, or
    is a dedup, the program hands out ``rows``.

    ``reason`` says why it goes no further than it does, at the node that ``stops`` it. Without ``code`` that is the
    first node, or nothing is gained.
    """

    nodes: tuple[Node, ...]
    schema: pa.Schema
    """The columns of the batches that it takes."""
    code: ProgramCode | None = None
    rows: RowsCode | None = None
    reason: str = ""
    stops: Node | None = None
    keeps_order: bool = False
    """Must rows stay in order, because its last node, or whatever they are handed out to, goes by that?"""

    @property
    def has_state(self) -> bool:
        """Does its program put rows into the state of its last node?"""
        return self.code is not None and (self.rows is None or self.code.distinct)


def superboxes(root: Node, parts: bool = False) -> list[Superbox]:
    """The superboxes of a plan: that of each source, then those that begin elsewhere. With ``parts`` the program of a
    source takes the rows of one shard of several, if its operator has keys.

    >>> import oop, pyarrow as pa
    >>> s = oop.source(pa.table({"ts": [1], "len": [40]}), time="ts", punctuate=oop.ordered())
    >>> counts = s.filter(oop.col("len") > 20).window(oop.tumbling(10)).agg(n=oop.count())
    >>> [found] = superboxes(counts.flow.node)
    >>> [node.spec.name for node in found.nodes], [step.op.name for step in found.code.steps][:4]
    (['Source', 'Filter', 'Bucket', 'Aggregate'], ['LOAD', 'GUARD', 'MARK', 'LOAD'])
    """
    readers, nodes, needed = consumers(root), walk(root), needed_columns(root)
    paths = [_path(node, readers) for node in nodes if node.is_source]
    forks = [len(readers.get(id(path[-1]), [])) > 1 for path in paths]
    found = [
        _superbox(path, path[0].input_schemas()[0], parts, needed, fork)
        for path, fork in zip(paths, forks, strict=True)
    ]
    inside = {id(node) for superbox in found if superbox.code is not None for node in superbox.nodes}
    for node in nodes:
        if id(node) in inside or node.is_source or len(node.inputs) != 1 or node.inputs[0].route is not None:
            continue
        before = node.inputs[0].node
        wanted = needed[id(before)]
        given = pa.schema([field for field in before.schema if wanted is None or field.name in wanted])
        superbox = _superbox(_path(node, readers), given, parts, needed)
        if superbox.code is not None:
            found.append(superbox)
            inside.update(map(id, superbox.nodes))
    any_needs_order = any(node.spec.needs_order for node in nodes)
    return [
        replace(superbox, keeps_order=any_needs_order if superbox.rows else superbox.nodes[-1].spec.needs_order)
        for superbox in found
    ]


def superbox_notes(root: Node, parts: bool = False) -> dict[int, str]:
    """By id of a node: that a superbox ends there, or why none goes through it."""
    found: dict[int, list[str]] = {}
    for superbox in superboxes(root, parts):
        if superbox.code is not None:
            *before, last = superbox.nodes
            names = ", ".join(node.spec.name for node in before)
            found.setdefault(id(last), []).append(f"one program with {names}" if names else "one program")
        if superbox.reason:
            stops = superbox.stops or superbox.nodes[-1]
            found.setdefault(id(stops), []).append(f"no program: {superbox.reason}")
    return {node: "; ".join(dict.fromkeys(notes)) for node, notes in found.items()}


def shard_superbox(node: Node, wanted: UsedColumns) -> Superbox | None:
    """The superbox of an operator in front of which rows are parted once: each shard has its program. ``wanted`` are
    the columns that are used behind it. None if no program in front of it would end here, or it has no steps."""
    inputs = node.input_schemas()
    if len(inputs) != 1:
        return None
    (needed,) = node.spec.needs(wanted, inputs)
    schema = pa.schema([field for field in inputs[0] if needed is None or field.name in needed])
    try:
        writer = ProgramWriter(schema)
        writer.known, writer.wanted = frozenset(schema.names), wanted  # batches with nulls are not for the program
        if not _is_parted_once(node, writer.copy()):
            return None
        code = node.spec.write(writer, inputs)
    except Unwritten:
        return None
    if isinstance(code, RowsCode):
        return Superbox((node,), schema, code.code, code)
    return None if code is None else Superbox((node,), schema, code)


def _is_parted_once(node: Node, writer: ProgramWriter) -> bool:
    """Does a program that sends rows to shards end in front of this node?"""
    writer.parts = True
    try:
        node.spec.write(writer, node.input_schemas())
    except Unwritten as why:
        return str(why) == PARTED_ONCE
    return False


def _path(first: Node, readers: dict[int, list[tuple[Node, int]]]) -> list[Node]:
    """The nodes from one on, each of which is the only reader of the one before it."""
    path = [first]
    while len(found := readers.get(id(path[-1]), [])) == 1:
        following, port = found[0]
        if following.inputs[port].route is not None:
            break
        path.append(following)
    return path


def _superbox(
    path: Sequence[Node], schema: pa.Schema, parts: bool, needed: Mapping[int, UsedColumns], forks: bool = False
) -> Superbox:
    """The superbox of a path. If the path ``forks`` at its end, no program hands rows out there: a whole train would go
    into both queues at once, and a join where they meet again would hold it."""
    place, reason = 0, ""
    try:
        writer = ProgramWriter(schema)
        writer.parts = parts and path[0].is_source
        for place, node in enumerate(path):
            attempt = writer.copy()
            if parts and not path[0].is_source and node.spec.shard_columns(node.input_schemas()) is not None:
                raise Unwritten("it is spread over threads")
            attempt.wanted = needed[id(node)]
            code = node.spec.write(attempt, node.input_schemas())
            if isinstance(code, RowsCode):
                if forks and node is path[-1]:
                    raise Unwritten(_FORKS)
                return Superbox(tuple(path[: place + 1]), schema, code.code, code)
            if code is not None:
                return Superbox(tuple(path[: place + 1]), schema, code)
            writer = attempt
            writer.mark()
        place, reason = len(path), _FORKS if forks else ""
    except Unwritten as why:
        reason = str(why)
    nodes, stops = tuple(path[:place]), path[place] if place < len(path) else None
    if reason != _FORKS and sum(not _only_hands_on(node) for node in nodes) > (not path[0].is_source):
        try:
            known = [field for field in _wanted(nodes[-1], stops) if field.name in writer.columns]
            rows = writer.rows(pa.schema(known))  # columns that nobody needs do not come
            return Superbox(nodes, schema, rows.code, rows, reason, stops)
        except Unwritten as why:
            reason = reason or str(why)
    return Superbox(nodes or tuple(path[:1]), schema, reason=reason or "nothing behind it has state", stops=stops)


def _only_hands_on(node: Node) -> bool:
    """Does it do nothing with a row that a program would do faster?"""
    return node.is_source or isinstance(node.spec, Union)


def _wanted(last: Node, reader: Node | None) -> pa.Schema:
    """The columns of a node that must be handed out: all, unless its reader is one that is given a choice of columns
    where its rows are spread over workers."""
    if reader is None or len(reader.inputs) != 1 or reader.spec.shard_columns(reader.input_schemas()) is None:
        return last.schema
    wanted = reader.spec.needs(None, reader.input_schemas())[0]
    return pa.schema([field for field in last.schema if wanted is None or field.name in wanted])
