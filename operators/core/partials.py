"""What an operator says of the partial aggregates that it takes; `operators/groups` has the shapes of groups."""

from __future__ import annotations

from collections.abc import Callable
from typing import Generic, TypeVar

import numpy as np
import pyarrow as pa

from oop.frozen import frozen

ShapeT = TypeVar("ShapeT")


@frozen()
class Partials(Generic[ShapeT]):
    """What the rows on their way to an aggregate can be reduced to: groups of a shape, in slots of time.

    ``slots`` gives the slot of each row of a batch, and ``first_wid`` the first window that a slot belongs to.
    ``slot_name`` is the column in which slots are put out.
    """

    shape: ShapeT
    slots: Callable[[pa.RecordBatch], np.ndarray]
    first_wid: Callable[[int], int] = int
    slot_name: str | None = None
