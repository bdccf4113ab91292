"""Records with header names that are not UTF-8, as the client reads them."""

from collections.abc import Sequence

import pytest
from aiokafka.consumer.fetcher import PartitionRecords
from aiokafka.errors import CorruptRecordException
from aiokafka.record.default_records import DefaultRecordBatchBuilder
from aiokafka.structs import TopicPartition

from streams.runtime.consumer import TolerantRecords

PLACE = TopicPartition("tests.asked", 0)
NAME, INVALID, ESCAPED = "name-to-break", b"name-\xff\xfe-break", r"name-\xff\xfe-break"
GZIP, NONE = 1, 0


def batch(first: int, headers: Sequence[str], compression: int = NONE) -> bytes:
    """Return a batch of records, each with one header."""
    builder = DefaultRecordBatchBuilder(
        magic=2, compression_type=compression, is_transactional=0, producer_id=-1, producer_epoch=-1, base_sequence=-1,
        batch_size=1 << 20,
    )  # fmt: skip
    for n, name in enumerate(headers):
        builder.append(n, 1_000 + n, b"key", b"value-%d" % (first + n), [(name, b"header")])
    content = bytearray(builder.build())
    content[:8] = first.to_bytes(8, "big")
    return bytes(content)


def read(content: bytes) -> list[tuple[int, bytes, list[tuple[str, bytes]]]]:
    records = PartitionRecords(PLACE, TolerantRecords(content), [], 0, None, None, False, 0)
    return [(record.offset, record.value, list(record.headers)) for record in records]


@pytest.mark.parametrize("compression", [NONE, GZIP])
def test_batches_with_valid_names_are_read_as_before(compression: int) -> None:
    content = batch(0, ["a", "ü"], compression) + batch(2, ["c"], compression)
    assert read(content) == [(n, b"value-%d" % n, [(name, b"header")]) for n, name in enumerate("aüc")]


@pytest.mark.parametrize("bad", [0, 1, 2])
def test_an_invalid_name_is_escaped_and_all_records_around_it_are_read(bad: int) -> None:
    names = ["a", "b", "c"]
    names[bad] = NAME
    content = batch(0, names).replace(NAME.encode(), INVALID) + batch(3, ["d"])
    expected = [ESCAPED if n == bad else name for n, name in enumerate([*names, "d"])]
    assert read(content) == [(n, b"value-%d" % n, [(name, b"header")]) for n, name in enumerate(expected)]


def test_a_batch_that_is_broken_in_another_way_is_refused_as_before() -> None:
    content = bytearray(batch(0, ["a", "b"]))
    content[-20:] = b"\xff" * 20
    with pytest.raises(CorruptRecordException):
        read(bytes(content))
