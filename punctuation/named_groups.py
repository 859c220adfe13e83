"""The columns and groups that a user gives a policy, as the policy keeps them.

Several columns stand in alphabetical order, and a group of several columns is the tuple of its values in that order, as
in `GroupPromises` and frontiers. A user may write them in any order, and a group also as a dictionary.

>>> named_by(["proto", "link"]), named_by(["link"]), named_by("link")
(('link', 'proto'), 'link', 'link')
>>> named_groups([(6, "A"), {"link": "B", "proto": 17}], ["proto", "link"])
(('A', 6), ('B', 17))
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from oop.errors import WrongArgument
from oop.punctuation.patterns import Value, group_value

By = str | Sequence[str]
"""One column by its name, or several; a list of one is the same as its name."""


def named_by(by: By | None) -> str | tuple[str, ...] | None:
    """The column, or the columns in alphabetical order.

    >>> named_by(["link", "link"])
    Traceback (most recent call last):
        ...
    oop.errors.WrongArgument: by= names a column twice: link, link
    Hint: name each column once
    """
    if by is None:
        return None
    names = _as_written(by)
    return names[0] if len(names) == 1 else tuple(sorted(names))


def named_groups(groups: Sequence[Any] | None, by: By | None) -> tuple[Value, ...] | None:
    """The groups of the columns ``by``, as a policy keeps them.

    >>> named_groups([("A", 6, 1)], ["link", "proto"])
    Traceback (most recent call last):
        ...
    oop.errors.WrongArgument: a group of link, proto has 2 values, and ('A', 6, 1) has 3
    Hint: write a tuple of link, proto, or {'link': …, 'proto': …}
    """
    if groups is None or by is None:
        return None if groups is None else tuple(groups)
    listed = () if isinstance(groups, str) or not isinstance(groups, Iterable) else tuple(groups)
    if not listed:
        raise ValueError(f"groups= is a list of at least one group, not {groups!r}")
    names = _as_written(by)
    return tuple(_group(group, names) for group in listed)


def as_group(group: Value, several: bool) -> Value:
    """A group as it is looked up: every NaN is the same object, and a group of several columns is a tuple, even if JSON
    made a list of it.

    >>> as_group(["A", 6], True), as_group("A", False)
    (('A', 6), 'A')
    """
    return tuple(map(group_value, group)) if several else group_value(group)


def _as_written(by: Any) -> tuple[str, ...]:
    names = (by,) if isinstance(by, str) or not isinstance(by, Iterable) else tuple(by)
    if not names or not all(isinstance(name, str) for name in names):
        raise WrongArgument(
            f"by= names a column, or several, not {by!r}", hint="write by='link' or by=['link', 'proto']"
        )
    if len(set(names)) < len(names):
        raise WrongArgument(f"by= names a column twice: {', '.join(names)}", hint="name each column once")
    return names


def _group(group: Any, names: tuple[str, ...]) -> Value:
    shown = ", ".join(names)
    hint = f"write a tuple of {shown}, or {{{', '.join(f'{name!r}: …' for name in names)}}}"
    if isinstance(group, Mapping):
        if group.keys() != set(names):
            raise WrongArgument(f"a group of {shown} names just these columns, and {dict(group)!r} does not", hint=hint)
        values = tuple(group[name] for name in names)
    elif len(names) == 1:
        return group
    else:
        if isinstance(group, str | bytes) or not isinstance(group, Sequence):
            raise WrongArgument(f"a group of {shown} is a tuple of {len(names)} values, not {group!r}", hint=hint)
        values = tuple(group)
        if len(values) != len(names):
            raise WrongArgument(
                f"a group of {shown} has {len(names)} values, and {group!r} has {len(values)}", hint=hint
            )
    return values[0] if len(names) == 1 else tuple(value for _, value in sorted(zip(names, values, strict=True)))
