"""The files of the local Qdrant: its log after a kill, document frequencies, and which runs are valid."""

from collections import Counter
from pathlib import Path
from uuid import UUID

import orjson
import pytest

from streams.local.qdrant_server.frequencies import Frequencies, inverse_frequencies
from streams.local.qdrant_server.layout import Layout, read_layout, store_layout
from streams.local.qdrant_server.payloads import NewPayloads, PayloadWriter, StoredPayloads, select
from streams.local.qdrant_server.write_ahead_log import REMOVED, WRITTEN, WriteAheadLog, read_records

RECORDS = [(WRITTEN, b'{"points": []}'), (REMOVED, b"[1, 2]"), (WRITTEN, b"")]


def test_a_record_that_is_half_written_is_cut_off(tmp_path: Path) -> None:
    """A kill may end a record anywhere. What was acknowledged before it stays, and what follows is read again."""
    log = WriteAheadLog(tmp_path, 1)
    for kind, content in RECORDS:
        log.append(kind, content)
    log.close()
    whole = log.path(1).read_bytes()
    last = len(whole) - 9
    for end in range(last + 1, len(whole)):
        log.path(1).write_bytes(whole[:end])
        again = WriteAheadLog(tmp_path, 1)
        assert list(read_records(again.path(1))) == RECORDS[:2]
        again.append(*RECORDS[0])
        again.close()
        assert list(read_records(again.path(1))) == [*RECORDS[:2], RECORDS[0]]


def test_a_damaged_record_ends_the_log(tmp_path: Path) -> None:
    log = WriteAheadLog(tmp_path, 1)
    log.append(*RECORDS[0])
    log.append(*RECORDS[1])
    log.close()
    content = bytearray(log.path(1).read_bytes())
    content[-1] ^= 1
    log.path(1).write_bytes(content)
    assert list(read_records(log.path(1))) == RECORDS[:1]


def test_files_before_the_first_valid_one_are_removed(tmp_path: Path) -> None:
    log = WriteAheadLog(tmp_path, 1)
    log.append(*RECORDS[0])
    assert log.rotate() == 1
    log.append(*RECORDS[1])
    log.close()
    again = WriteAheadLog(tmp_path, 2)
    assert [list(read_records(path)) for path in again.files()] == [RECORDS[1:2]]
    again.close()


POINTS: list[dict[str, list[int]]] = [
    {"words": [1, 5, 7]},
    {"words": [5], "private": [9]},
    {"words": []},
    {},
    {"words": [7, 70_000]},
]


def test_frequencies_are_counted_and_taken_back(tmp_path: Path) -> None:
    """In arrays and in what changed since, in one shard and in two, in memory and from a file."""
    first, second = Frequencies(), Frequencies()
    first.add(POINTS[:3])
    first.save(tmp_path / "counts.npz")
    first = Frequencies.load(tmp_path / "counts.npz")
    first.remove([{"words": [1, 5, 7]}])
    second.add([*POINTS[3:], {"words": [1, 5, 7]}])
    first.merge(second)
    first.save(tmp_path / "counts.npz")
    counted = Counter(term for point in POINTS for term in point.get("words", ()))
    for found in (first, Frequencies.load(tmp_path / "counts.npz")):
        assert found.of("words", [1, 2, 5, 7, 70_000]) == [counted[term] for term in (1, 2, 5, 7, 70_000)]
        assert (found.points("words"), found.points("private"), found.points("none")) == (3, 1, 0)
        assert found.of("private", [9, 5]) == [1, 0]


@pytest.mark.parametrize(
    ("points", "count", "weight"),
    [
        pytest.param(6, 3, 0.6931472, id="half of them: ln 2, as the engine says"),
        pytest.param(1_000_000, 1, 13.410045, id="a rare term"),
        pytest.param(10, 10, 0.0465200, id="all of them: above zero"),
    ],
)
def test_weights_are_those_of_qdrant(points: int, count: int, weight: float) -> None:
    assert inverse_frequencies(points, [count]) == pytest.approx([weight], rel=1e-5)


def test_runs_without_a_name_in_the_layout_are_removed(tmp_path: Path) -> None:
    for run in ("runs/a", "runs/b", "runs/c.parts", "new/d", "shard"):
        (tmp_path / run).mkdir(parents=True)
    layout = Layout(("runs/a",), 3, {"page": "integer"})
    store_layout(tmp_path, layout)
    assert read_layout(tmp_path) == layout
    assert sorted(str(path.relative_to(tmp_path)) for path in tmp_path.rglob("*") if path.is_dir()) == [
        "runs",
        "runs/a",
    ]


def test_a_folder_without_a_layout_has_the_shard_of_a_former_version(tmp_path: Path) -> None:
    assert read_layout(tmp_path) == Layout()
    (tmp_path / "shard").mkdir()
    assert read_layout(tmp_path) == Layout(("shard",))


def test_payloads_of_a_run_are_found_by_their_ids(tmp_path: Path) -> None:
    """Ids that share their beginning, or end in zeros, too. What is not there is not found."""
    ids = [str(UUID(int=number << shift)) for shift in (0, 64, 120) for number in range(1, 200)]
    payloads: dict[str | int, bytes] = {id: orjson.dumps({"number": number}) for number, id in enumerate(ids)}
    writer = PayloadWriter(tmp_path)
    for id, payload in payloads.items():
        writer.put(id, payload)
    writer.put(7, b"{}")
    writer.close()
    stored = StoredPayloads.open(tmp_path)
    assert stored is not None
    assert stored.find([*ids, str(UUID(int=(1 << 127) + 5)), str(UUID(int=0)), 7]) == payloads
    assert dict(stored.items()) == {UUID(str(id)).bytes: payload for id, payload in payloads.items()}
    assert StoredPayloads.open(tmp_path / "none") is None


def test_payloads_of_new_points_are_those_written_last() -> None:
    new = NewPayloads()
    new.put([("a", {"n": 1}), (2, None), ("c", {"n": 3})])
    new.put([("a", {"n": 4})])
    new.drop(["c", "d"])
    assert new.find(["a", 2, "c", "d"]) == {"a": b'{"n":4}', 2: b"{}"}


@pytest.mark.parametrize(
    ("wanted", "found"),
    [
        (True, b'{"a":1,"b":[2]}'),
        (["b", "c"], b'{"b":[2]}'),
        ({"include": ["a"]}, b'{"a":1}'),
        (["b[]"], None),
        (["a.x"], None),
        ({"exclude": ["a"]}, None),
        (False, None),
    ],
)
def test_a_part_of_a_payload_is_cut_out_where_it_is_plain(wanted: object, found: bytes | None) -> None:
    """None: the engine knows what is meant."""
    assert select(b'{"a":1,"b":[2]}', wanted) == found
