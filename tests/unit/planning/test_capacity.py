"""The plan of an installation: hand-computed cases, laws, and what a user gets for wrong figures."""

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import structlog
from hypothesis import given
from hypothesis import strategies as st
from structlog.testing import capture_logs
from typer.testing import CliRunner

from streams.cli import app
from streams.errors import UsageError
from streams.models.inference.repository import set_parameters
from streams.planning import costs
from streams.planning.capacity import (
    REPLICAS,
    SCALES,
    VECTOR_REPLICAS,
    Plan,
    Pool,
    Workload,
    fetch_rates,
    partitions_for,
    plan,
    shards_for,
)
from streams.planning.costs import COMMODITY_PRICES_FILE, UNIT_COSTS_FILE, StageCost, load_unit_costs, stage_cost
from streams.settings import Settings
from streams.topology import STAGES

COSTS = load_unit_costs()
WORKLOADS = st.builds(
    Workload,
    pages=st.floats(1e3, 1e11),
    recrawl_days=st.floats(0.1, 1_000),
    statements_per_page=st.floats(1, 500),
    changed_share=st.floats(0.01, 1),
    duplicate_share=st.floats(0, 0.9),
    queries_per_second=st.floats(0, 10_000),
    regions=st.integers(1, 5),
    gpus=st.booleans(),
)


def pool(found: Plan, name: str) -> Pool:
    return next(p for p in found.pools if p.name == name)


def test_rates_of_a_workload() -> None:
    # A day has 86,400 seconds: one fetch per second, half of them changed, a fifth of those duplicates.
    rates = fetch_rates(
        Workload(86_400, recrawl_days=1, statements_per_page=50, changed_share=0.5, duplicate_share=0.2)
    )
    assert (rates.fetch, rates.changed_page, rates.unique_page) == (1.0, 0.5, 0.4)
    assert rates.statement == pytest.approx(20.0)


