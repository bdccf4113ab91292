"""Unit costs: what one page, statement or query costs, measured or assumed, read from a TOML file."""

import tomllib
from collections.abc import Mapping
from datetime import date
from pathlib import Path
from typing import Any, Literal

import structlog
from pydantic import BaseModel, ConfigDict, NonNegativeFloat, PositiveFloat, PositiveInt, ValidationError

from streams.errors import UsageError
from streams.settings.root import merge_mappings
from streams.topology import STAGES

log = structlog.get_logger(__name__)

UNIT_COSTS_FILE = Path(__file__).parent / "unit_costs.toml"
"""The unit costs of this release, with the date, machine and command of their measurement."""

COMMODITY_PRICES_FILE = Path(__file__).parent / "commodity_prices.toml"
"""Prices of rented machines, beside the prices of clouds in the unit costs."""

Driver = Literal["fetch", "changed_page", "unique_page", "statement"]
"""The quantity in proportion to the work of a stage."""


class _Costs(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid")


class _Assumed(_Costs):
    """Figures that were not measured here, with their source."""

    source: str


class Measured(_Costs):
    """The origin of the measured figures."""

    date: date
    machine: str
    command: str


class StageCost(_Costs):
    """CPU seconds for each unit of `per`, and the memory of one worker."""

    per: Driver
    cpu_seconds: PositiveFloat
    memory_mb: PositiveFloat
    estimated: bool = False
    """True if the figures were not measured."""


class KafkaCost(_Costs):
    """Records and bytes are before replication and after compression."""

    records_per_fetch: PositiveFloat
    bytes_per_fetch: PositiveFloat
    cpu_seconds_per_fetch: PositiveFloat
    retention_days: PositiveFloat


class CassandraCost(_Costs):
    """All figures are for one replica."""

    writes_per_fetch: PositiveFloat
    cpu_seconds_per_fetch: PositiveFloat
    blob_bytes_per_page: PositiveFloat


class TritonCost(_Costs):
    """CPU seconds without a GPU."""

    cpu_seconds_per_statement: PositiveFloat
    query_cpu_seconds: PositiveFloat


class GpuCost(Measured):
    """One GPU that embeds statements. The chain model runs on the cores beside it."""

    model: str
    statements_per_second: PositiveFloat
    chain_cpu_seconds_per_statement: PositiveFloat


class QdrantCost(_Costs):
    """CPU seconds for writing a statement, for one replica, and the dimensions of the default model's vectors."""

    cpu_seconds_per_statement: PositiveFloat
    dimensions: PositiveInt


class GatewayCost(_Costs):
    """CPU seconds of the gateway's own process for a query."""

    cpu_seconds_per_query: PositiveFloat
    memory_mb: PositiveFloat


class AssumedCassandra(_Assumed):
    row_bytes_per_page: PositiveFloat
    disk_fill: PositiveFloat


class AssumedQdrant(_Assumed):
    index_bytes_per_statement: PositiveFloat
    disk_bytes_beside_vector: PositiveFloat
    statements_per_shard: PositiveInt
    shard_cpu_seconds_per_query: PositiveFloat


class AssumedWeb(_Assumed):
    transferred_bytes_per_fetch: PositiveFloat
    request_bytes_per_fetch: PositiveFloat


class Headroom(_Assumed):
    """`utilization`: maximum share of a pool that is busy at the peak. `peak`: the peak's rate over the mean's."""

    utilization: PositiveFloat
    peak: PositiveFloat


class Machine(_Costs):
    cores: PositiveFloat
    memory_gb: PositiveFloat
    disk_tb: NonNegativeFloat = 0.0


class Machines(_Assumed):
    """Size of one machine of each pool."""

    worker: Machine
    kafka: Machine
    kafka_mb_per_second: PositiveFloat
    cassandra: Machine
    qdrant: Machine
    gpu_node: Machine
    gpus_per_node: PositiveInt
    gateway: Machine


class Prices(_Assumed):
    """Prices in USD."""

    core_hour: PositiveFloat
    memory_gb_hour: PositiveFloat
    gpu_hour: PositiveFloat
    disk_tb_month: PositiveFloat
    egress_tb: PositiveFloat
    region_transfer_tb: PositiveFloat


class Assumed(_Costs):
    """Figures that were not measured here, each group with its source."""

    cassandra: AssumedCassandra
    qdrant: AssumedQdrant
    web: AssumedWeb
    headroom: Headroom
    machines: Machines
    prices: Prices


class UnitCosts(_Costs):
    """All unit costs."""

    measured: Measured
    stages: dict[str, StageCost]
    kafka: KafkaCost
    cassandra: CassandraCost
    triton: TritonCost
    gpu: GpuCost
    qdrant: QdrantCost
    gateway: GatewayCost
    assumed: Assumed


def load_unit_costs(own: Path | None = None) -> UnitCosts:
    """Read the unit costs of this release, with the costs of the file `own` in their place. Raises UsageError.

    Each stage of the topology has a row: a stage that was not measured is estimated, with a warning.
    """
    content = _read(UNIT_COSTS_FILE)
    if own is not None:
        content = merge_mappings(content, _read(own))
    try:
        costs = UnitCosts.model_validate(content)
    except ValidationError as error:
        problems = "; ".join(f"{'.'.join(map(str, p['loc']))}: {p['msg']}" for p in error.errors(include_url=False))
        raise UsageError(f"{own or UNIT_COSTS_FILE}: {problems}") from error
    if unknown := costs.stages.keys() - {stage.name for stage in STAGES}:
        raise UsageError(f"{own or UNIT_COSTS_FILE}: stages.{min(unknown)}: no stage has this name")
    return costs.model_copy(update={"stages": {stage.name: stage_cost(stage.name, costs.stages) for stage in STAGES}})


def stage_cost(name: str, measured: Mapping[str, StageCost]) -> StageCost:
    """Return the cost of a stage. An unmeasured stage costs as much as the costliest measured stage that handles pages.

    So a plan rather has too many machines than too few.
    """
    if name in measured:
        return measured[name]
    of_pages = [cost for cost in measured.values() if cost.per != "statement"]
    cpu_seconds, memory_mb = max(cost.cpu_seconds for cost in of_pages), max(cost.memory_mb for cost in of_pages)
    log.warning("a stage was not measured; its unit costs are estimated", stage=name, cpu_seconds=cpu_seconds)
    return StageCost(per="fetch", cpu_seconds=cpu_seconds, memory_mb=memory_mb, estimated=True)


def _read(path: Path) -> dict[str, Any]:
    try:
        return tomllib.loads(path.read_text())
    except (OSError, ValueError) as error:
        raise UsageError(f"{path} can't be read as TOML: {error}") from error


def number(value: float) -> str:
    """Return a number with two or three significant digits, and a name for thousands and more."""
    for size, name in ((1e12, " T"), (1e9, " G"), (1e6, " M")):
        if value >= size:
            return f"{value / size:.3g}{name}"
    if value >= 1_000:
        return f"{round(value, -1):,.0f}"
    return f"{value:.3g}" if value < 100 else f"{value:.0f}"
