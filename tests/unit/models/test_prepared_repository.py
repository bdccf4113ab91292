"""Model repositories prepared for the machine that serves them, checked with Riffle's own repositories."""

from pathlib import Path

import pytest

from streams.errors import UsageError
from streams.models.inference.pair_encoder import check_model_files
from streams.models.inference.prepared_repository import Changes, prepare_repository
from streams.models.inference.repository import model_info, parameters_of, read_config

REPOSITORIES = Path(__file__).parents[3] / "triton_models"
LOCAL, PRODUCTION = REPOSITORIES / "local", REPOSITORIES / "production"


def prepared(source: Path, folder: Path, changes: Changes, model: str) -> dict[str, object]:
    prepare_repository(source, folder, changes)
    return read_config(folder / model)


def groups(config: dict[str, object]) -> list[tuple[object, object]]:
    found = config.get("instance_group", [])
    assert isinstance(found, list)
    return [(group.get("kind"), group.get("count")) for group in found]


@pytest.mark.parametrize("source", [LOCAL, PRODUCTION], ids=["local", "production"])
def test_without_changes_every_model_keeps_its_configuration(source: Path, tmp_path: Path) -> None:
    for model in prepare_repository(source, tmp_path / "models", Changes()):
        assert read_config(tmp_path / "models" / model) == read_config(source / model)
    described = read_config(tmp_path / "models" / "sbert")
    assert model_info(parameters_of(described), "copy") == model_info(
        parameters_of(read_config(source / "sbert")), "source"
    )


def test_the_files_of_the_models_are_copied(tmp_path: Path) -> None:
    prepare_repository(LOCAL, tmp_path, Changes(instances={"sbert": 3}))
    code = Path("sbert", "1", "model.py")
    assert (tmp_path / code).read_bytes() == (LOCAL / code).read_bytes()


def test_instances_are_those_of_the_values(tmp_path: Path) -> None:
    config = prepared(PRODUCTION, tmp_path, Changes(instances={"sbert": 4}), "sbert")
    assert groups(config) == [("KIND_GPU", 4)]
    assert groups(read_config(tmp_path / "statement_chain")) == groups(read_config(PRODUCTION / "statement_chain"))


def test_a_server_without_gpus_runs_every_instance_on_cpus(tmp_path: Path) -> None:
    for model in prepare_repository(PRODUCTION, tmp_path, Changes(cpu=True, instances={"sbert": 2})):
        assert {kind for kind, _ in groups(read_config(tmp_path / model))} <= {"KIND_CPU"}
        assert "cuda" not in read_config(tmp_path / model).get("optimization", {})


def test_batching_changes_the_models_that_have_it(tmp_path: Path) -> None:
    changes = Changes(max_queue_delay_microseconds=4_000, preferred_sizes=(2, 4, 512))
    batching = prepared(LOCAL, tmp_path, changes, "sbert")["dynamic_batching"]
    assert isinstance(batching, dict)
    assert int(batching["max_queue_delay_microseconds"]) == 4_000
    assert batching["preferred_batch_size"] == [2, 4], "a size above the model's maximum would not load"
    assert batching["priority_levels"], "queries keep their priority"
    assert "dynamic_batching" not in read_config(tmp_path / "statement_chain")


def test_it_may_run_twice_and_in_place(tmp_path: Path) -> None:
    changes = Changes(instances={"sbert": 3})
    first = prepared(LOCAL, tmp_path, changes, "sbert")
    assert prepared(LOCAL, tmp_path, changes, "sbert") == first
    assert prepared(tmp_path, tmp_path, changes, "sbert") == first


@pytest.mark.parametrize(
    ("source", "only", "models"),
    [
        (PRODUCTION, ("sbert_query", "sbert"), ["sbert_query"]),
        (LOCAL, ("sbert_query", "sbert"), ["sbert_query"]),
        (PRODUCTION, ("no_such_model", "sbert"), ["sbert"]),
    ],
)
def test_a_server_for_queries_has_the_model_for_queries_alone(
    source: Path, only: tuple[str, ...], models: list[str], tmp_path: Path
) -> None:
    assert prepare_repository(source, tmp_path, Changes(cpu=True, only=only)) == models
    assert sorted(path.name for path in tmp_path.iterdir()) == models
    for model in models:
        assert {kind for kind, _ in groups(read_config(tmp_path / model))} <= {"KIND_CPU"}


def test_a_pair_alone_has_its_members_inside(tmp_path: Path) -> None:
    wanted = Changes(only=("absent", "sbert_e5"))
    assert prepare_repository(LOCAL, tmp_path / "models", wanted) == ["sbert_e5"]
    assert sorted(each.name for each in (tmp_path / "models").iterdir()) == ["sbert_e5"], "no model but the pair"
    folder = tmp_path / "models" / "sbert_e5"
    check_model_files(parameters_of(read_config(folder)), folder / "1")


@pytest.mark.parametrize(
    ("source", "changes", "message"),
    [
        (LOCAL, Changes(instances={"sbrt": 3}), "there is no model sbrt"),
        (LOCAL / "sbert", Changes(), "is no model repository"),
        (LOCAL, Changes(only=("queries", "statements")), "there is no model queries or statements"),
        (LOCAL, Changes(only=("sbert_query",), instances={"sbert": 3}), "there is no model sbert"),
    ],
)
def test_a_mistake_is_named(source: Path, changes: Changes, message: str, tmp_path: Path) -> None:
    with pytest.raises(UsageError, match=message):
        prepare_repository(source, tmp_path, changes)