def test_a_plan_by_hand() -> None:
    # 10^9 pages in 30 days are 386 fetches/s. normalize: 386 x 1.5 (peak) x 0.0217 s = 12.6 cores, / 0.6 = 21 workers.
    found = plan(Workload(pages=1e9), COSTS)
    normalize = next(stage for stage in found.stages if stage.name == "normalize")
    cores = 1e9 / (30 * 86_400) * 1.5 * COSTS.stages["normalize"].cpu_seconds
    assert normalize.cores == pytest.approx(cores)
    assert normalize.workers == -(-cores // 0.6)
    # 1e9 pages x 3 copies on disks that stay half empty.
    stored = COSTS.cassandra.blob_bytes_per_page + COSTS.assumed.cassandra.row_bytes_per_page
    disks = 1e9 * stored * 3 / 0.5 / (COSTS.assumed.machines.cassandra.disk_tb * 1e12)
    assert pool(found, "cassandra").nodes == -(-disks // 1)
    assert pool(found, "cassandra").bound_by == "disk"


def test_the_unit_costs_have_a_row_for_each_stage_of_the_topology() -> None:
    assert list(COSTS.stages) == [stage.name for stage in STAGES]


def test_a_stage_that_was_not_measured_costs_as_much_as_the_costliest_of_those_that_handle_pages(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(costs, "log", structlog.get_logger())  # a logger that was used keeps its configuration
    page = StageCost(per="changed_page", cpu_seconds=0.02, memory_mb=100)
    large_page = StageCost(per="fetch", cpu_seconds=0.01, memory_mb=300)
    statement = StageCost(per="statement", cpu_seconds=0.5, memory_mb=900)
    measured = {"a": page, "b": large_page, "c": statement}
    with capture_logs() as logs:
        found = stage_cost("new", measured)
    assert found == StageCost(per="fetch", cpu_seconds=0.02, memory_mb=300, estimated=True)
    assert [(line["log_level"], line["stage"]) for line in logs] == [("warning", "new")]
    assert stage_cost("c", measured) == statement


@pytest.mark.parametrize(("workers", "partitions"), [(1, 8), (5, 8), (6, 16), (100, 256)])
def test_partitions_exceed_the_workers_of_the_largest_stage(workers: int, partitions: int) -> None:
    assert partitions_for(workers) == partitions


def test_the_published_number_of_shards() -> None:
    assert shards_for(3e9, COSTS) == 64
    assert shards_for(1, COSTS) == 1


@given(WORKLOADS)
def test_no_stage_has_more_workers_than_partitions(workload: Workload) -> None:
    found = plan(workload, COSTS)
    assert max(stage.workers for stage in found.stages) <= found.partitions


@given(WORKLOADS, st.floats(1.1, 10))
def test_more_pages_never_need_less(workload: Workload, factor: float) -> None:
    small, large = plan(workload, COSTS), plan(replace(workload, pages=workload.pages * factor), COSTS)
    assert large.usd_month >= small.usd_month
    for fewer, more in zip(small.pools, large.pools, strict=True):
        assert (more.cores, more.memory_gb, more.disk_tb) >= (fewer.cores, fewer.memory_gb, fewer.disk_tb), more.name


@given(WORKLOADS)
def test_replicas_have_machines_of_their_own(workload: Workload) -> None:
    found = plan(workload, COSTS)
    assert pool(found, "kafka").nodes >= REPLICAS
    assert pool(found, "cassandra").nodes >= REPLICAS
    assert pool(found, "qdrant").nodes >= VECTOR_REPLICAS
    assert pool(found, "gateway").nodes >= 2 * workload.regions


def test_a_small_installation_has_small_machines() -> None:
    cassandra = pool(plan(Workload(pages=1e5), COSTS), "cassandra")
    assert (cassandra.nodes, cassandra.cores) == (3, 3 * COSTS.assumed.machines.cassandra.cores * SCALES[0])


def test_one_region_moves_nothing_between_regions() -> None:
    assert plan(Workload(pages=1e9), COSTS).region_transfer_tb_month == 0
    assert plan(Workload(pages=1e9, regions=2), COSTS).region_transfer_tb_month > 0


def test_the_vectors_of_a_larger_model_need_more_memory_and_disk() -> None:
    """A dimension is a byte in memory (int8), and four bytes on disk."""
    assumed, machines = COSTS.assumed.qdrant, COSTS.assumed.machines
    for dimensions in (384, 768):
        found = plan(Workload(pages=1e10, dimensions=dimensions), COSTS)
        memory = found.statements * 2 * (dimensions + assumed.index_bytes_per_statement)
        assert pool(found, "qdrant").nodes == -(-memory // (0.8 * machines.qdrant.memory_gb * 1e9))
    small_disks = machines.model_copy(update={"qdrant": machines.qdrant.model_copy(update={"disk_tb": 0.1})})
    costs = COSTS.model_copy(update={"assumed": COSTS.assumed.model_copy(update={"machines": small_disks})})
    for dimensions in (384, 768):
        found = plan(Workload(pages=1e10, dimensions=dimensions), costs)
        disk = found.statements * 2 * (4 * dimensions + assumed.disk_bytes_beside_vector)
        assert pool(found, "qdrant").bound_by == "disk"
        assert pool(found, "qdrant").nodes == -(-disk // (0.7 * 0.1 * 1e12))


@pytest.mark.parametrize(
    ("arguments", "model", "dimensions"),
    [
        ([], "sbert", COSTS.qdrant.dimensions),
        ([], "wide", 1_024),
        ([], "elsewhere", COSTS.qdrant.dimensions),
        (["--dimensions", "256"], "wide", 256),
    ],
    ids=["the default model", "the configured model", "a model that is not on this machine", "by the option"],
)
def test_the_plan_has_the_dimensions_of_the_configured_model(
    arguments: list[str], model: str, dimensions: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    own = Settings().models_path / "local" / "sbert" / "config.pbtxt"
    for name, text in (
        ("sbert", own.read_text()),
        ("wide", set_parameters(own.read_text(), {"dimensions": "1024"})),
    ):
        folder = tmp_path / "local" / name
        folder.mkdir(parents=True)
        (folder / "config.pbtxt").write_text(text)
    monkeypatch.setenv("RIFFLE_MODEL_REPOSITORY", str(tmp_path))
    monkeypatch.setenv("RIFFLE_TRITON__MODEL", model)
    shown = CliRunner().invoke(app, ["plan", "--pages", "1e8", "--json", *arguments], catch_exceptions=False)
    assert json.loads(shown.stdout)["dimensions"] == dimensions


def test_without_gpus_cores_embed() -> None:
    found = plan(Workload(pages=1e8, gpus=False), COSTS)
    needed = found.rates.statement * COSTS.triton.cpu_seconds_per_statement * 1.5 / 0.6
    assert pool(found, "triton").cores >= needed
    assert sum(p.gpus for p in found.pools) == 0


def test_gpus_need_cores_for_chains_beside_them() -> None:
    found = pool(plan(Workload(pages=1e10), COSTS), "triton")
    assert found.bound_by == "gpus"
    slow = COSTS.gpu.model_copy(update={"chain_cpu_seconds_per_statement": 0.01})
    slower = plan(Workload(pages=1e10), COSTS.model_copy(update={"gpu": slow}))
    of_cores = pool(slower, "triton")
    assert of_cores.bound_by == "cores"
    assert of_cores.cores >= slower.rates.statement * 0.01 / 0.6
    assert of_cores.gpus == of_cores.nodes > found.gpus


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("pages", 0),
        ("dimensions", 0),
        ("recrawl_days", -1),
        ("changed_share", 1.1),
        ("duplicate_share", -0.1),
        ("queries_per_second", -1),
    ],
)
def test_an_impossible_workload_is_refused_by_name(field: str, value: float) -> None:
    fields: dict[str, Any] = {"pages": 1e6, field: value}
    with pytest.raises(UsageError, match=field):
        Workload(**fields)


class TestOwnCosts:
    def test_figures_that_are_left_out_are_those_of_the_release(self, tmp_path: Path) -> None:
        own = tmp_path / "own.toml"
        own.write_text("[assumed.prices]\ncore_hour = 0.5\n")
        costs = load_unit_costs(own)
        assert costs.assumed.prices.core_hour == 0.5
        assert costs.assumed.prices.gpu_hour == COSTS.assumed.prices.gpu_hour
        assert plan(Workload(pages=1e8), costs).usd_month > plan(Workload(pages=1e8), COSTS).usd_month

    @pytest.mark.parametrize(
        ("text", "message"),
        [
            ("[kafka]\nretention_day = 3\n", "kafka.retention_day"),  # a name that is no figure
            ("[kafka]\nretention_days = -3\n", "kafka.retention_days"),
            ("[kafka\n", "TOML"),
            ('[stages.fetsch]\nper = "fetch"\ncpu_seconds = 1\nmemory_mb = 1\n', "stages.fetsch: no stage"),
        ],
    )
    def test_a_mistake_is_named(self, tmp_path: Path, text: str, message: str) -> None:
        own = tmp_path / "own.toml"
        own.write_text(text)
        with pytest.raises(UsageError, match=message):
            load_unit_costs(own)

    def test_the_unit_costs_say_what_is_assumed(self) -> None:
        groups = COSTS.assumed.model_dump()
        assert all(group["source"] for group in groups.values())
        assert "measured" in UNIT_COSTS_FILE.read_text()


def test_the_prices_of_rented_machines_change_the_cost_and_nothing_else() -> None:
    """The file is one that `--costs` takes: all machines of the plan stay, and each pool costs less."""
    workload = Workload(pages=280e6, statements_per_page=10.7)
    cloud, rented = plan(workload, COSTS), plan(workload, load_unit_costs(COMMODITY_PRICES_FILE))
    assert [replace(pool, usd_month=0) for pool in rented.pools] == [replace(pool, usd_month=0) for pool in cloud.pools]
    assert all(cheap.usd_month < dear.usd_month for cheap, dear in zip(rented.pools, cloud.pools, strict=True))
    assert rented.usd_month < cloud.usd_month


def test_the_command_takes_the_file_of_prices() -> None:
    arguments = ["plan", "--pages", "2.8e8", "--statements-per-page", "10.7", "--json"]
    cloud = CliRunner().invoke(app, arguments)
    rented = CliRunner().invoke(app, [*arguments, "--costs", str(COMMODITY_PRICES_FILE)])
    assert json.loads(rented.stdout)["usd_month"] < json.loads(cloud.stdout)["usd_month"]
    assert "rented by the month" in json.loads(rented.stdout)["assumed"]["prices"]
