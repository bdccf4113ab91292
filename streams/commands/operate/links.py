"""`riffle links`: the graph of hosts. `rank` computes the authority of each host, `show` shows one authority."""

import asyncio
from collections.abc import Iterable
from pathlib import Path
from typing import Annotated

import typer

from streams.commands.cluster import DaskEngine, dask_client
from streams.commands.console import (
    EXIT_NO,
    AsJson,
    command,
    command_group,
    err,
    load_settings,
    out,
    print_json,
    print_result,
    table,
)
from streams.commands.job_reports import reported
from streams.errors import UsageError
from streams.links.batch_job import Here, compute
from streams.links.ranking import Ranked, load_ranks, rank_hosts, read_graph, read_ranks
from streams.stores.opener import open_stores
from streams.stores.protocols import HostRank

SHOWN_SOURCES = 20
"""Number of linking hosts that are shown."""

links_app = command_group("Authority of hosts: compute it from the links between hosts, and show it.")


@links_app.command("rank")
@command
async def rank(
    anew: Annotated[bool, typer.Option("--anew", help="Compute all ranks without the former ones.")] = False,
    as_json: AsJson = False,
) -> None:
    """Compute the PageRank of each host from the links that the links stage collected, and write what changed.

    The former ranks are the start, so a later run computes only what new links changed. Run it each hour or each day,
    beside the workers. Gateways use the new ranks within ten minutes.

    Examples:

        riffle links rank
        riffle links rank --anew --json
    """
    settings = load_settings()
    async with open_stores(settings, ["records"]) as stores:
        with err.status("Reading links ...") as status:
            async with reported(stores.job_reports, "links rank") as report:

                def show_step(step: str, hosts: int) -> None:
                    status.update(f"{step}: {hosts:,} hosts")
                    report(f"{step}: {hosts:,} hosts")

                ranked = await rank_hosts(stores.host_links, anew=anew, progress=show_step)
    _show_ranked(ranked, as_json=as_json)


def _show_ranked(ranked: Ranked, *, as_json: bool) -> None:
    if as_json:
        first = [{"host": host, "rank": rank, "in_links": links} for host, rank, links in ranked.first]
        print_json({"hosts": ranked.hosts, "links": ranked.links, "written": ranked.written, "first": first})
        return
    out.print(f"{ranked.hosts:,} hosts, {ranked.links:,} links between them; {ranked.written:,} ranks changed.")
    if not ranked.hosts:
        out.advise(
            "No page of one host has linked to another host yet: `riffle status` shows what waits for the links stage."
        )
        return
    rows = table("host", "rank", "in-links", whole=["host"])
    for host, value, links in ranked.first:
        rows.add_row(host, f"{value:,.2f}", f"{links:,}")
    out.print(rows)


@links_app.command("show")
@command
async def show(
    host: Annotated[str, typer.Argument(help="A host, such as www.sqlite.org.")],
    as_json: AsJson = False,
) -> int:
    """Show the authority of a host, and some of the pages that link to it.

    Example:  riffle links show www.sqlite.org
    """
    if "/" in host or not host.strip():
        raise UsageError(
            f"{host!r} is not a host: leave out https:// and the path, as in `riffle links show example.org`"
        )
    name = host.strip().lower()
    async with open_stores(load_settings(), ["records"]) as stores:
        known = (await stores.host_links.ranks([name])).get(name, HostRank())
        sources = await stores.host_links.sources(name, SHOWN_SOURCES)
    if as_json:
        print_json({"host": name, "in_links": known.in_links, "rank": known.rank, "sources": sources})
        return 0 if sources else EXIT_NO
    if not sources:
        out.print(f"No page of another host links to {name}, as far as pages were crawled.")
        return EXIT_NO
    computed = "not computed yet: riffle links rank" if known.rank is None else f"{known.rank:,.2f}"
    out.print(f"{name}: rank {computed}; in-links, rounded down: {known.in_links:,}. Some of them:", soft_wrap=True)
    for url in sources.values():
        out.print(f"  {url}", soft_wrap=True)
    return 0


