"""Partial aggregates as those see them who ask an operator for them; how groups are shaped is for `groups` to say."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Generic, TypeVar

import numpy as np
import pyarrow as pa

ShapeT = TypeVar("ShapeT")


@dataclass(frozen=True)
class Partials(Generic[ShapeT]):
    """What the rows on their way to an aggregate can be reduced to: groups of a shape, in slots of time.

    ``slots`` says where each row of a batch stands in time, ``first_wid`` the first window that a slot has a part in.
    ``slot_name`` is the column that slots are put out as.
    """

    shape: ShapeT
    slots: Callable[[pa.RecordBatch], np.ndarray]
    first_wid: Callable[[int], int] = int
    slot_name: str | None = None
