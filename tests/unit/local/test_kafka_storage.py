"""The storage of the local Kafka, made at the first start."""

import sys
from pathlib import Path

import pytest

from streams.errors import StartError
from streams.local.servers import kafka
from streams.settings import Settings


def test_storage_that_is_not_made_in_time_is_an_error_that_says_so(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr(kafka, "FORMAT_TIMEOUT_SECONDS", 0.2)
    sleeping = [sys.executable, "-c", "import time; time.sleep(60)"]
    with pytest.raises(StartError, match="too busy for a start"):
        kafka._format_data(sleeping, tmp_path / "server.properties")


def test_storage_that_can_t_be_made_is_an_error_with_the_last_lines(tmp_path: Path) -> None:
    failing = [sys.executable, "-c", "import sys; sys.exit('no space left')"]
    with pytest.raises(StartError, match="can't be formatted:\nno space left"):
        kafka._format_data(failing, tmp_path / "server.properties")


def test_the_disk_that_a_partition_takes_is_bounded(tmp_path: Path) -> None:
    """A topic keeps its events for days, and sources wait long before unread ones are deleted."""
    lines = kafka.properties(tmp_path, 1, 2).splitlines()
    settings = dict(line.split("=", 1) for line in lines if "=" in line and not line.startswith("#"))
    assert 0 < int(settings["log.retention.bytes"]) <= 1024**3
    assert int(settings["log.segment.bytes"]) <= int(settings["log.retention.bytes"]) // 8, (
        "only whole segments are deleted"
    )


@pytest.mark.parametrize(("own", "partitions"), [({}, kafka.PARTITIONS), ({"partitions": 5}, 5)], ids=["own", "set"])
def test_all_processes_learn_the_number_of_partitions_from_the_stack(
    own: dict[str, int], partitions: int, tmp_path: Path
) -> None:
    server = kafka.Kafka.of(Settings.load(home=tmp_path, kafka=own), tmp_path, None)
    assert server.addresses["partitions"] == partitions
