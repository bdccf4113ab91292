"""Capacity of an installation: machines, disks, GPUs, partitions, shards, traffic and cost for a workload.

Every pool is sized by its scarcest resource, which the plan names. The arithmetic is linear in the unit costs. What it
can't know (a hot host, a slow region, the neighbours of a machine) is in the headroom.
`benchmarks/stack/capacity_simulation.py` shows what the planned capacity does over time.
"""

from dataclasses import dataclass, replace
from math import ceil, log2
from typing import Literal

from streams.errors import UsageError
from streams.planning.costs import Machine, UnitCosts

SECONDS_PER_DAY = 86_400
HOURS_PER_MONTH = 730
MONTH_SECONDS = HOURS_PER_MONTH * 3_600
TB = 1e12
GB = 1e9
MAX_PARTITIONS_PER_BROKER = 4_000
"""Maximum number of partition replicas of a broker, as Kafka's operators recommend."""
Quantization = Literal["int8", "binary"]
VECTOR_BYTES: dict[Quantization, float] = {"int8": 1.0, "binary": 1 / 8}
"""Bytes of one dimension in memory."""
ORIGINAL_BYTES = 4
"""Bytes of one dimension on disk: the original vectors are of single precision."""
MIN_PARTITIONS = 8
REPLICAS = 3
"""Replicas in Kafka and Cassandra."""
VECTOR_REPLICAS = 2
"""Replicas of the vectors in Qdrant."""
SCALES = (1 / 8, 1 / 4, 1 / 2, 1.0)
"""Sizes of machines on the market, as shares of the assumed size."""


@dataclass(frozen=True, slots=True)
class Workload:
    """The work of an installation: pages to crawl and keep, queries to answer. Shares are parts of the fetches."""

    pages: float
    recrawl_days: float = 30
    statements_per_page: float = 60
    changed_share: float = 0.4
    """Share of the fetches that find a new page, or a changed one."""
    duplicate_share: float = 0.25
    """Share of the changed pages that are duplicates of others: they are not cut into statements."""
    queries_per_second: float = 10
    regions: int = 1
    quantization: Quantization = "int8"
    """Form of the vectors in memory. The original vectors are on disk, and rescore the best results."""
    gpus: bool = True
    """False: statements are embedded on CPU cores."""
    dimensions: int | None = None
    """Dimensions of the embedding model's vectors. None: the unit costs have the default model's dimensions."""

    def __post_init__(self) -> None:
        positive = ("pages", "recrawl_days", "statements_per_page", "regions")
        for name in positive:
            if getattr(self, name) <= 0:
                raise UsageError(f"{name} is {getattr(self, name)}: it must be more than 0")
        if self.dimensions is not None and self.dimensions <= 0:
            raise UsageError(f"dimensions is {self.dimensions}: it must be more than 0")
        for name in ("changed_share", "duplicate_share"):
            if not 0 <= getattr(self, name) <= 1:
                raise UsageError(f"{name} is {getattr(self, name)}: it must be from 0 to 1")
        if self.queries_per_second < 0:
            raise UsageError(f"queries_per_second is {self.queries_per_second}: it must not be negative")


@dataclass(frozen=True, slots=True)
class Rates:
    """Events per second, mean over a recrawl."""

    fetch: float
    changed_page: float
    unique_page: float
    statement: float


@dataclass(frozen=True, slots=True)
class Pool:
    """Machines of one kind. `bound_by` names the resource that decides their number."""

    name: str
    nodes: int
    cores: float
    memory_gb: float
    disk_tb: float = 0.0
    gpus: int = 0
    bound_by: str = "cores"
    usd_month: float = 0.0


@dataclass(frozen=True, slots=True)
class StagePlan:
    """Workers of one stage at its peak: each is one process, and uses at most one core."""

    name: str
    events_per_second: float
    cores: float
    workers: int
    memory_gb: float
    estimated: bool = False
    """True if the stage was not measured."""


@dataclass(frozen=True, slots=True)
class Plan:
    """Everything that a workload needs."""

    workload: Workload
    rates: Rates
    stages: tuple[StagePlan, ...]
    pools: tuple[Pool, ...]
    partitions: int
    shards: int
    dimensions: int
    statements: float
    kafka_records_per_second: float
    cassandra_writes_per_second: float
    ingress_tb_month: float
    egress_tb_month: float
    region_transfer_tb_month: float
    traffic_usd_month: float

    @property
    def usd_month(self) -> float:
        return sum(pool.usd_month for pool in self.pools) + self.traffic_usd_month

    @property
    def usd_per_million_pages(self) -> float:
        """USD a month for each million pages that are kept searchable."""
        return self.usd_month / (self.workload.pages / 1e6)


