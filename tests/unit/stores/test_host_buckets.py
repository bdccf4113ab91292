"""Buckets of hosts, and the Kafka partitions that they belong to."""

from aiokafka.partitioner import murmur2 as kafkas_murmur2
from hypothesis import given
from hypothesis import strategies as st

from streams.stores.host_buckets import BUCKETS, bucket_of, buckets_of, murmur2, partition_of


@given(st.binary(max_size=300))
def test_the_hash_is_the_one_of_the_kafka_client(data: bytes) -> None:
    assert murmur2(data) == kafkas_murmur2(data) & 0xFFFFFFFF


@given(st.text(max_size=50), st.integers(1, 10_000))
def test_the_owner_of_a_host_reads_its_bucket(host: str, partitions: int) -> None:
    assert bucket_of(host) in buckets_of(partition_of(host, partitions), partitions)


def test_with_a_power_of_two_each_bucket_is_read_by_one_owner() -> None:
    found = [bucket for partition in range(64) for bucket in buckets_of(partition, 64)]
    assert sorted(found) == list(range(BUCKETS))


def test_buckets_never_change() -> None:
    """They are part of the stored rows' keys."""
    assert [bucket_of(host) for host in ("example.org", "a.example", "www.b.example")] == BUCKETS_OF_EXAMPLES


BUCKETS_OF_EXAMPLES = [417, 4014, 2581]
