"""Rules of backups: which events are kept, and with which times rows are written again."""

from itertools import pairwise

import pytest

from streams.backup.cassandra import refuse_other_schema
from streams.backup.kafka import find_first_kept, kept_topics, missing_records
from streams.backup.manifest import Manifest, Part
from streams.errors import UsageError
from streams.runtime.lags.stage_lags import input_topics
from streams.stores.cassandra.copying import FIRST_TOKEN, LAST_TOKEN, Table, _tables_of, _writes, token_ranges
from streams.stores.cassandra.migrating import packaged_migrations
from streams.topology import STAGES, TOPICS, stage

BY_NAME = {topic.name: topic for topic in TOPICS}


def offsets(**committed: int) -> dict[str, dict[tuple[str, int], int]]:
    """Committed offsets of partition 0 of all inputs of the stages that are named."""
    return {
        stage.name: {(topic, 0): committed[stage.name] for topic in input_topics(stage)}
        if stage.name in committed
        else {}
        for stage in STAGES
    }


READERS = {stage.name: 100 for stage in STAGES if "pages.fetched" in input_topics(stage)}


@pytest.mark.parametrize(
    ("topic", "committed", "first"),
    [
        pytest.param("pages.fetched", READERS, 100, id="all stages are equally far"),
        pytest.param("pages.fetched", {**READERS, "normalize": 40}, 40, id="the stage that is furthest behind decides"),
        pytest.param("pages.fetched", {"frontier": 100}, 0, id="a stage that has handled nothing needs all"),
        pytest.param("embed.retry", {"embed": 7}, 7, id="a retry topic has one reader"),
        pytest.param("embed.dead", {"embed": 7}, 0, id="dead letters are kept"),
        pytest.param("entities.changed", READERS, 0, id="no stage reads it: it is nowhere else"),
        pytest.param("origins.changed", READERS, 0, id="compacted: the last state of each key"),
    ],
)
def test_the_first_event_that_is_kept(topic: str, committed: dict[str, int], first: int) -> None:
    assert find_first_kept(BY_NAME[topic], 0, offsets(**committed)) == first


@pytest.mark.parametrize(
    ("starts", "ends", "problems"),
    [
        pytest.param((0, 0), (2, 1), [], id="all three records are there"),
        pytest.param((0, 0), (2, 9), [], id="a stage wrote more meanwhile"),
        pytest.param((0, 0), (2, 0), ["embed.dead: 2 of 3"], id="a record did not arrive"),
        pytest.param((2, 0), (2, 1), ["embed.dead: 2 were deleted"], id="retention deleted two"),
        pytest.param((2, 0), (2, 9), ["embed.dead: 2 were deleted"], id="retention deleted two, and more came"),
    ],
)
def test_a_restore_counts_what_kafka_holds(starts: tuple[int, int], ends: tuple[int, int], problems: list[str]) -> None:
    part = Part("kafka/embed.dead.msgpack.zst", 3, 1, "")
    manifest = Manifest("", "", topics={"embed.dead": part}, partitions={"embed.dead": 2})
    places = [("embed.dead", number) for number in range(2)]
    assert (
        missing_records(manifest, dict(zip(places, starts, strict=True)), dict(zip(places, ends, strict=True)))
        == problems
    )


def test_a_backup_has_no_queries_and_no_clicks() -> None:
    names = {topic.name for topic in kept_topics(BY_NAME)}
    copies = {*stage("queries").own_topics, stage("queries").dead_topic}
    assert BY_NAME.keys() - names == {"queries.asked", "queries.made", "results.clicked", *copies}


TABLE = Table("t", ("a",), ("b",), ("x", "y"))


@pytest.mark.parametrize(
    ("values", "times", "expected"),
    [
        pytest.param([1, 2], [10, 10], [(("a", "b", "x", "y"), 10)], id="one time, one write"),
        pytest.param([1, 2], [10, 20], [(("a", "b", "x"), 10), (("a", "b", "y"), 20)], id="a write for each time"),
        pytest.param([None, 2], [None, 20], [(("a", "b", "y"), 20)], id="no value is not written"),
        pytest.param([None, None], [None, None], [(("a", "b"), 99)], id="only a key: the time of the backup"),
    ],
)
def test_each_value_is_written_with_its_own_time(
    values: list[int | None], times: list[int | None], expected: list[tuple[tuple[str, ...], int]]
) -> None:
    writes = _writes(TABLE, ["k", 7], values, times, at=99)
    assert [params.pop("written") for _, params in writes] == [when for _, when in expected]
    for (cql, params), (columns, _) in zip(writes, expected, strict=True):
        assert params.keys() == {f"value_{column}" for column in columns}
        assert f"INSERT INTO t ({', '.join(columns)}) VALUES" in cql


def test_static_columns_and_maps_are_a_part_of_their_own() -> None:
    columns = [
        ("a", "partition_key", 0, "text"),
        ("b", "clustering", 0, "uuid"),
        ("x", "regular", -1, "text"),
        ("counts", "static", -1, "map<text, blob>"),
    ]
    rows, statics = _tables_of("t", columns)
    assert (rows.label, rows.values) == ("t", ("x",))
    assert (statics.label, statics.key, statics.values) == ("t.static", ("a",), ("counts",))
    writes = _writes(statics, ["k"], [[["one", b"1"], ["two", b"2"]]], [[10, 20]], at=99)
    cql = "UPDATE t USING TIMESTAMP :written SET counts[:entry] = :content WHERE a = :value_a"
    assert writes == [
        (cql, {"value_a": "k", "entry": "one", "content": b"1", "written": 10}),
        (cql, {"value_a": "k", "entry": "two", "content": b"2", "written": 20}),
    ]
    assert _writes(statics, ["k"], [None], [None], at=99) == [], "a partition without static values"


@pytest.mark.parametrize("count", [1, 3, 64])
def test_the_ranges_cover_the_ring_once(count: int) -> None:
    ranges = token_ranges(count)
    assert (ranges[0][0], ranges[-1][1]) == (FIRST_TOKEN, LAST_TOKEN)
    assert all(before[1] + 1 == after[0] for before, after in pairwise(ranges))


@pytest.mark.parametrize(
    "column",
    [("names", "regular", -1, "set<text>"), ("total", "regular", -1, "counter"), ("at", "static", -1, "timestamp")],
)
def test_a_column_that_can_not_be_copied_is_named(column: tuple[str, str, int, str]) -> None:
    with pytest.raises(UsageError, match=rf"table t has the column {column[0]}"):
        _tables_of("t", [("a", "partition_key", 0, "uuid"), column])


def test_a_backup_of_a_newer_release_is_refused() -> None:
    own = {migration.name: migration.checksum for migration in packaged_migrations()}
    refuse_other_schema(Manifest("", "", migrations=own))
    refuse_other_schema(Manifest("", "", migrations={}))  # of an older one
    with pytest.raises(UsageError, match="9999_new"):
        refuse_other_schema(Manifest("", "", migrations={**own, "9999_new.cql": "x"}))
