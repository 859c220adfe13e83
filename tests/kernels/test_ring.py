"""The ring: what is in a row, what is lost, and at which rate rows come, which is asserted alone."""

from __future__ import annotations

import random
import time

import numpy as np
import pytest

from oop.kernels.ring import MOST_GROUPS, PacketRing, make_packets
from tests.kernels.rings import FAST, assert_rows, drain_all, is_made, until

# Content


@pytest.mark.parametrize("rate", [1, 3, 999_983, 1_000_000, 3_000_000, 1_000_000_000])
@pytest.mark.parametrize("groups", [1, 1_000, MOST_GROUPS])
@pytest.mark.parametrize("seed", [0, 2**64 - 1])
def test_rows_are_as_their_numbers_say(rate: int, groups: int, seed: int) -> None:
    ring = PacketRing(rate=rate, rows=3_000, groups=groups, seed=seed, slots=5_000)
    ring.offer(1_234)
    first = ring.drain(10_000).columns()
    ring.offer(10_000)
    rest = drain_all(ring)
    wanted = make_packets(0, 3_000, rate=rate, groups=groups, seed=seed)
    for start, end, whole in zip(first, rest, wanted, strict=True):
        np.testing.assert_array_equal(np.concatenate([start, end]), whole)


def test_rows_are_spread_over_the_groups() -> None:
    _, src, dst, length = make_packets(0, 200_000, rate=1000, groups=1_000, seed=1)
    counts = np.bincount(src.astype(np.int64) * 512 + dst)
    assert len(counts) == 1_000 and counts.min() > 120 and counts.max() < 290  # six deviations from 200
    assert length.min() == 40 and length.max() == 1_499
    other = make_packets(0, 200_000, rate=1000, groups=1_000, seed=2)
    assert (other[2] == dst).mean() < 0.02
    later = make_packets(150_000, 50_000, rate=1000, groups=1_000, seed=1)
    np.testing.assert_array_equal(later[2], dst[150_000:])


# Loss


@pytest.mark.parametrize("slots", [1, 2, 7, 600])
def test_what_finds_the_ring_full_is_dropped_and_counted(slots: int) -> None:
    """Against a list: offers and drains in any order, around the ring many times."""
    chance = random.Random(slots)
    ring = PacketRing(rows=None, slots=slots, **FAST)
    held: list[int] = []
    due = dropped = drained = fullest = 0
    for _ in range(500):
        if chance.random() < 0.5:
            more = chance.randrange(2 * slots + 2)
            fits = min(more, slots - len(held))
            held += range(due, due + fits)
            due, dropped, fullest = due + more, dropped + more - fits, max(fullest, len(held))
            ring.offer(due)
        else:
            most = chance.randrange(slots + 3)
            taken = ring.drain(most)
            assert taken.rows == min(most, len(held))
            wanted, held = held[: taken.rows], held[taken.rows :]
            drained += taken.rows
            assert taken.columns()[0].tolist() == wanted
            if wanted:
                assert_rows(list(taken.columns()))
        counts = ring.counts()
        assert (counts.written, counts.dropped, counts.drained) == (due - dropped, dropped, drained)
        assert counts.greatest_fill == fullest and ring.waiting() == len(held)
    assert dropped and drained > 3 * slots


@pytest.mark.parametrize("slots", [1, 2, 7, 1_000])
def test_nobody_drains(slots: int) -> None:
    ring = PacketRing(rows=20_000, slots=slots, **FAST)
    ring.start()
    until(lambda: is_made(ring, 20_000))
    counts = ring.counts()
    assert (counts.written, counts.dropped, counts.greatest_fill) == (slots, 20_000 - slots, slots)
    found = drain_all(ring)
    assert found[0].tolist() == list(range(slots))
    assert_rows(found)


@pytest.mark.parametrize("slots", [1, 2, 7, 1_000])
def test_rows_that_are_drained_are_right_whatever_was_lost(slots: int) -> None:
    ring = PacketRing(rows=50_000, slots=slots, **FAST)
    ring.start()
    found = drain_all(ring, 300)
    assert_rows(found)
    counts = ring.counts()
    assert counts.written == counts.drained == len(found[0]) == 50_000 - counts.dropped
    assert counts.greatest_fill == slots or not counts.dropped


def test_nothing_is_lost_where_there_is_room() -> None:
    ring = PacketRing(rows=30_000, slots=30_000, **FAST)
    ring.start()
    found = drain_all(ring)
    assert found[0].tolist() == list(range(30_000)) and ring.counts().dropped == 0
    assert_rows(found)
    assert ring.drain(10).rows == 0 and ring.waiting() is None


# Rates


@pytest.mark.alone
@pytest.mark.parametrize("rate", [2_000, 2_000_000])
def test_rows_come_at_their_rate(rate: int) -> None:
    ring = PacketRing(rate=rate, rows=rate // 2, groups=1, seed=0, slots=rate)
    began = time.perf_counter()
    ring.start()
    until(lambda: is_made(ring, rate // 4))
    half = time.perf_counter() - began
    until(lambda: is_made(ring, rate // 2))
    whole = time.perf_counter() - began
    assert half >= 0.249 and 0.499 <= whole < 1.0
    assert ring.counts().producer_cpu < 0.3e9
