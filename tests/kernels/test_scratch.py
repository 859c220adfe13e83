"""Memory that is used again: never by two at once."""

from __future__ import annotations

import gc
import itertools
import mmap
import os
import sys
import threading
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from oop.kernels import pages, scratch
from oop.kernels.pages import address_of, huge_array


@pytest.fixture(autouse=True)
def own_region(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pages, "SMALLEST", 1 << 16)
    monkeypatch.setattr(pages, "_pages", pages.Pages())
    monkeypatch.setattr(scratch, "_region", scratch._Region())
    monkeypatch.setattr(scratch, "_slabs", scratch._Slabs())


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
    right = scratch._Region._take

    def collecting(self: Any, size: int) -> Any:
        spare.clear()
        gc.collect()
        return right(self, size)

    monkeypatch.setattr(scratch._Region, "_take", collecting)
    del keep
    found = [scratch.new_array(10_000, np.int64) for _ in range(5)]
    assert len({address_of(array) for array in found}) == 5
    assert region.live == 5


class Interrupt(BaseException):
    pass


@pytest.mark.parametrize("lender", ["_region", "_slabs", "_pages"])
def test_an_interrupt_while_memory_is_given_back_leaves_no_lock_held(lender: str) -> None:
    """At each point where one may come: when a function begins, and behind a call into C."""
    owner = getattr(pages if lender == "_pages" else scratch, lender)

    def take() -> Any:
        lengths = {"_region": 10_000, "_slabs": 100_000, "_pages": 1_000_000}
        make = scratch.new_array if lender == "_region" else scratch.lasting_array
        return make(lengths[lender], np.int64)

    for last in itertools.count():
        points = 0

        def interrupt(frame: Any, event: str, _: Any, last: int = last) -> None:
            nonlocal points
            points += event in ("call", "c_return") and frame.f_code.co_name != "take"
            if points > last:
                raise Interrupt

        array = take()
        lent = array.base if isinstance(array.base, pages.Lent) else array.base.base
        given, lent.what = lent.what, None
        lent.lender = Void()
        try:
            sys.setprofile(interrupt)
            owner.give_back(given)
            sys.setprofile(None)
            break
        except Interrupt:
            assert not owner.lock.locked()
            take()[:] = 1
    assert last > 3


class Void:
    def give_back(self, what: Any) -> None:
        """The array is gone, and what it had has been given back."""


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
    array = huge_array(3_000_001)
    array[:] = 1
    assert array.sum() == 3_000_001


def test_pages_serve_again_and_few_are_kept() -> None:
    first = huge_array(1 << 22)
    place = address_of(first)
    part = first[100:].view(np.uint16)
    del first
    assert address_of(huge_array(1 << 22)) != place  # a slice still uses it
    del part
    assert address_of(huge_array((1 << 22) - 5000)) == place
    assert address_of(huge_array(1 << 21)) != place  # most of it would lie idle
    held = [huge_array(1 << 23) for _ in range(20)]
    del held
    assert sum(map(len, pages._pages.waiting)) <= pages.KEPT


@pytest.mark.skipif(not os.path.exists("/proc/self/statm"), reason="the system does not say how much a process has")
def test_what_was_much_goes_back_at_once_though_nothing_is_asked_for() -> None:
    def resident() -> int:
        with open("/proc/self/statm") as file:
            return int(file.read().split()[1]) * mmap.PAGESIZE

    before = resident()
    held = [huge_array(1 << 24) for _ in range(20)] + [scratch.lasting_array(1 << 17, np.int64) for _ in range(320)]
    for array in held:
        array[:] = 1
    assert resident() - before > 600 << 20
    del held, array
    assert resident() - before < pages.KEPT + (32 << 20)


def test_blocks_of_slabs_serve_again_one_by_one() -> None:
    held = [scratch.lasting_array(1 << 17, np.int64) for _ in range(17)]  # slabs of eight
    kept, gone = address_of(held[8]), address_of(held[9])
    last = held[8]
    del held
    others = [scratch.lasting_array((1 << 17) - 10, np.int64) for _ in range(40)]
    assert kept not in map(address_of, others)
    assert gone in map(address_of, others)
    last[:] = 7
    for number, other in enumerate(others):
        other[:] = number
    assert (last == 7).all()
    assert [int(other[0]) for other in others] == list(range(40))


def test_slabs_go_when_nothing_in_them_is_used() -> None:
    slabs = scratch._slabs
    for size in (1 << 17, 1 << 16, 1 << 15):  # what was left of one size is no more in the way of another
        held = [scratch.lasting_array(size, np.int64) for _ in range(20)]
        del held
        known = {id(slab) for places in slabs.free.values() for slab, _ in places}
        assert known <= {id(slabs.newest)}
    assert sum(map(len, pages._pages.waiting)) <= pages.KEPT


@pytest.mark.filterwarnings("ignore::DeprecationWarning")  # newer Pythons warn of every fork beside threads
def test_a_child_process_leaves_the_lenders_of_its_parent_alone() -> None:
    """Their state may be torn, and a thread that is gone may have got a lock of which `locked` does not know yet."""
    region, slabs, whole = scratch._region, scratch._slabs, pages._pages
    held = [scratch.new_array(20_000, np.int64), scratch.lasting_array(20_000, np.int64), huge_array(3 << 20)]
    before = (region.live, len(slabs.free), len(whole.waiting))
    child = os.fork()
    if not child:
        held.clear()
        gc.collect()
        after = (region.live, len(slabs.free), len(whole.waiting))
        os._exit(7 if after == before and not region.returned else 8)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 7
    held.clear()
    assert region.live == before[0] - 1, "the parent goes on"
