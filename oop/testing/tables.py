"""Streams written as text tables: a header, rows, and promises on lines that begin with ``--``.

>>> for e in elements('''
...     ts | link | len
...     5  | A    | 40
...     3  | B    |
...     -- ts < 5
...     -- link = 'A', ts < 9
...     9  | B    | 60
...     -- END
... '''): print(e.to_pylist() if isinstance(e, pa.RecordBatch) else e)
[{'ts': 5, 'link': 'A', 'len': 40}, {'ts': 3, 'link': 'B', 'len': None}]
ts < 5
ts < 9, link = 'A'
[{'ts': 9, 'link': 'B', 'len': 60}]
END
"""

from __future__ import annotations

import ast
import re
from collections.abc import Mapping
from typing import Any

import pyarrow as pa

from oop.operators.core.operator import Element
from oop.punctuation import END, Punctuation, punctuated
from oop.punctuation.patterns import Below, Equal, In, NotIn, Pattern, Range
from oop.punctuation.promise import from_patterns
from oop.streams.sources import source
from oop.streams.stream import Stream

_PATTERN = re.compile(r"\s*(\w+)\s*(<|>=|=|not in|in)\s*(\{[^}]*\}|\[[^)]*\)|'[^']*'|[^,]+)\s*(?:,|$)")


def elements(text: str, types: Mapping[str, str | pa.DataType] | None = None) -> list[Element]:
    """The batches and promises of a text table. Its entries are Python literals or bare words; an empty one is null.

    ``types`` gives columns types other than those that Arrow infers over the whole table.

    >>> batch, promise = elements('''
    ...     ts | k
    ...     1  | a
    ...     -- ts < 10
    ... ''', types={"ts": "int32"})
    >>> batch.schema.field("ts").type, batch.to_pylist(), promise
    (DataType(int32), [{'ts': 1, 'k': 'a'}], Punctuation(ts < 10))
    """
    lines = [line.strip() for line in text.strip().splitlines() if line.strip()]
    names = [n.strip() for n in lines[0].split("|")]
    rows = [_row(line, names) for line in lines[1:] if not line.startswith("--")]
    given = {k: pa.type_for_alias(t) if isinstance(t, str) else t for k, t in (types or {}).items()}
    columns = [pa.array([r[n] for r in rows], given.get(n)) for n in names]
    schema = pa.schema([pa.field(n, c.type) for n, c in zip(names, columns, strict=True)])
    found: list[Element] = []
    waiting: list[dict[str, object]] = []
    for line in [*lines[1:], None]:
        if line is not None and not line.startswith("--"):
            waiting.append(_row(line, names))
            continue
        if waiting:
            found.append(pa.RecordBatch.from_pylist(waiting, schema=schema))
            waiting = []
        if line is not None:
            found.append(promise(line.removeprefix("--")))
    return found


def stream(text: str, *, time: str = "ts", types: Mapping[str, str | pa.DataType] | None = None) -> Stream:
    """A punctuated stream from a text table.

    >>> import oop
    >>> s = stream('''
    ...     ts | k
    ...     1  | a
    ...     -- ts < 10
    ...     12 | a
    ... ''')
    >>> s.window(oop.tumbling(10)).group_by("k").agg(n=oop.count()).run().to_table().num_rows
    2
    """
    return source(elements(text, types), time=time, punctuate=punctuated(), name="table")


def promise(text: str) -> Punctuation:
    """The promise that a text says.

    >>> promise("ts < 5, link not in {'A'}")
    Punctuation(ts < 5, link not in {'A'})
    >>> promise("ts < 5, k in [10, 20), link in {'A', 'B'}"), promise("k >= 10")
    (Punctuation(ts < 5, k in [10, 20), link in {'A', 'B'}), Punctuation(k >= 10))
    """
    if text.strip() == "END":
        return END
    patterns: dict[str, Pattern] = {}
    at = 0
    while at < len(text):
        match = _PATTERN.match(text, at)
        if match is None:
            raise ValueError(f"not a promise: {text!r}")
        name, sign, value = match.groups()
        patterns[name] = _pattern(sign, value)
        at = match.end()
    return from_patterns(patterns)


def _pattern(sign: str, value: str) -> Pattern:
    if sign == "in" and value.startswith("["):
        low, high = value.strip("[)").split(",")
        return Range(_value(low), _value(high))
    said = _value(value)
    if sign == ">=":
        return Range(said)
    return Below(said) if sign == "<" else Equal(said) if sign == "=" else In(said) if sign == "in" else NotIn(said)


def _row(line: str, names: list[str]) -> dict[str, object]:
    values = [_value(c) for c in line.split("|")]
    if len(values) != len(names):
        raise ValueError(f"{len(names)} columns, but {len(values)} values in {line!r}")
    return dict(zip(names, values, strict=True))


def _value(text: str) -> Any:
    text = text.strip()
    if text in ("", "null"):
        return None
    try:
        return ast.literal_eval(text)
    except (ValueError, SyntaxError):
        return text  # a bare word
