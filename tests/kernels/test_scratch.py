"""Memory that is used again: never by two at once."""

from __future__ import annotations

import gc
import mmap
import threading
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from oop.kernels import scratch


@pytest.fixture(autouse=True)
def own_region(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(scratch, "SMALLEST", 1 << 16)
    monkeypatch.setattr(scratch, "_region", scratch._Region())


def address(array: Any) -> int:
    return array.__array_interface__["data"][0]


def test_arrays_in_use_do_not_overlap() -> None:
    random = np.random.default_rng(0)
    held: list[tuple[Any, int]] = []
    for number in range(600):
        length = int(random.integers(8_000, 200_000))
        array = scratch.new_array(length, np.int64)
        array[:] = number
        held.append((array[3:] if number % 3 else pa.py_buffer(array), number))
        del array
        while len(held) > random.integers(1, 12):
            held.pop(int(random.integers(0, len(held))))
        for kept, wanted in held:
            assert (np.frombuffer(kept, np.int64) == wanted).all()


def test_a_collection_in_the_middle_of_taking_gives_no_block_twice(monkeypatch: pytest.MonkeyPatch) -> None:
    """A lease that ends while another is being made must not free what that one gets."""
    region = scratch._region
    spare = [scratch.new_array(10_000, np.int64) for _ in range(3)]
    keep = spare.pop()
    spare.pop()  # there is a free block now
    right = scratch._Region.take

    def collecting(self: Any, size: int) -> Any:
        spare.clear()
        gc.collect()
        return right(self, size)

    monkeypatch.setattr(scratch._Region, "take", collecting)
    del keep
    found = [scratch.new_array(10_000, np.int64) for _ in range(5)]
    assert len({address(array) for array in found}) == 5
    assert region.live == 5


def test_many_threads_take_and_give() -> None:
    wrong: list[int] = []

    def work(number: int) -> None:
        random = np.random.default_rng(number)
        for i in range(300):
            array = scratch.new_array(int(random.integers(8_000, 60_000)), np.int64)
            array[:] = number * 1000 + i
            if not (array == number * 1000 + i).all():
                wrong.append(i)

    threads = [threading.Thread(target=work, args=(n,)) for n in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not wrong
    scratch.new_array(10_000, np.int64)  # takes in what was given back
    assert scratch._region.live <= 1


def test_a_full_region_is_no_error() -> None:
    held = [scratch.new_array(1 << 20, np.int64) for _ in range(8)]  # 64 MB of 32
    for number, array in enumerate(held):
        array[:] = number
    assert [int(array[7]) for array in held] == list(range(8))


def test_a_kernel_without_huge_pages(monkeypatch: pytest.MonkeyPatch) -> None:
    class Refusing(mmap.mmap):
        def madvise(self, *_: Any) -> None:
            raise OSError(22, "Invalid argument")

    monkeypatch.setattr(mmap, "mmap", Refusing)
    array = scratch.huge_array(3_000_001)
    array[:] = 1
    assert array.sum() == 3_000_001


def test_recycled_arrays_are_few(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(scratch, "_old", [])
    first = scratch.huge_array(1 << 22)
    place = address(first)
    scratch.recycle(first)
    del first
    assert address(scratch.huge_array(1 << 22)) == place
    for _ in range(100):
        scratch.recycle(scratch.huge_array((1 << 22) + 4096))
    scratch.huge_array(1 << 23)
    assert sum(map(len, scratch._old)) <= scratch.ROOM
