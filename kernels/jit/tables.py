"""The loops of the group table: open addressing with linear probing, over arrays that the table grows.

A slot is 0 while it is free; else its low 40 bits say which entry it is, and its high 24 bits repeat those of the
entry's hash, so that a probe seldom looks at an entry that differs. Loops stop at the row that finds no room.
Hashes are seeded by secrets, an argument rather than a constant, because compiled loops may be kept on disk.
"""

from __future__ import annotations

import os

import numpy as np

from oop.kernels.checks import Array, Bools, Ints, Words
from oop.kernels.jit.compiler import compile_loop

# Three odd numbers; a tuple, so that loops hold them in registers.
Secrets = tuple[np.uint64, ...]
# New in each process. A table keeps the ones that it was made with, so that it still works where it is sent.
SECRETS: Secrets = tuple(np.frombuffer(os.urandom(24), np.uint64) | np.uint64(1))

# Rows whose hashes are computed together.
BLOCK = 1024
ENTRY = np.uint64(2**40 - 1)
TAG = np.uint64(2**64 - 2**40)
HALF = np.uint64(32)
ONE, EIGHT = np.uint64(1), np.uint64(8)
SIGN = np.uint64(2**63)
INFINITE = np.uint64(0x7FF0_0000_0000_0000)
NAN = np.uint64(0x7FF8_0000_0000_0000)


@compile_loop
def pack_bits(
    bits: Array,
    valid: Bools,
    rows: Ints,
    floats: bool,
    place: int,
    shift: int,
    null_place: int,
    null_shift: int,
    words: Words,
) -> None:
    """Put a column's bits into each row's words; a null leaves zeros there, and sets a bit of its own."""
    for i in range(len(words)):
        row = rows[i] if len(rows) else i
        if len(valid) and not valid[row]:
            words[i, null_place] |= ONE << np.uint64(null_shift)
            continue
        word = np.uint64(bits[row])
        if floats:
            # Equal keys get equal bits: one NaN, and no -0.0.
            if word & ~SIGN > INFINITE:
                word = NAN
            elif word == SIGN:
                word = np.uint64(0)
        words[i, place] |= word << np.uint64(shift)


@compile_loop
def find_words(
    words: Words, start: int, keys: Words, slots: Words, groups: int, secrets: Secrets, ids: Ints
) -> tuple[int, int]:
    """Find the ids of the rows from `start` on. Return the row that found no room, or the number of rows, and how many
    groups there are."""
    mask = np.uint64(len(slots) - 1)
    hashes = np.empty(BLOCK, np.uint64)
    for begin in range(start, len(words), BLOCK):
        end = min(begin + BLOCK, len(words))
        _hash_words(words, begin, end, secrets, hashes)
        for i in range(begin, end):
            hash = hashes[i - begin]
            at = hash & mask
            while True:
                slot = slots[at]
                if slot == 0:
                    if groups == len(keys):
                        return i, groups
                    for j in range(words.shape[1]):
                        keys[groups, j] = words[i, j]
                    ids[i] = groups
                    groups += 1
                    slots[at] = (hash & TAG) | np.uint64(groups)
                    break
                if (slot ^ hash) & TAG == 0:
                    group = np.int64(slot & ENTRY) - 1
                    same = keys[group, 0] == words[i, 0]
                    for j in range(1, words.shape[1]):
                        same &= keys[group, j] == words[i, j]
                    if same:
                        ids[i] = group
                        break
                at = (at + ONE) & mask
    return len(words), groups


@compile_loop
def place_words(keys: Words, groups: int, slots: Words, secrets: Secrets) -> None:
    """Enter the keys into slots that are free."""
    hashes = np.empty(BLOCK, np.uint64)
    for begin in range(0, groups, BLOCK):
        end = min(begin + BLOCK, groups)
        _hash_words(keys, begin, end, secrets, hashes)
        for group in range(begin, end):
            _enter(slots, hashes[group - begin], group + 1)


