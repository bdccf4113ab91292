"""`riffle plan`: the needs of an installation of a given size."""

from dataclasses import asdict
from pathlib import Path
from typing import Annotated

import typer

from streams.commands.console import AsJson, command, load_settings, out, print_json, table
from streams.planning.capacity import Plan, Quantization, Workload, plan
from streams.planning.costs import UnitCosts, load_unit_costs, number

DEFAULTS = Workload(pages=1)


@command
def make_plan(
    pages: Annotated[float, typer.Option(help="Number of pages to keep searchable, such as 1e9.")],
    recrawl_days: Annotated[
        float, typer.Option(help="Days in which each page is fetched once.")
    ] = DEFAULTS.recrawl_days,
    statements_per_page: Annotated[
        float, typer.Option(help="Mean number of statements of a page.")
    ] = DEFAULTS.statements_per_page,
    queries_per_second: Annotated[
        float, typer.Option(help="Mean number of searches per second.")
    ] = DEFAULTS.queries_per_second,
    regions: Annotated[int, typer.Option(min=1, help="Regions that crawl.")] = DEFAULTS.regions,
    quantization: Annotated[Quantization, typer.Option(help="Form of the vectors in memory.")] = DEFAULTS.quantization,
    gpus: Annotated[bool, typer.Option("--gpus/--cpu", help="Embed statements on GPUs or on CPU cores.")] = True,
    dimensions: Annotated[
        int | None,
        typer.Option(min=1, help="Dimensions of the embedding model's vectors. Default: of RIFFLE_TRITON__MODEL."),
    ] = DEFAULTS.dimensions,
    costs: Annotated[
        Path | None, typer.Option(exists=True, dir_okay=False, help="A TOML file with your unit costs and prices.")
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Compute the machines, disks, GPUs, partitions, shards, traffic and cost of an installation.

    The unit costs were measured by the benchmarks of Riffle's repository. They are kept in
    streams/planning/unit_costs.toml, which also names what is assumed.

    Examples:

        riffle plan --pages 1e9 --recrawl-days 30 --statements-per-page 60
        riffle plan --pages 1e7 --cpu --costs ours.toml --json
    """
    unit_costs = load_unit_costs(costs)
    workload = Workload(
        pages=pages,
        recrawl_days=recrawl_days,
        statements_per_page=statements_per_page,
        queries_per_second=queries_per_second,
        regions=regions,
        quantization=quantization,
        gpus=gpus,
        dimensions=dimensions or _dimensions_of_model(),
    )
    found = plan(workload, unit_costs)
    if as_json:
        print_json(
            {
                **asdict(found),
                "usd_month": round(found.usd_month, 2),
                "usd_per_million_pages": round(found.usd_per_million_pages, 2),
                "measured": unit_costs.measured.model_dump(),
                "assumed": {name: group["source"] for name, group in unit_costs.assumed.model_dump().items()},
            }
        )
        return
    _show(found, unit_costs)


def _dimensions_of_model() -> int | None:
    """Return the dimensions of the configured model; None if this machine doesn't have it."""
    from streams.models.inference.repository import LOCAL_REPOSITORY, model_info, parameters_of, read_config

    settings = load_settings()
    folder = settings.models_path / LOCAL_REPOSITORY / settings.triton.model
    if not folder.is_dir():
        return None
    return model_info(parameters_of(read_config(folder)), str(folder)).dimensions


def _show(found: Plan, costs: UnitCosts) -> None:
    rates = found.rates
    out.print(
        f"{number(found.workload.pages)} pages, each fetched every {found.workload.recrawl_days:g} days: "
        f"{number(rates.fetch)} fetches/s, {number(rates.statement)} statements/s, "
        f"{number(found.statements)} statements kept.\n"
    )
    _show_pools(found)
    _show_stages(found)
    out.print(
        f"Kafka: {found.partitions:,} partitions for each topic, {number(found.kafka_records_per_second)} records/s, "
        f"kept for {costs.kafka.retention_days:g} days.\n"
        f"Cassandra: {number(found.cassandra_writes_per_second)} writes/s before replication.\n"
        f"Qdrant: {found.shards:,} shards, vectors of {found.dimensions:,} dimensions.\n"
        f"Traffic a month: {number(found.ingress_tb_month)} TB fetched, {number(found.egress_tb_month)} TB sent to the "
        f"web, {number(found.region_transfer_tb_month)} TB between regions.\n"
        f"Cost: {number(found.usd_month)} USD a month, {number(found.usd_per_million_pages)} for each million pages.\n"
    )
    out.print(
        f"Measured on {costs.measured.date}: {costs.measured.machine}. GPUs, prices, machine sizes and the memory of "
        "Qdrant are assumed: see docs/operate/capacity.md, and give your own figures with --costs."
    )


def _show_pools(found: Plan) -> None:
    shown = table("pool", "nodes", "by", "cores", "memory", "disk", "GPUs", "USD/month", whole=("pool", "nodes", "by"))
    for pool in found.pools:
        shown.add_row(
            pool.name,
            f"{pool.nodes:,}",
            pool.bound_by,
            number(pool.cores),
            f"{number(pool.memory_gb)} GB",
            f"{number(pool.disk_tb)} TB" if pool.disk_tb else "",
            f"{pool.gpus:,}" if pool.gpus else "",
            number(pool.usd_month),
        )
    out.print(shown)


def _show_stages(found: Plan) -> None:
    shown = table("stage", "events/s at the peak", "busy cores", "workers", "memory", whole=("stage",))
    for stage in found.stages:
        shown.add_row(
            f"{stage.name} (estimated)" if stage.estimated else stage.name,
            number(stage.events_per_second),
            number(stage.cores),
            f"{stage.workers:,}",
            f"{number(stage.memory_gb)} GB",
        )
    out.print(shown)
