"""A server that can't start says why, with advice."""

from pathlib import Path

import pytest

from streams.errors import StartError
from streams.local.server_set import running_servers
from streams.settings import Settings

pytestmark = [pytest.mark.integration, pytest.mark.timeout(900)]


def test_a_server_that_can_not_start_says_why(tmp_path: Path) -> None:
    data = tmp_path / "data" / "kafka"
    (data / "log").mkdir(parents=True)
    (data / "log" / "meta.properties").write_text("version=1\nnode.id=77\ncluster.id=of-another-node\n")

    with pytest.raises(StartError) as raised, running_servers(tmp_path, ["kafka"]):
        pass

    assert "Kafka ended (exit code 1)." in str(raised.value)
    assert "riffle down --clean" in str(raised.value)
    assert str(tmp_path / "logs" / "kafka.log") in str(raised.value)


def test_a_model_that_can_not_be_loaded_says_why(tmp_path: Path) -> None:
    model = tmp_path / "models" / "local" / "broken"
    (model / "1").mkdir(parents=True)
    (model / "config.pbtxt").write_text('name: "broken"\nbackend: "python"\nmax_batch_size: 0\n')
    (model / "1" / "model.py").write_text("import a_package_that_is_not_there\n")
    base = Settings(model_repository=tmp_path / "models", triton={"model": "broken"}, local_triton=True)

    with (
        pytest.raises(StartError, match=r"can't load the model broken: (?s:.*)No module named 'a_package"),
        running_servers(tmp_path, ["triton"], base=base),
    ):
        pass
