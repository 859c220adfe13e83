"""The plan: an immutable graph of specs, and what can be known about it before it runs.

One node may feed several others (a diamond); it runs once. `check_emits` finds operators that no promise could ever
unblock, and `interests` finds which promises help which nodes.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import cached_property

import pyarrow as pa

from oop.errors import NeverEmits, OopError, TimeError
from oop.frozen import frozen
from oop.operators.core.spec import Spec, UsedColumns
from oop.operators.core.times import is_time_type, unit_of
from oop.operators.passing.filter import Filter
from oop.operators.source.input import Input
from oop.plan.source_data import SourceData
from oop.punctuation import END, Frontier, Interest
from oop.punctuation.crossing import Crossing


@frozen(eq=False)
class Edge:
    """What a node reads: another node, or one output of it (``route``) if that is a split."""

    node: Node
    route: int | None = None


@frozen(eq=False)
class Node:
    """A spec with the edges that feed it, the user's line (``site``), the step as the user wrote it (``call``), and the
    columns that it gives. A source also has its data."""

    spec: Spec
    inputs: tuple[Edge, ...]
    site: str
    call: str
    schema: pa.Schema
    data: SourceData | None = None

    @property
    def is_source(self) -> bool:
        return isinstance(self.spec, Input)

    @property
    def source(self) -> Input:
        """The spec of a node that is a source. It says which policies the source has, and what happens to late rows."""
        assert isinstance(self.spec, Input)
        return self.spec

    def input_schemas(self) -> list[pa.Schema]:
        if self.data is not None:
            return [self.data.schema]
        return [e.node.schema for e in self.inputs]

    @cached_property
    def crossing(self) -> Crossing:
        """How promises cross the node. It is computed once, because plans ask for it again and again."""
        return self.spec.crossing(self.input_schemas())

    def __getstate__(self) -> dict[str, object]:
        """What is shipped to another process, where the crossing is computed anew."""
        return {name: value for name, value in self.__dict__.items() if name != "crossing"}


def make_node(spec: Spec, inputs: Sequence[Edge], site: str, call: str, data: SourceData | None = None) -> Node:
    """A node whose schema has been checked. Errors name the user's line."""
    schemas = [data.schema] if data is not None else [e.node.schema for e in inputs]
    try:
        schema = spec.schema(schemas)
    except OopError as wrong:
        raise wrong.located(site) from None
    return Node(spec, tuple(inputs), site, call, schema, data)


def walk(root: Node) -> list[Node]:
    """Every node once, inputs before their consumers."""
    order: list[Node] = []
    seen: set[int] = set()
    stack: list[tuple[Node, bool]] = [(root, False)]
    while stack:
        node, expanded = stack.pop()
        if expanded:
            order.append(node)
        elif id(node) not in seen:
            seen.add(id(node))
            stack.append((node, True))
            stack.extend((e.node, False) for e in reversed(node.inputs))
    return order


def rebuilt(root: Node, make: Callable[[Node, tuple[Edge, ...]], Node]) -> Node:
    """The plan with other nodes. ``make`` is called once for each node, inputs first, with the node and its new
    inputs."""
    made: dict[int, Node] = {}
    for node in walk(root):
        made[id(node)] = make(node, tuple(Edge(made[id(e.node)], e.route) for e in node.inputs))
    return made[id(root)]


def sources(root: Node) -> list[Node]:
    return [n for n in walk(root) if n.is_source]


def consumers(root: Node) -> dict[int, list[tuple[Node, int]]]:
    """By id of a node: the nodes that read it, and on which port."""
    found: dict[int, list[tuple[Node, int]]] = {}
    for node in walk(root):
        for port, edge in enumerate(node.inputs):
            found.setdefault(id(edge.node), []).append((node, port))
    return found


def interests(root: Node) -> dict[int, list[Interest]]:
    """By id of a node: the promises that help its consumers. The reader of the result may use any of them (OOP paper,
    A.1.1)."""
    readers = consumers(root)
    wanted = {id(root): [_anything(root)]}
    for node in reversed(walk(root)):
        for reader, port in readers.get(id(node), ()):
            asked = reader.crossing.interests(wanted[id(reader)])[port]
            known = wanted.setdefault(id(node), [])
            known.extend(i for i in asked if i not in known)
        if len(wanted.setdefault(id(node), [])) > _MOST_INTERESTS:
            wanted[id(node)] = [_anything(node)]
    return wanted


def needed_columns(root: Node) -> dict[int, UsedColumns]:
    """By id of a node: the columns that its consumers use. The reader of the result may use all."""
    readers = consumers(root)
    needed: dict[int, UsedColumns] = {id(root): None}
    for node in reversed(walk(root)):
        asked = [r.spec.needs(needed[id(r)], r.input_schemas())[port] for r, port in readers.get(id(node), ())]
        if id(node) not in needed:
            needed[id(node)] = frozenset().union(*(a for a in asked if a is not None))
        if None in asked:
            needed[id(node)] = None
    return needed


_MOST_INTERESTS = 16  # each diamond doubles interests; more than this are not worth telling apart