def plan(workload: Workload, costs: UnitCosts) -> Plan:
    rates = fetch_rates(workload)
    stages = tuple(_stage(name, rates, costs) for name in costs.stages)
    partitions = partitions_for(max(stage.workers for stage in stages))
    statements = workload.pages * (1 - workload.duplicate_share) * workload.statements_per_page
    shards = shards_for(statements, costs)
    pools = (
        _workers(stages, costs),
        _kafka(workload, rates, partitions, len(stages), costs),
        _cassandra(workload, rates, costs),
        _qdrant(workload, rates, statements, shards, costs),
        _embedding(workload, rates, costs),
        _gateway(workload, costs),
    )
    traffic = _traffic(workload, rates, costs)
    return Plan(
        workload=workload,
        rates=rates,
        stages=stages,
        pools=tuple(_add_price(pool, costs) for pool in pools),
        partitions=partitions,
        shards=shards,
        dimensions=dimensions_of(workload, costs),
        statements=statements,
        kafka_records_per_second=rates.fetch * costs.kafka.records_per_fetch,
        cassandra_writes_per_second=rates.fetch * costs.cassandra.writes_per_fetch,
        ingress_tb_month=traffic[0],
        egress_tb_month=traffic[1],
        region_transfer_tb_month=traffic[2],
        traffic_usd_month=traffic[1] * costs.assumed.prices.egress_tb
        + traffic[2] * costs.assumed.prices.region_transfer_tb,
    )


def fetch_rates(workload: Workload) -> Rates:
    """Return the mean rates of a workload: each page is fetched once in `recrawl_days`."""
    fetch = workload.pages / (workload.recrawl_days * SECONDS_PER_DAY)
    changed = fetch * workload.changed_share
    unique = changed * (1 - workload.duplicate_share)
    return Rates(fetch, changed, unique, unique * workload.statements_per_page)


def dimensions_of(workload: Workload, costs: UnitCosts) -> int:
    """Return the dimensions of the vectors: of the workload's model, or of the default one."""
    return workload.dimensions or costs.qdrant.dimensions


def partitions_for(workers: int) -> int:
    """Return the partitions of a topic: the next power of two above 1.5 times the workers of the largest stage."""
    return max(MIN_PARTITIONS, int(2 ** ceil(log2(max(1, workers) * 1.5))))


def shards_for(statements: float, costs: UnitCosts) -> int:
    """Return the shards of the collection: the next power of two that keeps a shard within the assumed maximum."""
    return int(2 ** ceil(log2(max(1.0, statements / costs.assumed.qdrant.statements_per_shard))))


def _stage(name: str, rates: Rates, costs: UnitCosts) -> StagePlan:
    cost = costs.stages[name]
    rate: float = getattr(rates, cost.per) * costs.assumed.headroom.peak
    cores = rate * cost.cpu_seconds
    workers = max(1, ceil(cores / costs.assumed.headroom.utilization))
    return StagePlan(name, rate, cores, workers, workers * cost.memory_mb / 1_000, cost.estimated)


def _workers(stages: tuple[StagePlan, ...], costs: UnitCosts) -> Pool:
    machines = costs.assumed.machines
    return _pool(
        "workers",
        {
            "cores": sum(stage.cores for stage in stages) / costs.assumed.headroom.utilization / machines.worker.cores,
            "memory": sum(stage.memory_gb for stage in stages) / machines.worker.memory_gb,
        },
        machines.worker,
    )


def _kafka(workload: Workload, rates: Rates, partitions: int, stages: int, costs: UnitCosts) -> Pool:
    machines, headroom, kafka = costs.assumed.machines, costs.assumed.headroom, costs.kafka
    written = rates.fetch * kafka.bytes_per_fetch * REPLICAS
    kept = written * kafka.retention_days * SECONDS_PER_DAY
    # A topic of the journey, a retry and a dead-letter topic for about each stage.
    replicas = partitions * stages * 3 * REPLICAS
    return _pool(
        "kafka",
        {
            "cores": _busy(rates.fetch * kafka.cpu_seconds_per_fetch * REPLICAS, costs) / machines.kafka.cores,
            "throughput": written * headroom.peak / headroom.utilization / (machines.kafka_mb_per_second * 1e6),
            "disk": kept / headroom.utilization / (machines.kafka.disk_tb * TB),
            "partitions": replicas / MAX_PARTITIONS_PER_BROKER,
        },
        machines.kafka,
        minimum=REPLICAS,
    )


def _cassandra(workload: Workload, rates: Rates, costs: UnitCosts) -> Pool:
    machines, cost, assumed = costs.assumed.machines, costs.cassandra, costs.assumed.cassandra
    stored = workload.pages * (cost.blob_bytes_per_page + assumed.row_bytes_per_page) * REPLICAS
    return _pool(
        "cassandra",
        {
            "cores": _busy(rates.fetch * cost.cpu_seconds_per_fetch * REPLICAS, costs) / machines.cassandra.cores,
            "disk": stored / assumed.disk_fill / (machines.cassandra.disk_tb * TB),
        },
        machines.cassandra,
        minimum=REPLICAS,
    )


