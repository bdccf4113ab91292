"""The configuration of the servers: it uses only the home and the ports that it was given."""

from pathlib import Path
from typing import Any

import pytest

from streams.local import riffle_processes, server_set
from streams.local.servers import cassandra, kafka
from streams.local.servers.triton import why_not
from streams.local.supervisor import Supervisor
from streams.servers import NAMES
from streams.settings import CassandraSettings, Settings, TritonSettings
from streams.topology import STAGES, Stage

DATA = Path("/home/somebody/.riffle/data/server")


def read_properties(text: str) -> dict[str, str]:
    lines = (line for line in text.splitlines() if line and not line.startswith("#"))
    return dict(line.split("=", 1) for line in lines)


def test_kafka_listens_on_loopback_alone() -> None:
    found = read_properties(kafka.properties(DATA, 21001, 21002))

    assert found["listeners"] == "PLAINTEXT://127.0.0.1:21001,CONTROLLER://127.0.0.1:21002"
    assert found["advertised.listeners"] == "PLAINTEXT://127.0.0.1:21001"
    assert found["controller.quorum.voters"] == "1@127.0.0.1:21002"


def test_kafka_keeps_everything_below_its_data_folder() -> None:
    assert Path(read_properties(kafka.properties(DATA, 1, 2))["log.dirs"]).is_relative_to(DATA)


def test_kafka_creates_no_topic_by_itself() -> None:
    assert read_properties(kafka.properties(DATA, 1, 2))["auto.create.topics.enable"] == "false"


@pytest.mark.parametrize("name", ["offsets.topic.replication.factor", "transaction.state.log.replication.factor"])
def test_kafka_does_not_replicate_its_own_topics(name: str) -> None:
    assert read_properties(kafka.properties(DATA, 1, 2))[name] == "1"


@pytest.mark.parametrize(
    "line",
    [
        "native_transport_port: 21003",
        "storage_port: 21004",
        '      - seeds: "127.0.0.1:21004"',  # itself: the one node that there is
        "listen_address: 127.0.0.1",
        "rpc_address: 127.0.0.1",
    ],
)
def test_cassandra_listens_on_loopback_alone(line: str) -> None:
    assert line in cassandra.yaml(DATA, 21003, 21004).splitlines()


def test_a_request_to_the_local_cassandra_ends_by_its_clients_deadline() -> None:
    lines = [line.split(": ") for line in cassandra.yaml(DATA, 1, 2).splitlines() if "timeout: " in line]
    seconds = {name: float(value.removesuffix("s")) for name, value in lines}
    assert seconds.keys() >= {f"{kind}_request_timeout" for kind in ("read", "write", "range", "counter_write")}
    assert min(seconds.values()) > 2 * CassandraSettings().request_timeout_seconds


def test_segments_of_the_commit_log_without_a_write_are_removed(tmp_path: Path) -> None:
    """A node that meets a full disk leaves the length of a segment behind, and no byte of it."""
    zeros = bytes(cassandra.PIECE_BYTES + 1)
    names = {
        "CommitLog-7-1.log": zeros + b"a write",
        "CommitLog-7-2.log": b"",
        "CommitLog-7-3.log": zeros,
        "other": b"",
    }
    for name, content in names.items():
        (tmp_path / name).write_bytes(content)

    cassandra.remove_empty_segments(tmp_path)
    cassandra.remove_empty_segments(tmp_path / "not made yet")

    assert sorted(path.name for path in tmp_path.iterdir()) == ["CommitLog-7-1.log", "other"]


def test_cassandra_keeps_everything_below_its_data_folder() -> None:
    lines = cassandra.yaml(DATA, 1, 2).splitlines()
    folders = [line.split(":", 1)[1].strip(' ["]') for line in lines if "directory:" in line or "directories:" in line]

    assert len(folders) == 5
    assert all(Path(folder).is_relative_to(DATA) for folder in folders)


def test_each_stage_gets_its_number_of_workers() -> None:
    stages = (_stage("one", 1), _stage("three", 3))

    processes = riffle_processes.workers(DATA, stages)

    assert [process.name for process in processes] == ["worker-one", "worker-three", "worker-three-2", "worker-three-3"]
    assert len({process.port for process in processes}) == len(processes)