def _anything(node: Node) -> Interest:
    return Interest(node.schema.names, by=node.schema.names)


def frontiers(root: Node, given: dict[int, Frontier]) -> dict[int, Frontier]:
    """By id of a node: what it promises when the nodes in ``given``, by their ids, promise that."""
    found: dict[int, Frontier] = {}
    for node in walk(root):
        if id(node) in given:
            found[id(node)] = given[id(node)]
        else:
            found[id(node)] = node.crossing.translate([found[id(e.node)] for e in node.inputs])
    return found


PROBES = (0, 2**20, 2**40)  # bounds that are tried; several, because no value of an unsigned column is below 0


def could_promise(root: Node, bound: int = PROBES[0], ahead: int = 1) -> dict[int, Frontier]:
    """By id of a source: what its policy may come to promise (see `Input.could_promise`)."""
    groups: dict[str, list[object]] = {}
    for node in walk(root):
        if isinstance(node.spec, Filter):
            for column, value in node.spec.predicate.fixed().items():
                groups.setdefault(column, []).append(value)
    return {id(n): n.source.could_promise(groups, bound, ahead) for n in sources(root)}


def check_emits(root: Node) -> None:
    """Refuse a plan in which an operator could never be unblocked by what its inputs promise."""
    for node in walk(root):
        blocked = [_blocking(node, could_promise(node, bound)) for bound in PROBES]
        if None in blocked:
            continue
        attribute = blocked[0]
        assert attribute is not None
        possible = could_promise(node)
        feeding = sources(node)
        for source in feeding:
            others = {k: f if k == id(source) else Frontier.of(END) for k, f in possible.items()}
            if _blocking(node, others) is not None:
                raise _never_emits(node, source, attribute)
        raise _never_emits(node, feeding[0], attribute)


def _blocking(node: Node, possible: dict[int, Frontier]) -> str | None:
    if not node.inputs:
        return None
    try:
        found = [frontiers(e.node, possible)[id(e.node)] for e in node.inputs]
    except TimeError:  # no window can reach the bound that is tried; a real bound may do better
        return None
    return node.spec.blocking(found, node.input_schemas())


def _never_emits(node: Node, source: Node, attribute: str) -> NeverEmits:
    spec = source.source
    grouped = [p for _, p in spec.policies if p.columns and not p.promises_rest]
    if grouped:
        columns = ", ".join(map(repr, grouped[0].columns))
        otherwise = 'run it with order="oop"' if node.spec.sorts else f"group by {columns}"
        return NeverEmits(
            f"{node.call} at {node.site} {node.spec.never}: input {spec.source!r} promises about {attribute!r} only "
            f"for groups of {columns} that it has seen, never for all rows",
            at=node.site,
            hint=f"name all groups with groups=[…], or retire silent ones with idle=…, or {otherwise}",
        )
    named = ", ".join(map(repr, attribute.split(", ")))
    what = f"{node.call} at {node.site} {node.spec.never}: "
    if attribute not in source.schema.names or not is_time_type(source.schema.field(attribute).type):
        about = (
            f"input {spec.source!r} makes no promise about {named}."
            if attribute
            else (
                f"it is one group of all rows, which only the end completes, and input {spec.source!r} is not at_end()."
            )
        )
        return NeverEmits(
            what + about,
            at=node.site,
            hint=node.spec.unblocked_by,
        )
    data = source.data
    shown = f'"{data.label}"' if data is not None and data.kind == "file" else "…"
    advice = "oop.slack(5)" if unit_of(source.schema.field(attribute).type) is None else 'oop.slack("5s")'
    if attribute != spec.time:
        advice = f'{{"{attribute}": {advice}}}'
    return NeverEmits(
        f"{what}input {spec.source!r} makes no promise about {attribute!r}.",
        at=node.site,
        hint=f'oop.source({shown}, time="{spec.time}", punctuate={advice})',
    )


def explain(root: Node, notes: Mapping[int, str] | None = None) -> str:
    """The plan as a tree that shows how promises cross each operator. ``notes``, by id of a node, are added to the
    lines of their nodes."""
    lines = list(_tree(root, "", "", {}, notes or {}))
    width = max((len(left) for left, right in lines if right), default=0)
    return "\n".join(f"{left:<{width}}   {right}".rstrip() if right else left for left, right in lines)


def _tree(
    node: Node, head: str, tail: str, seen: dict[int, int], notes: Mapping[int, str]
) -> Iterator[tuple[str, str]]:
    shared = seen.get(id(node))
    if shared is not None:
        yield f"{head}{node.spec.describe()}", "(the same as above)"
        return
    seen[id(node)] = len(seen)
    said = (node.spec.promise_note(), notes.get(id(node), ""))
    yield f"{head}{node.spec.describe()}", "; ".join(text for text in said if text)
    for i, edge in enumerate(node.inputs):
        last = i == len(node.inputs) - 1
        route = "" if edge.route is None else f"[{edge.route}] "
        yield from _tree(
            edge.node, f"{tail}{'└─ ' if last else '├─ '}{route}", tail + ("   " if last else "│  "), seen, notes
        )