@links_app.command("export")
@command
async def export(
    file: Annotated[Path, typer.Argument(dir_okay=False, help="The file to write, such as edges.tsv.")],
    as_json: AsJson = False,
) -> int:
    """Write the graph of registrable domains as a list of edges: a line has the linking domain and the linked one.

    A cluster computes ranks from it where one machine has too little memory: Spark and Dask read such files.

    Example:  riffle links export edges.tsv
    """
    async with open_stores(load_settings(), ["records"]) as stores:
        with err.status("Reading links ...") as status:
            graph, _ = await read_graph(
                stores.host_links, lambda step, hosts: status.update(f"{step}: {hosts:,} hosts")
            )
    try:
        file.write_text("".join(f"{one}\t{other}\n" for one, other in graph.edges()), encoding="utf-8")
    except OSError as error:
        raise UsageError(f"{file} can't be written: {error.strerror or error}") from error
    print_result(
        f"{len(graph.targets):,} edges between {len(graph.hosts):,} domains: {file}",
        {"file": str(file), "edges": len(graph.targets), "domains": len(graph.hosts)},
        as_json,
    )
    return 0 if len(graph.targets) else EXIT_NO


@links_app.command("batch")
@command
async def batch(
    edges: Annotated[Path, typer.Argument(exists=True, dir_okay=False, help="Lines as `riffle links export` writes.")],
    ranks: Annotated[Path, typer.Argument(dir_okay=False, help="The file of ranks to write, for `riffle links load`.")],
    parts: Annotated[int, typer.Option(min=1, max=4_096, help="Number of parts of the graph.")] = 16,
    cluster: Annotated[str, typer.Option(help="Address of a Dask scheduler. Empty: in this process.")] = "",
    as_json: AsJson = False,
) -> None:
    """Compute ranks from a list of edges, on a cluster if one is named.

    Workers of the cluster read the file by its path, so it is on a file system that they share.

    Examples:

        riffle links batch edges.tsv ranks.tsv
        riffle links batch /shared/edges.tsv ranks.tsv --cluster tcp://scheduler:8786 --parts 64
    """
    client = dask_client(cluster) if cluster else None
    engine = DaskEngine(client) if client else Here()
    try:
        with err.status("Reading edges ...") as status:
            result = await asyncio.to_thread(
                compute,
                engine,
                edges.resolve(),
                parts=parts,
                report=lambda step, done: status.update(f"{step} {done}"),
            )
        _write_ranks(ranks, result.rows(engine))
    finally:
        if client:
            client.close()
    print_result(
        f"{result.edges:,} edges between {result.count:,} domains, {result.rounds} rounds: {ranks}",
        {"edges": result.edges, "domains": result.count, "rounds": result.rounds, "file": str(ranks)},
        as_json,
    )


def _write_ranks(file: Path, rows: Iterable[tuple[str, float]]) -> None:
    try:
        file.write_text("".join(f"{name}\t{value!r}\n" for name, value in rows), encoding="utf-8")
    except OSError as error:
        raise UsageError(f"{file} can't be written: {error.strerror or error}") from error


@links_app.command("load")
@command
async def load(
    file: Annotated[Path, typer.Argument(exists=True, dir_okay=False, help="Lines of a domain, a tab, and its rank.")],
    as_json: AsJson = False,
) -> int:
    """Write ranks that another program computed, for the hosts of each domain.

    The rank of a domain without in-links is 1: divide probabilities by the smallest one.

    Example:  riffle links load ranks.tsv
    """
    ranks = read_ranks(file.read_text(encoding="utf-8").splitlines())
    async with open_stores(load_settings(), ["records"]) as stores:
        with err.status("Reading links ...") as status:
            written = await load_ranks(
                stores.host_links, ranks, lambda step, hosts: status.update(f"{step}: {hosts:,} hosts")
            )
    print_result(
        f"{written:,} ranks of hosts were written, from {len(ranks):,} ranks of domains.",
        {"written": written, "domains": len(ranks)},
        as_json,
    )
    return 0 if written else EXIT_NO
