"""Buckets of hosts: the partitions of the frontier's host rows.

The bucket of a host follows only from its name, so the rows stay where they are when the number of Kafka partitions
changes. Bucket and Kafka partition come from the same hash (murmur2, as all Kafka clients of Riffle use it), so the
owner of a Kafka partition knows the buckets that can hold its hosts.
"""

from math import gcd

BUCKETS = 4_096
"""Number of buckets. It is part of the stored rows' keys."""

_SEED = 0x9747B28C
_MIX = 0x5BD1E995
_SHIFT = 24
_WORD = 0xFFFFFFFF


def bucket_of(host: str) -> int:
    return _positive_hash(host) % BUCKETS


def partition_of(host: str, partitions: int) -> int:
    """Return the Kafka partition of the host's events, in topics with N partitions."""
    return _positive_hash(host) % partitions


def buckets_of(partition: int, partitions: int) -> list[int]:
    """Return the buckets that can hold hosts of a Kafka partition.

    If the number of partitions is no power of two, these buckets hold hosts of other partitions, too.
    """
    step = gcd(partitions, BUCKETS)
    return list(range(partition % step, BUCKETS, step))


def _positive_hash(host: str) -> int:
    return murmur2(host.encode()) & 0x7FFFFFFF


def murmur2(data: bytes) -> int:
    """Return the 32-bit MurmurHash2 with Kafka's seed."""
    value = _SEED ^ len(data)
    whole = len(data) & ~3
    for start in range(0, whole, 4):
        word = int.from_bytes(data[start : start + 4], "little") * _MIX & _WORD
        word = (word ^ word >> _SHIFT) * _MIX & _WORD
        value = value * _MIX & _WORD ^ word
    if whole < len(data):
        value = (value ^ int.from_bytes(data[whole:], "little")) * _MIX & _WORD
    value = (value ^ value >> 13) * _MIX & _WORD
    return value ^ value >> 15
