"""The base of specs that compute aggregates, which a plan may ask for further ones."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from oop.operators.core.spec import Spec
from oop.operators.functions.function import Function
from oop.operators.groups.store_operator import NamedAggregates


class AggregatingSpec(Spec):
    """Each is a dataclass with a field ``aggregates``."""

    aggregates: NamedAggregates

    def with_aggregates(self, more: Sequence[tuple[str, Function]]) -> Spec:
        spec: Any = self
        return replace(spec, aggregates=(*self.aggregates, *more))
