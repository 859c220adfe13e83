"""Programs of plans that are cut into stages, between which rows are shuffled.

A stage, an operator with state, runs in other processes than the operators in front of it. So what would be one
program in one process (`superboxes.py`) is two. The first is the *passage*: from a source, or from what another stage
puts out, over the operators that pass rows, to the partial aggregates, which the next stage accepts instead of rows.
The second one takes rows into the groups of a stage, where rows come unreduced.

Batches are large there, and have to be made anew for the shuffle. So a program pays only if it ends at groups: rows
that are handed out cost as much with it as without.
"""

from __future__ import annotations

from typing import NamedTuple

import pyarrow as pa

from oop.kernels.steps import ProgramCode
from oop.operators.core.writing import ProgramWriter, Unwritten
from oop.plan.graph import Node, consumers, needed_columns, walk


class PassageCode(NamedTuple):
    """A program for the batches of a producer. ``nodes`` pass rows; if the producer is a source, it is the first of
    them, and the program judges its rows. It ends at the partial aggregates of the ``stage``."""

    nodes: tuple[Node, ...]
    stage: Node
    schema: pa.Schema
    """The columns of the batches that it takes."""
    code: ProgramCode


def passage_code(root: Node, producer: Node, schema: pa.Schema) -> PassageCode:
    """The program for the batches with these columns that a producer takes, if it is a source, or else puts out.
    `Unwritten` if there is none.

    >>> import oop
    >>> s = oop.source(pa.table({"ts": [1], "len": [40]}), time="ts", punctuate=oop.ordered())
    >>> counts = s.filter(oop.col("len") > 20).window(oop.tumbling(10)).agg(n=oop.count())
    >>> from oop.plan.graph import sources
    >>> source = sources(counts.flow.node)[0]
    >>> found = passage_code(counts.flow.node, source, source.schema)
    >>> [node.spec.name for node in found.nodes], found.stage.spec.name
    (['Source', 'Filter', 'Bucket'], 'Aggregate')
    """
    *nodes, stage = path = passage(root, producer)
    spec = stage.spec
    if len(path) < 2 or spec.passes:
        raise Unwritten("nothing behind it has state, or several operators read it")
    if spec.forbids_partials or spec.partials(stage.input_schemas()) is None:
        raise Unwritten(f"{spec.name} takes no partial aggregates")
    needed = needed_columns(root)
    writer = ProgramWriter(schema)
    nodes = nodes if producer.is_source else nodes[1:]
    for node in nodes:
        writer.wanted = needed[id(node)]
        if node.spec.write(writer, node.input_schemas()) is not None:
            raise Unwritten(f"{node.spec.name} hands rows out itself")
        writer.mark()
    return PassageCode(tuple(nodes), stage, schema, _groups(root, stage, writer))


def passage(root: Node, producer: Node) -> list[Node]:
    """The nodes from a producer on, each the only reader of the one before it, up to the next stage, if they lead to
    one."""
    readers = consumers(root)
    path = [producer]
    while len(path) == 1 or path[-1].spec.passes:
        found = readers.get(id(path[-1]), [])
        if len(found) != 1 or found[0][0].inputs[found[0][1]].route is not None:
            break
        path.append(found[0][0])
    return path


def stage_code(root: Node, stage: Node, schema: pa.Schema) -> ProgramCode:
    """The program that takes rows with these columns into the groups of a stage; `Unwritten` if there is none."""
    return _groups(root, stage, ProgramWriter(schema))


def stage_program_notes(root: Node) -> dict[int, str]:
    """By id of a stage: which programs end there, or why none does."""
    found: dict[int, list[str]] = {}
    nodes = walk(root)
    for source in nodes:
        if not source.is_source or (source.data is not None and source.data.frame is not None):
            continue  # the rows of a DataFrame come by channels
        end = passage(root, source)[-1]
        try:
            code = passage_code(root, source, source.input_schemas()[0])
            note = "one program with " + ", ".join(node.spec.name for node in code.nodes)
        except Unwritten as why:
            note = f"no program: {why}"
        found.setdefault(id(end), []).append(note)
    return {node: "; ".join(dict.fromkeys(notes)) for node, notes in found.items()}


def _groups(root: Node, stage: Node, writer: ProgramWriter) -> ProgramCode:
    """The program that ends at the groups of a stage."""
    writer.wanted = needed_columns(root)[id(stage)]
    code = stage.spec.write(writer, stage.input_schemas())
    if not isinstance(code, ProgramCode) or code.sessions is not None:
        raise Unwritten(f"{stage.spec.name} has no groups")
    return code
