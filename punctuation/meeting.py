"""Which promises of two streams have rows in common: a union promises what both of its inputs do (OOP paper, figure
A-1).

Promises about different groups have no rows in common. So the promises of one stream are looked up by the groups that
they name, and streams that tell n groups apart cost about n pairs, not n times n.

>>> a, b = Punctuation({"ts": 5}, {"k": 1, "link": "A"}), Punctuation({"ts": 3}, {"link": "A"})
>>> list(intersections([a], [b])), list(intersections([a], [Punctuation({"ts": 3}, {"link": "B"})]))
([Punctuation(ts < 3, k = 1, link = 'A')], [])
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from oop.punctuation.patterns import Equal, Group
from oop.punctuation.promise import Punctuation


def intersections(ours: Iterable[Punctuation], theirs: Iterable[Punctuation]) -> Iterator[Punctuation]:
    """What each pair of promises, one of either stream, both promise."""
    others = _by_columns(theirs)
    for columns, promises in _by_columns(ours).items():
        for beside, candidates in others.items():
            shared = [c for c in columns if c in beside]
            by_group: dict[Group, list[Punctuation]] = {}
            for q in candidates:
                by_group.setdefault(_group(q, shared), []).append(q)
            for p in promises:
                for q in by_group.get(_group(p, shared), ()):
                    both = p.intersect(q)
                    if both is not None:
                        yield both


def _by_columns(promises: Iterable[Punctuation]) -> dict[tuple[str, ...], list[Punctuation]]:
    """Promises by the columns in which they name a single group."""
    found: dict[tuple[str, ...], list[Punctuation]] = {}
    for promise in promises:
        columns = tuple(sorted(c for c, p in promise.where.items() if isinstance(p, Equal)))
        found.setdefault(columns, []).append(promise)
    return found


def _group(promise: Punctuation, columns: Iterable[str]) -> Group:
    return tuple(p.value for c in columns if isinstance(p := promise.where[c], Equal))
