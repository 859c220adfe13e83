"""The answer to `Run.blame`: which sources keep an operator from releasing what it holds.

The operator says which promise would release what it holds, and the plan's crossings say whether that promise follows.
A source holds it back if and only if the promise would not follow even if every other source had ended. The promise
that is needed from that source is found by trying bounds.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence

from oop.engines.blame import Blame, Holder, Link
from oop.engines.embedded.boxes import Box
from oop.engines.embedded.stamps import Stamps
from oop.errors import TimeError
from oop.operators.core.operator import Held
from oop.operators.core.times import is_time_type, is_whole, show_time, unit_of
from oop.operators.source.input import Input
from oop.operators.source.numbers import SEQ
from oop.plan.graph import Node, frontiers, sources, walk
from oop.punctuation import END, Equal, Frontier, NotIn, Punctuation
from oop.punctuation.group_promises import where as group_patterns
from oop.punctuation.patterns import Bound, GroupPattern, Value
from oop.punctuation.search import least_bound

Where = Mapping[str, GroupPattern]
_TRIED = 1_000  # groups that are tried, those with the least progress first
_SHOWN = 3


def find_blame(boxes: Sequence[Box]) -> Blame | None:
    """Why the oldest thing is held that the operators nearest to the result hold; None if they hold nothing."""
    held = [(b, h) for b in boxes if (h := b.operator.oldest()) is not None]
    feeding = {id(n) for box, _ in held for n in walk(box.node) if n is not box.node}
    found = [_Trace(boxes, box, h).blame() for box, h in held if id(box.node) not in feeding]
    return min(found, key=lambda b: min((s.progress for s in b.sources), default=math.inf), default=None)


class _Trace:
    """The way from one operator, which holds something back, to its sources."""

    def __init__(self, boxes: Sequence[Box], box: Box, held: Held) -> None:
        self.box, self.held = box, held
        self.at = box.node.inputs[held.port].node
        self.boxes = {id(b.node): b for b in boxes}
        self.sources = sources(self.at)
        self.known = {id(s): _known(self.boxes[id(s)]) for s in self.sources}

    def blame(self) -> Blame:
        held_by = [s for s in self.sources if not self.released({id(s): self.known[id(s)]})]
        if not held_by and not self.released(self.known):
            held_by = [s for s in self.sources if not self.known[id(s)].ended]
        holders = sorted(((self.holder(s), s) for s in held_by), key=lambda pair: pair[0].progress)
        links = tuple(self.links(holders[0][1])) if holders else ()
        node = self.box.node
        return Blame(self.held.what, node.spec.describe(), node.site, links, tuple(h for h, _ in holders))

    def released(self, given: Mapping[int, Frontier]) -> bool:
        """Would the releasing promise follow if these nodes had promised this much and all other sources had ended?"""
        ended = {id(s): Frontier.of(END) for s in self.sources}
        return frontiers(self.at, {**ended, **given})[id(self.at)].covers(self.held.release)

    def least(self, node: Node, base: Frontier, attribute: str, where: Mapping[str, GroupPattern]) -> Bound | None:
        """The least bound on an attribute with which the releasing promise follows, if a node promises it in addition
        to ``base``. None if no bound is enough."""

        def enough(bound: Bound) -> bool:
            promised = base.copy()
            promised.advance(Punctuation({attribute: bound}, where))
            try:
                return self.released({id(node): promised})
            except TimeError:  # no window can reach this bound; a greater one than the start counts as enough
                return bound > near

        type_ = node.schema.field(attribute).type
        start = _bound(base, attribute, where)
        if start is None or math.isinf(start):
            start = min((b for b in self.held.release.below.values() if not math.isinf(b)), default=0)
        near = math.ceil(start) if is_whole(type_) else float(start)
        return least_bound(enough, near) if enough(math.inf) else None

    def holder(self, source: Node) -> Holder:
        box, known, spec = self.boxes[id(source)], self.known[id(source)], source.source
        where = self.group(source, known)
        own = _only(known, where)
        attribute, bound = spec.time, None
        for name in _attributes(spec):
            bound = self.least(source, own, name, where)
            if bound is not None:
                attribute = name
                break
        promised = _bound(own, attribute, where)
        stamps = box.stamps
        assert isinstance(stamps, Stamps)
        ago, rows = stamps.since(attribute, promised, where)
        type_ = source.schema.field(attribute).type
        return Holder(
            spec.source,
            source.site,
            _show_group(box, attribute, where),
            None if promised is None else f"{attribute} < {show_time(promised, type_)}",
            ago,
            rows,
            END if bound is None else Punctuation({attribute: bound}, where),
            "ends" if bound is None else f"promises {attribute} < {show_time(bound, type_)}",
            -math.inf if promised is None else float(promised) * (unit_of(type_) or 1),
        )

    def group(self, source: Node, known: Frontier) -> Where:
        """The group (or the rest of a column's groups) that would hold back the result even if all other groups had
        ended. Empty if there is no such group."""
        if known.has_several:
            return self.group_of_several(source, known)
        for column, grouping in known.by.items():
            asked = [p for p in self.held.release.where.values() if isinstance(p, Equal)]
            rest: GroupPattern = NotIn(grouping.groups)
            attributes = _attributes(source.source)
            each: list[Where] = [{column: pattern} for pattern in (rest, *map(Equal, grouping.groups))]
            named = sorted(each, key=lambda where: _progress(known, where, attributes))
            for where in (*({column: pattern} for pattern in asked), *named[:_TRIED]):
                try:
                    if not self.released({id(source): _only(known, where)}):
                        return where
                except TypeError:  # a group of another column, whose values this column cannot have
                    continue
        return {}

    def group_of_several(self, source: Node, known: Frontier) -> Where:
        """Like `group`, for groups of several columns together. The rest of such groups cannot be said by patterns of
        single columns. If it is the rest that holds back the result, no group is named."""
        if len(known.across.single) != 1 or known.across.mixed or known.by or known.ranges:
            return {}
        ((columns, bounds),) = known.across.single.items()
        groups: list[Where] = [group_patterns(columns, group) for group in bounds.groups()]
        release = self.held.release.where
        asked = {c: release[c] for c in columns if isinstance(release.get(c), Equal)}
        if len(asked) == len(columns):
            groups = [asked]
        elif not self.released({id(source): _rest_only(known, groups)}):
            return {}
        attributes = _attributes(source.source)
        for where in sorted(groups, key=lambda where: _progress(known, where, attributes))[:_TRIED]:
            if not self.released({id(source): _only(known, where)}):
                return where
        return {}

    def links(self, source: Node) -> Iterator[Link]:
        """The operators on the way to a source that hold rows themselves, or have several inputs."""
        for node in _path(self.at, source):
            if node.is_source or (node.spec.passes and len(node.inputs) < 2):
                continue
            frontier = self.boxes[id(node)].frontier
            for attribute in [f.name for f in node.schema if is_time_type(f.type) and not f.name.startswith("__")]:
                where = {c: p for c, p in self.held.release.where.items() if c in node.schema.names and c != attribute}
                bound = self.least(node, frontier, attribute, where)
                if bound is not None:
                    yield _link(node, frontier, attribute, bound, where)
                    break


def _link(node: Node, frontier: Frontier, attribute: str, bound: Bound, where: Mapping[str, GroupPattern]) -> Link:
    type_ = node.schema.field(attribute).type
    promised = _bound(frontier, attribute, where)
    groups = "".join(f", {c} {p}" for c, p in where.items())
    return Link(
        node.spec.describe(),
        node.site,
        f"{attribute} < {show_time(bound, type_)}{groups}",
        None if promised is None else f"{attribute} < {show_time(promised, type_)}{groups}",
    )


def _path(node: Node, source: Node) -> list[Node]:
    """The nodes on the way from ``node`` to a source that feeds it, both included; empty if it does not feed it."""
    if node is source:
        return [node]
    for edge in node.inputs:
        rest = _path(edge.node, source)
        if rest:
            return [node, *rest]
    return []


def _known(box: Box) -> Frontier:
    """Everything that a source has promised, also promises that helped no consumer and so did not leave it."""
    operator = box.input_operator
    known = box.frontier.copy()
    for promise in (*operator.ports.frontiers[0].promises(), *(p for g in operator.progress for p in g.so_far())):
        known.advance(promise)
    return known


def _only(known: Frontier, where: Mapping[str, GroupPattern]) -> Frontier:
    """What is promised about one group, or about the rest, as if all other groups had ended."""
    if not where:
        return known
    others: list[dict[str, GroupPattern]] = []
    same: dict[str, GroupPattern] = {}
    for column, pattern in where.items():  # adds the groups that differ in this column and in no earlier one
        assert isinstance(pattern, Equal | NotIn)  # held groups are named one by one
        different = [NotIn([pattern.value])] if isinstance(pattern, Equal) else [Equal(v) for v in pattern.values]
        others += ({**same, column: other} for other in different)
        same[column] = pattern
    own = known.at({c: _some(p) for c, p in where.items()})
    return Frontier.of(*(Punctuation({}, other) for other in others), *(Punctuation(c, where) for c in own))


def _rest_only(known: Frontier, groups: Sequence[Mapping[str, GroupPattern]]) -> Frontier:
    """What is promised about all rows, as if these groups had ended."""
    return Frontier.of(*map(Punctuation, known.all), *(Punctuation({}, group) for group in groups))


class _Other:
    """A value that no promise names."""


_OTHER = _Other()


def _some(pattern: GroupPattern) -> Value:
    return pattern.value if isinstance(pattern, Equal) else _OTHER


def _bound(frontier: Frontier, attribute: str, where: Mapping[str, GroupPattern]) -> Bound | None:
    return frontier.bound(attribute, {c: _some(p) for c, p in where.items()})


def _progress(known: Frontier, where: Mapping[str, GroupPattern], attributes: Sequence[str]) -> float:
    bounds = [_bound(known, a, where) for a in attributes]
    return min((-math.inf if b is None else float(b) for b in bounds), default=-math.inf)


def _attributes(spec: Input) -> list[str]:
    """The attributes that a source promises about; none if it promises nothing before its end."""
    policies = [(a, p) for a, p in spec.policies if p.promises_before_end]
    counted = [*([SEQ] if spec.numbers else []), *([spec.time] if spec.polled else [])]
    return list(dict.fromkeys([*(n for a, p in policies for n in p.attributes or (a,)), *counted]))


def _show_group(box: Box, attribute: str, where: Mapping[str, GroupPattern]) -> str | None:
    """The group that holds back the result, as text. If it is the rest, the groups that the rest waits for, if the
    policy knows them."""
    if where and all(isinstance(pattern, Equal) for pattern in where.values()):
        return f"group {_show(where)}"
    operator = box.input_operator
    for progress in operator.progress:
        if progress.attribute == attribute and not progress.is_independent:
            slowest = progress.slowest()
            patterns = [_show(group_patterns(progress.columns, group)) for group in slowest[:_SHOWN]]
            shown = ", ".join(patterns if len(progress.columns) == 1 else (f"({p})" for p in patterns))
            more = f" and {len(slowest) - _SHOWN:,} more" if len(slowest) > _SHOWN else ""
            return f"group{'s' if len(slowest) > 1 else ''} {shown}{more}" if slowest else None
    return f"groups of {', '.join(where)} without a promise of their own" if where else None


def _show(where: Mapping[str, GroupPattern]) -> str:
    return ", ".join(f"{column} {pattern}" for column, pattern in where.items())
