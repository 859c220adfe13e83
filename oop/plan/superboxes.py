"""Superboxes: boxes that run as a unit (Scheduling paper, section 4.1), as one program from a source to state.

Whatever passes rows behind a source, up to and including what the next operator with state does with a row, becomes one
program (`oop.kernels.steps`), if all of it can be written as steps.
"""

from __future__ import annotations

from collections.abc import Sequence

from oop.frozen import frozen
from oop.kernels.steps import ProgramCode
from oop.operators.core.writing import ProgramWriter, Unwritten
from oop.plan.graph import Node, consumers, sources


@frozen(eq=False)
class Superbox:
    """The nodes from a source on that become one program; without one, ``reason`` says what ``stops`` it."""

    nodes: tuple[Node, ...]
    code: ProgramCode | None = None
    reason: str = ""
    stops: Node | None = None


def superboxes(root: Node, parts: bool = False) -> list[Superbox]:
    """The superbox of each source; with ``parts`` its program takes the rows of one shard of several, if its operator
    has keys.

    >>> import oop, pyarrow as pa
    >>> s = oop.source(pa.table({"ts": [1], "len": [40]}), time="ts", punctuate=oop.ordered())
    >>> counts = s.filter(oop.col("len") > 20).window(oop.tumbling(10)).agg(n=oop.count())
    >>> [found] = superboxes(counts.flow.node)
    >>> [node.spec.name for node in found.nodes], [step.op.name for step in found.code.steps][:4]
    (['Source', 'Filter', 'Bucket', 'Aggregate'], ['LOAD', 'GUARD', 'MARK', 'LOAD'])
    """
    readers = consumers(root)
    return [_superbox(_path(source, readers), parts) for source in sources(root)]


def superbox_notes(root: Node, parts: bool = False) -> dict[int, str]:
    """By id of a node: that a superbox ends there, or why none goes through it."""
    found: dict[int, str] = {}
    for superbox in superboxes(root, parts):
        if superbox.code is not None:
            *before, last = superbox.nodes
            names = ", ".join(node.spec.name for node in before)
            found[id(last)] = f"one program with {names}"
        else:
            stops = superbox.stops or superbox.nodes[-1]
            found[id(stops)] = f"no program: {superbox.reason}"
    return found


def _path(source: Node, readers: dict[int, list[tuple[Node, int]]]) -> list[Node]:
    """The nodes from a source on, each of which is the only reader of the one before it."""
    path = [source]
    while len(found := readers.get(id(path[-1]), [])) == 1:
        following, port = found[0]
        if following.inputs[port].route is not None:
            break
        path.append(following)
    return path


def _superbox(path: Sequence[Node], parts: bool) -> Superbox:
    place = 0
    try:
        writer = ProgramWriter(path[0].input_schemas()[0])
        writer.parts = parts
        for place, node in enumerate(path):
            code = node.spec.write(writer, node.input_schemas())
            if code is not None:
                return Superbox(tuple(path[: place + 1]), code)
            writer.mark()
    except Unwritten as why:
        return Superbox(tuple(path[:place]), reason=str(why), stops=path[place])
    return Superbox(tuple(path), reason="nothing behind it has state")
