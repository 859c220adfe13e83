"""The keys of shards: values of the shuffle's key, chosen so that each shard gets a partition of its own.

Spark hashes the key. Two shards with the keys 0 and 1 may land in one partition, while another partition stays idle. So
the key of a shard is the least number whose hash leads to the partition of the same number as the shard.
"""

from __future__ import annotations

from functools import cache

_SEED = 42  # the seed of Spark's hash partitioning
_C1, _C2 = 0xCC9E2D51, 0x1B873593
_WORD = 0xFFFFFFFF


@cache
def shard_keys(shards: int) -> tuple[int, ...]:
    """The keys of this many shards.

    >>> shard_keys(2)
    (2, 0)
    """
    found: dict[int, int] = {}
    key = 0
    while len(found) < shards:
        found.setdefault(spark_hash(key) % shards, key)
        key += 1
    return tuple(found[shard] for shard in range(shards))


def spark_hash(value: int) -> int:
    """Murmur3 of one 32-bit integer, as ``hash(…)`` in Spark SQL gives it.

    >>> spark_hash(0), spark_hash(1)
    (933211791, -559580957)
    """
    k = _rotate(value * _C1 & _WORD, 15) * _C2 & _WORD
    h = (_rotate(_SEED ^ k, 13) * 5 + 0xE6546B64) & _WORD
    h ^= 4  # the length in bytes
    h = (h ^ h >> 16) * 0x85EBCA6B & _WORD
    h = (h ^ h >> 13) * 0xC2B2AE35 & _WORD
    h ^= h >> 16
    return h - (1 << 32) if h >> 31 else h


def _rotate(x: int, by: int) -> int:
    return (x << by | x >> (32 - by)) & _WORD