@compile_loop
def find_bytes(
    data: Array,
    offsets: Ints,
    valid: Bools,
    rows: Ints,
    start: int,
    arena: Array,
    ends: Ints,
    slots: Words,
    count: int,
    secrets: Secrets,
    place: int,
    words: Words,
) -> tuple[int, int]:
    """Put the code of each row's bytes into its words. Return what `find_words` does; row -1 if the offsets are wrong.

    Code c is `arena[ends[c]:ends[c + 1]]`. Code 0 is null.
    """
    mask = np.uint64(len(slots) - 1)
    for i in range(start, len(words)):
        row = rows[i] if len(rows) else i
        if len(valid) and not valid[row]:
            continue
        first, last = offsets[row], offsets[row + 1]
        # A column checks its outermost offsets only.
        if not 0 <= first <= last <= len(data):
            return -1, count
        hash = _hash_bytes(data, first, last, secrets)
        at = hash & mask
        while True:
            slot = slots[at]
            if slot == 0:
                end = ends[count]
                if count + 1 == len(ends) or len(arena) - end < last - first:
                    return i, count
                # Not a slice: that takes two seconds to compile.
                for j in range(last - first):
                    arena[end + j] = data[first + j]
                ends[count + 1] = end + last - first
                slots[at] = (hash & TAG) | np.uint64(count)
                words[i, place] = np.uint64(count)
                count += 1
                break
            if (slot ^ hash) & TAG == 0:
                code = np.int64(slot & ENTRY)
                if _same_bytes(data, first, last, arena, ends[code], ends[code + 1]):
                    words[i, place] = np.uint64(code)
                    break
            at = (at + ONE) & mask
    return len(words), count


@compile_loop
def place_bytes(arena: Array, ends: Ints, count: int, slots: Words, secrets: Secrets) -> None:
    """Enter the bytes of codes from 1 into slots that are free."""
    for code in range(1, count):
        _enter(slots, _hash_bytes(arena, ends[code], ends[code + 1], secrets), code)


@compile_loop
def _enter(slots: Words, hash: np.uint64, entry: int) -> None:
    mask = np.uint64(len(slots) - 1)
    at = hash & mask
    while slots[at] != 0:
        at = (at + ONE) & mask
    slots[at] = (hash & TAG) | np.uint64(entry)


@compile_loop
def _mix(word: np.uint64, secrets: Secrets) -> np.uint64:
    """Hash a word by secret odd factors, without which nobody can choose keys that meet in one slot."""
    word = (word ^ secrets[0]) * secrets[1]
    word = (word ^ (word >> HALF)) * secrets[2]
    return word ^ (word >> HALF)


@compile_loop
def _hash_words(words: Words, begin: int, end: int, secrets: Secrets, hashes: Words) -> None:
    """Hash the rows of a block. Apart from the search, this loop is compiled to wide instructions."""
    for i in range(begin, end):
        hashes[i - begin] = _mix(words[i, 0], secrets)
    for j in range(1, words.shape[1]):
        for i in range(begin, end):
            hashes[i - begin] = _mix(hashes[i - begin] ^ words[i, j], secrets)


@compile_loop
def _load_word(data: Array, at: np.uint64) -> np.uint64:
    """Eight bytes as one number: written so that it is compiled to one load, which needs unsigned places."""
    word = np.uint64(data[at])
    word |= np.uint64(data[at + np.uint64(1)]) << np.uint64(8)
    word |= np.uint64(data[at + np.uint64(2)]) << np.uint64(16)
    word |= np.uint64(data[at + np.uint64(3)]) << np.uint64(24)
    word |= np.uint64(data[at + np.uint64(4)]) << np.uint64(32)
    word |= np.uint64(data[at + np.uint64(5)]) << np.uint64(40)
    word |= np.uint64(data[at + np.uint64(6)]) << np.uint64(48)
    word |= np.uint64(data[at + np.uint64(7)]) << np.uint64(56)
    return word


@compile_loop
def _hash_bytes(data: Array, first: int, last: int, secrets: Secrets) -> np.uint64:
    at, end = np.uint64(first), np.uint64(last)
    hash = end - at
    while end - at >= EIGHT:
        hash = _mix(hash ^ _load_word(data, at), secrets)
        at += EIGHT
    # The length is in the hash already, so zeros may fill the last word.
    word = np.uint64(0)
    while end > at:
        end -= ONE
        word = (word << EIGHT) | np.uint64(data[end])
    return _mix(hash ^ word, secrets)


@compile_loop
def _same_bytes(data: Array, first: int, last: int, other: Array, begin: int, end: int) -> bool:
    if last - first != end - begin:
        return False
    at, to, place = np.uint64(first), np.uint64(last), np.uint64(begin)
    while to - at >= EIGHT:
        if _load_word(data, at) != _load_word(other, place):
            return False
        at += EIGHT
        place += EIGHT
    while at < to:
        if data[at] != other[place]:
            return False
        at += ONE
        place += ONE
    return True
