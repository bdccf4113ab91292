"""Tables of plans, in Markdown, for `docs/operate/capacity.md`."""

from collections.abc import Callable, Iterable, Sequence

from streams.planning.capacity import Plan, Workload, plan
from streams.planning.costs import UnitCosts, number
from streams.servers import NAMES

ShowFigure = Callable[[Plan], str]

SIZES = (1e6, 1e7, 1e8, 1e9, 1e10)
"""Numbers of pages that the page on capacity shows."""

PUBLISHED = Workload(
    pages=280e6, recrawl_days=3e9 / 100_000 / 86_400, statements_per_page=10.7, changed_share=1.0, duplicate_share=0.0
)
"""The work of a published engine: 280 million pages with 3 x 10^9 embeddings, at 100,000 embeddings/s."""


def sizes_table(costs: UnitCosts) -> str:
    """The plans for `SIZES`, one column each, with GPUs where that costs less than CPU cores."""
    both = [[plan(Workload(pages=pages, gpus=gpus), costs) for gpus in (True, False)] for pages in SIZES]
    plans = [min(found, key=lambda each: each.usd_month) for found in both]
    rows = [(label, [show(found) for found in plans]) for label, show in FIGURES]
    return markdown(("", *(power(pages) for pages in SIZES)), rows)


def stages_table(found: Plan) -> str:
    """Each stage of a plan: events, cores, workers, memory."""
    rows = [
        (
            f"`{s.name}`{' (estimated)' if s.estimated else ''}",
            [number(s.events_per_second), number(s.cores), f"{s.workers:,}", f"{number(s.memory_gb)} GB"],
        )
        for s in found.stages
    ]
    return markdown(("stage", "events/s at the peak", "busy cores", "workers", "memory"), rows)


KEPT = Workload(pages=PUBLISHED.pages, statements_per_page=PUBLISHED.statements_per_page)
"""The same pages and statements, each fetched once in 30 days: what it takes to keep them."""
PUBLISHED_CORES, PUBLISHED_DISK = "200", "82 TB"


def prices_table(cloud: UnitCosts, commodity: UnitCosts) -> str:
    """The plan that keeps the published engine's pages, pool by pool, at prices of a cloud and of rented machines."""
    found, cheaper = plan(KEPT, cloud), plan(KEPT, commodity)
    rows = [
        (
            f"{pool.name} ({pool.bound_by})",
            [number(pool.cores), f"{number(pool.disk_tb)} TB", number(pool.usd_month), number(other.usd_month)],
        )
        for pool, other in zip(found.pools, cheaper.pools, strict=True)
    ]
    cores, disk = sum(pool.cores for pool in found.pools), sum(pool.disk_tb for pool in found.pools)
    total = [number(cores), f"{number(disk)} TB", number(found.usd_month), number(cheaper.usd_month)]
    rows += [("all, with traffic", total), ("the published engine", [PUBLISHED_CORES, PUBLISHED_DISK, "", ""])]
    return markdown(("pool (decided by)", "cores", "disk", "USD a month: cloud", "rented machines"), rows)


def published_table(costs: UnitCosts) -> str:
    """The published figures of one engine beside the plan for the same work."""
    found = plan(PUBLISHED, costs)
    gpus = next(pool.gpus for pool in found.pools if pool.name == "triton")
    rows = [
        ("pages fetched per second", ["50,000 (peak)", f"{number(found.rates.fetch)} (mean)"]),
        ("embeddings", ["3 x 10^9", number(found.statements)]),
        ("embeddings per second", ["100,000", number(found.rates.statement)]),
        ("GPUs", ["250", f"{gpus:,}"]),
        ("record writes per second", ["200,000", number(found.cassandra_writes_per_second)]),
        ("vector shards", ["64", f"{found.shards}"]),
    ]
    return markdown(("", "published", "planned here for the same pages"), rows)


def markdown(header: Sequence[str], rows: Iterable[tuple[str, Sequence[str]]]) -> str:
    """A table whose first column is left-aligned and whose others are right-aligned."""
    lines = [f"| {' | '.join(header)} |", "|---|" + "---:|" * (len(header) - 1)]
    return "\n".join(lines + [f"| {' | '.join((label, *cells))} |" for label, cells in rows])


def power(value: float) -> str:
    return f"10^{len(f'{value:.0f}') - 1}"


def _nodes(name: str) -> tuple[str, ShowFigure]:
    def show(found: Plan) -> str:
        pool = next(pool for pool in found.pools if pool.name == name)
        return f"{pool.nodes:,} ({pool.bound_by})"

    return f"{name}: machines", show


def _gpus(found: Plan) -> str:
    return f"{sum(pool.gpus for pool in found.pools):,}"


FIGURES: tuple[tuple[str, ShowFigure], ...] = (
    ("fetches/s", lambda found: number(found.rates.fetch)),
    ("statements/s", lambda found: number(found.rates.statement)),
    ("statements kept", lambda found: number(found.statements)),
    ("Kafka records/s", lambda found: number(found.kafka_records_per_second)),
    ("Cassandra writes/s", lambda found: number(found.cassandra_writes_per_second)),
    *(_nodes(name) for name in ("workers", *NAMES, "gateway")),
    ("GPUs", _gpus),
    ("cores", lambda found: number(sum(pool.cores for pool in found.pools))),
    ("memory", lambda found: f"{number(sum(pool.memory_gb for pool in found.pools))} GB"),
    ("disk", lambda found: f"{number(sum(pool.disk_tb for pool in found.pools))} TB"),
    ("partitions of a topic", lambda found: f"{found.partitions:,}"),
    ("vector shards", lambda found: f"{found.shards:,}"),
    ("fetched a month", lambda found: f"{number(found.ingress_tb_month)} TB"),
    ("sent to the web a month", lambda found: f"{number(found.egress_tb_month)} TB"),
    ("USD a month", lambda found: number(found.usd_month)),
    ("USD a month for a million pages", lambda found: number(found.usd_per_million_pages)),
)
