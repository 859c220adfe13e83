"""The kernels in Numba; `oop.kernels.jit_compiler` alone imports it, and it is loaded only when it is chosen."""

from oop.kernels.jit_aggregates import (
    add_count,
    add_sum_float,
    merge_count,
    merge_max,
    merge_min,
    merge_sum_float,
    take_max,
    take_min,
)
from oop.kernels.jit_buffers import RowBounds, SortBuffers
from oop.kernels.jit_first import merge_first, merge_last, take_first, take_last
from oop.kernels.jit_flush import FlushTable, pack_words
from oop.kernels.jit_groups import GroupTable
from oop.kernels.jit_joins import JoinTable
from oop.kernels.jit_late import mark_late, prefix_bounds, prefix_bounds_by, prefix_bounds_rows, scan_times
from oop.kernels.jit_moments import add_moments, merge_moments
from oop.kernels.jit_repeats import begin_spans, select_new
from oop.kernels.jit_rows import exchange_rows, hash_partition, take_fixed
from oop.kernels.jit_runs import merge_runs
from oop.kernels.jit_sessions import drop_sessions, extend_sessions, sessions_until
from oop.kernels.jit_summary import add_summary, merge_summary
from oop.kernels.jit_sums import add_sum_int, merge_sum_int, sum_int_result
from oop.kernels.jit_windows import order_slots, select_below, select_not_below, wid_ranges

__all__ = [
    "FlushTable",
    "GroupTable",
    "JoinTable",
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
