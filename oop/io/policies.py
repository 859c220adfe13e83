"""Fits a policy to an attribute: its durations in the attribute's unit, its groups as the columns hold them."""

from __future__ import annotations

from dataclasses import replace
from functools import partial

import pyarrow as pa

from oop.errors import UnknownColumn
from oop.operators.core.group_values import of_group
from oop.operators.core.times import check_time_type, duration_in
from oop.punctuation.policy import Policy, checked


def fitted(policy: object, attribute: str, schema: pa.Schema, word: str = "punctuate") -> Policy:
    """The policy for one attribute of rows of this schema.

    >>> import oop
    >>> fitted(oop.slack("5s"), "ts", pa.schema({"ts": pa.timestamp("ms")}))
    Slack(every=None, by=None, groups=None, idle=None, bound=5000)
    """
    policy = checked(policy, word)
    if attribute not in schema.names:
        raise UnknownColumn.of(attribute, schema.names)
    type_ = schema.field(attribute).type
    check_time_type(attribute, type_)
    policy = policy.in_units(partial(duration_in, type_=type_))
    if policy.groups is not None and set(policy.columns) <= set(schema.names):
        types = [schema.field(name).type for name in policy.columns]
        policy = replace(policy, groups=tuple(of_group(group, types) for group in policy.groups))
    return policy