def test_workers_of_a_stage_have_different_names() -> None:
    """Two workers with one instance name would remove each other from their consumer group."""
    found = [process.prepare().command for process in riffle_processes.workers(DATA, (_stage("three", 3),))]

    assert [command[command.index("--instance") + 1] for command in found] == ["0", "1", "2"]


def test_every_stage_of_the_topology_runs() -> None:
    commands = [process.arguments[1] for process in riffle_processes.workers(DATA)]

    assert set(commands) == {stage.name for stage in STAGES}


def test_one_worker_has_every_stage() -> None:
    worker = riffle_processes.shared_worker(DATA)

    assert worker.name == "worker"
    assert worker.arguments[1 : 1 + len(STAGES)] == tuple(stage.name for stage in STAGES)


@pytest.mark.parametrize(
    ("chosen", "workers"),
    [
        pytest.param({}, ["worker"], id="default"),
        pytest.param({"local_worker_per_stage": True}, [f"worker-{stage.name}" for stage in STAGES], id="as asked"),
        # Each stage has a certificate of its own, with rights of its own.
        pytest.param(
            {"local_tls": True},
            [f"worker-{stage.name}" for stage in STAGES],
            id="certificates",
        ),
    ],
)
def test_the_settings_choose_the_workers(chosen: dict[str, bool], workers: list[str], tmp_path: Path) -> None:
    settings = Settings(home=tmp_path, triton=TritonSettings(url="inprocess:")).model_copy(update=chosen)
    supervisor = Supervisor(settings, lambda *_: None)
    supervisor.servers = server_set.plan(settings, print, home=tmp_path)

    assert [process.name for process in supervisor._workers()] == workers


@pytest.mark.parametrize(
    ("chosen", "in_process"),
    [
        pytest.param({}, True, id="default"),
        pytest.param({"local_triton": True}, bool(why_not()), id="as asked, where it runs"),
        pytest.param({"local_triton": True, "triton": TritonSettings(url="inprocess:")}, True, id="both"),
    ],
)
def test_the_models_run_in_process_unless_triton_is_asked_for(
    chosen: dict[str, Any], in_process: bool, tmp_path: Path
) -> None:
    servers = server_set.plan(Settings(home=tmp_path).model_copy(update=chosen), lambda _: None, home=tmp_path)

    assert servers.in_process == in_process
    assert ("triton" in [server.name for server in servers.all]) != in_process


def _stage(name: str, workers: int) -> Stage:
    return Stage(name=name, says="", inputs=(), outputs=(), agent="", workers=workers)


@pytest.mark.parametrize(
    ("variables", "external"),
    [
        pytest.param({}, {}, id="none"),
        pytest.param({"RIFFLE_QDRANT__URL": "http://q.test:6333"}, {"qdrant": "http://q.test:6333"}, id="Qdrant"),
        pytest.param({"RIFFLE_KAFKA__BOOTSTRAP": "k.test:9092"}, {"kafka": "k.test:9092"}, id="Kafka"),
        pytest.param(
            {"RIFFLE_CASSANDRA__HOSTS": '["a", "b"]'},
            {"cassandra": "a, b, port 9042"},
            id="Cassandra",
        ),
        pytest.param({"RIFFLE_TRITON__URL": "t.test:8001"}, {"triton": "t.test:8001"}, id="Triton"),
        pytest.param({"RIFFLE_TRITON__URL": "inprocess:"}, {}, id="no server"),
        pytest.param({"RIFFLE_QDRANT__SHARDS": "2", "RIFFLE_KAFKA__PARTITIONS": "4"}, {}, id="other settings"),
    ],
)
def test_a_server_whose_address_is_set_is_used_and_not_started(
    variables: dict[str, str], external: dict[str, str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name, value in {"RIFFLE_HOME": str(tmp_path), **variables}.items():
        monkeypatch.setenv(name, value)
    settings = Settings.load()
    assert server_set.external_servers(settings) == external
    names = [name for name in NAMES if name not in external]
    servers = server_set.plan(settings, lambda _: None, home=tmp_path, names=names)
    assert not external.keys() & {server.name for server in servers.all}
    addressed = server_set.with_addresses(settings, tmp_path, servers.addresses)
    assert server_set.external_servers(addressed).items() >= external.items()
