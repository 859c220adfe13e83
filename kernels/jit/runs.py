"""Merges sorted runs, in Numba, by a tree of losers as in C."""

from __future__ import annotations

import numpy as np

from oop.kernels.checks import Array, Ints, Words
from oop.kernels.jit.buffers import NAN_LAST, to_keys
from oop.kernels.jit.compiler import as_input, compile_loop


def merge_runs(values: Array, starts: Ints) -> Ints | None:
    keys, starts = as_input(to_keys(values, NAN_LAST)), as_input(starts)
    runs = len(starts) - 1
    leaves = 1 << (runs - 1).bit_length()
    if not ascend(keys, starts):
        return None
    order, ends = np.empty(len(keys), np.int64), np.empty(runs, np.int64)
    fill_order(keys, starts, np.empty(2 * leaves, np.uint64), np.empty(2 * leaves, np.int64), ends, order)
    return order


@compile_loop
def ascend(keys: Words, starts: Ints) -> bool:
    """Do the keys of each run ascend?"""
    for run in range(len(starts) - 1):
        for i in range(starts[run] + 1, starts[run + 1]):
            if keys[i] < keys[i - 1]:
                return False
    return True


@compile_loop
def fill_order(keys: Words, starts: Ints, firsts: Words, tree: Ints, ends: Ints, order: Ints) -> None:
    """Fill `order` with the merged rows. A node has the first key and the run of its match's loser; node 0 holds the
    winner of the last match, and leaf r is node `leaves` + r. A run that is used up has its number plus `leaves`, which
    puts it behind all others."""
    leaves = len(tree) >> 1
    for run in range(leaves):
        some = run < len(ends) and starts[run] < starts[run + 1]
        firsts[leaves + run] = keys[starts[run]] if some else NAN_LAST
        tree[leaves + run] = run if some else run + leaves
        if run < len(ends):
            ends[run] = starts[run]
    for at in range(leaves - 1, 0, -1):  # the winners, from which the losers follow
        won, other = 2 * at, 2 * at + 1
        if firsts[other] < firsts[won] or (firsts[other] == firsts[won] and tree[other] < tree[won]):
            won = other
        firsts[at], tree[at] = firsts[won], tree[won]
    firsts[0], tree[0] = firsts[1], tree[1]
    for at in range(1, leaves):
        lost = 2 * at + 1 if tree[2 * at] == tree[at] else 2 * at
        firsts[at], tree[at] = firsts[lost], tree[lost]
    number = tree[0]
    for i in range(len(order)):
        run = number
        order[i] = ends[run]
        ends[run] += 1
        some = ends[run] < starts[run + 1]
        key = keys[ends[run]] if some else NAN_LAST
        number = run if some else run + leaves
        at = (leaves + run) >> 1
        while at > 0:
            if firsts[at] < key or (firsts[at] == key and tree[at] < number):
                key, firsts[at] = firsts[at], key
                number, tree[at] = tree[at], number
            at >>= 1
