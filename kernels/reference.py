"""The kernels in NumPy: the executable specification that `jit` and `native` are proven equal to.

>>> import numpy as np
>>> first, last = wid_ranges(np.array([11.5]), 10.0, 3.0, 0.0)
>>> int(first[0]), int(last[0])
(1, 3)
"""

from oop.kernels.reference_aggregates import (
    add_count,
    add_moments,
    add_sum_float,
    add_sum_int,
    add_summary,
    merge_count,
    merge_max,
    merge_min,
    merge_moments,
    merge_sum_float,
    merge_sum_int,
    merge_summary,
    sum_int_result,
    take_max,
    take_min,
)
from oop.kernels.reference_buffers import RowBounds, SortBuffers
from oop.kernels.reference_first import merge_first, merge_last, take_first, take_last
from oop.kernels.reference_flush import FlushTable
from oop.kernels.reference_groups import GroupTable, exchange_rows, hash_partition, take_fixed
from oop.kernels.reference_joins import JoinTable, Reach
from oop.kernels.reference_late import mark_late, prefix_bounds, prefix_bounds_by, prefix_bounds_rows, scan_times
from oop.kernels.reference_repeats import begin_spans, select_new
from oop.kernels.reference_runs import merge_runs
from oop.kernels.reference_sessions import drop_sessions, extend_sessions, sessions_until
from oop.kernels.reference_windows import order_slots, select_below, select_not_below, wid_ranges
from oop.kernels.reference_words import pack_words

__all__ = [
    "FlushTable",
    "GroupTable",
    "JoinTable",
    "Reach",
    "RowBounds",
    "SortBuffers",
    "add_count",
    "add_moments",
    "add_sum_float",
    "add_sum_int",
    "add_summary",
    "begin_spans",
    "drop_sessions",
    "exchange_rows",
    "extend_sessions",
    "hash_partition",
    "mark_late",
    "merge_count",
    "merge_first",
    "merge_last",
    "merge_max",
    "merge_min",
    "merge_moments",
    "merge_runs",
    "merge_sum_float",
    "merge_sum_int",
    "merge_summary",
    "order_slots",
    "pack_words",
    "prefix_bounds",
    "prefix_bounds_by",
    "prefix_bounds_rows",
    "scan_times",
    "select_below",
    "select_new",
    "select_not_below",
    "sessions_until",
    "sum_int_result",
    "take_first",
    "take_fixed",
    "take_last",
    "take_max",
    "take_min",
    "wid_ranges",
]