def _qdrant(workload: Workload, rates: Rates, statements: float, shards: int, costs: UnitCosts) -> Pool:
    machines, assumed = costs.assumed.machines, costs.assumed.qdrant
    copies = statements * VECTOR_REPLICAS
    writing = rates.statement * costs.qdrant.cpu_seconds_per_statement * VECTOR_REPLICAS
    asking = workload.queries_per_second * shards * assumed.shard_cpu_seconds_per_query
    dimensions = dimensions_of(workload, costs)
    memory = dimensions * VECTOR_BYTES[workload.quantization] + assumed.index_bytes_per_statement
    disk = dimensions * ORIGINAL_BYTES + assumed.disk_bytes_beside_vector
    return _pool(
        "qdrant",
        {
            "cores": _busy(writing + asking, costs) / machines.qdrant.cores,
            "memory": copies * memory / (0.8 * machines.qdrant.memory_gb * GB),
            "disk": copies * disk / (0.7 * machines.qdrant.disk_tb * TB),
        },
        machines.qdrant,
        minimum=VECTOR_REPLICAS,
    )


def _embedding(workload: Workload, rates: Rates, costs: UnitCosts) -> Pool:
    machines, headroom = costs.assumed.machines, costs.assumed.headroom
    if not workload.gpus:
        cores = _busy(rates.statement * costs.triton.cpu_seconds_per_statement, costs)
        return _pool("triton", {"cores": cores / machines.worker.cores}, machines.worker)
    # GPUs work through the peak later: their queue is in Kafka. They are sized for the mean.
    gpus = max(1, ceil(rates.statement / costs.gpu.statements_per_second / headroom.utilization))
    chains = rates.statement * costs.gpu.chain_cpu_seconds_per_statement / headroom.utilization
    needed = {"gpus": gpus / machines.gpus_per_node, "cores": chains / machines.gpu_node.cores}
    bound_by = max(needed, key=lambda resource: needed[resource])
    nodes = ceil(needed[bound_by])
    node = machines.gpu_node
    rented = gpus if bound_by == "gpus" else nodes * machines.gpus_per_node
    return Pool("triton", nodes, nodes * node.cores, nodes * node.memory_gb, gpus=rented, bound_by=bound_by)


def _gateway(workload: Workload, costs: UnitCosts) -> Pool:
    machines = costs.assumed.machines
    per_query = costs.gateway.cpu_seconds_per_query + costs.triton.query_cpu_seconds
    needed = {"cores": _busy(workload.queries_per_second * per_query, costs) / machines.gateway.cores}
    return _pool("gateway", needed, machines.gateway, minimum=2 * workload.regions)


def _traffic(workload: Workload, rates: Rates, costs: UnitCosts) -> tuple[float, float, float]:
    """Return the terabytes a month: fetched, sent to the web, and between regions (only events)."""
    fetched = rates.fetch * MONTH_SECONDS
    web = costs.assumed.web
    between = fetched * costs.kafka.bytes_per_fetch * (workload.regions - 1) / workload.regions
    return (
        fetched * web.transferred_bytes_per_fetch / TB,
        fetched * web.request_bytes_per_fetch / TB,
        between / TB,
    )


def _busy(cores: float, costs: UnitCosts) -> float:
    """Return the cores that keep a pool within its utilization at the peak."""
    return cores * costs.assumed.headroom.peak / costs.assumed.headroom.utilization


def _pool(name: str, needed: dict[str, float], machine: Machine, minimum: int = 1) -> Pool:
    """Return a pool with the machines that its scarcest resource needs. Only `minimum` machines may be smaller ones."""
    bound_by = max(needed, key=lambda resource: needed[resource])
    nodes, scale = ceil(needed[bound_by]), 1.0
    if nodes <= minimum:
        scale = next((scale for scale in SCALES if scale >= needed[bound_by] / minimum), 1.0)
        nodes, bound_by = minimum, bound_by if needed[bound_by] > minimum * SCALES[0] else "replicas"
    size = nodes * scale
    cores, memory_gb, disk_tb = size * machine.cores, size * machine.memory_gb, size * machine.disk_tb
    return Pool(name, nodes, cores, memory_gb, disk_tb, bound_by=bound_by)


def _add_price(pool: Pool, costs: UnitCosts) -> Pool:
    prices = costs.assumed.prices
    hourly = pool.cores * prices.core_hour + pool.memory_gb * prices.memory_gb_hour + pool.gpus * prices.gpu_hour
    usd = hourly * HOURS_PER_MONTH + pool.disk_tb * prices.disk_tb_month
    return replace(pool, usd_month=round(usd, 2))
