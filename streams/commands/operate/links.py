"""`riffle links`: the graph of hosts. `rank` computes the authority of each host, `show` shows one authority."""

import asyncio
from contextlib import closing
from pathlib import Path
from typing import Annotated

import numpy as np
import typer

from streams.commands.cluster import DaskEngine, dask_client
from streams.commands.console import EXIT_NO, AsJson, command, command_group, err, load_settings, out, print_json, table
from streams.commands.job_reports import reported
from streams.errors import UsageError
from streams.links.batch import Engine, compute
from streams.links.pagerank import HostGraph, Ranks
from streams.links.ranking import Progress, Ranked, rank_hosts
from streams.stores.opener import open_stores
from streams.stores.protocols import HostRank, private_hosts

PARTS = 64
"""Number of parts of the graph on a cluster."""
SHOWN_SOURCES = 20
"""Number of linking hosts that are shown."""

links_app = command_group("Authority of hosts: compute it from the links between hosts, and show it.")


@links_app.command("rank")
@command
async def rank(
    anew: Annotated[bool, typer.Option("--anew", help="Compute all ranks without the former ones.")] = False,
    cluster: Annotated[
        str, typer.Option(metavar="ADDRESS", help="Compute all ranks on a Dask cluster, by its scheduler.")
    ] = "",
    edges: Annotated[
        Path | None, typer.Option(dir_okay=False, help="With --cluster: a file for the links, which its workers read.")
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Compute the PageRank of each host from the links that the links stage collected, and write what changed.

    The former ranks are the start, so a later run computes only what new links changed. Run it each hour or each day,
    beside the workers. Gateways use the new ranks within ten minutes.

    Examples:

        riffle links rank
        riffle links rank --cluster tcp://scheduler:8786 --edges /shared/edges.tsv
    """
    if bool(cluster) != bool(edges):
        raise UsageError("--cluster and --edges go together: workers read the links from a file that all of them reach")
    settings = load_settings()
    async with open_stores(settings, ["records"]) as stores:
        with err.status("Reading links ...") as status:
            async with reported(stores.notes, "links rank") as report:

                def show_step(step: str, hosts: int) -> None:
                    status.update(f"{step}: {hosts:,} hosts")
                    report(f"{step}: {hosts:,} hosts")

                async def compute_there(graph: HostGraph) -> Ranks:
                    assert edges
                    with closing(dask_client(cluster)) as client:
                        return await asyncio.to_thread(rank_by_batch, DaskEngine(client), graph, edges, show_step)

                other = compute_there if cluster else None
                private = private_hosts(await stores.api_keys.sites())
                ranked = await rank_hosts(
                    stores.host_links, anew=anew, private=private, progress=show_step, compute_there=other
                )
    _show_ranked(ranked, as_json=as_json)


def rank_by_batch(engine: Engine, graph: HostGraph, file: Path, progress: Progress) -> Ranks:
    """Return the ranks of the graph's hosts, as an engine computes them from a file of links. Raises UsageError."""
    try:
        file.write_text("".join(f"{one}\t{other}\n" for one, other in graph.edges()), encoding="utf-8")
    except OSError as error:
        raise UsageError(f"{file} can't be written: {error.strerror or error}") from error
    result = compute(engine, file.resolve(), parts=PARTS, report=progress)
    ranks = dict(result.rows(engine))
    return np.array([ranks.get(host, 1.0) for host in graph.hosts])


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
    host: Annotated[str, typer.Argument(help="A host, such as www.sqlite.org.")], as_json: AsJson = False
) -> int:
    """Show the authority of a host, and some of the pages that link to it.

    Example:  riffle links show www.sqlite.org
    """
    if "/" in host or not host.strip():
        raise UsageError(
            f"{host!r} is not a host: leave out https:// and the path, as in `riffle links show example.org`"
        )
    name = host.strip().lower()
    async with open_stores(load_settings(), ["records"], use="read") as stores:
        known = (await stores.host_links.ranks([name])).get(name, HostRank())
        sources = await stores.host_links.sources(name, SHOWN_SOURCES)
    if as_json:
        print_json({"host": name, "in_links": known.in_links, "rank": known.rank, "sources": sources})
        return 0 if sources else EXIT_NO
    if not sources:
        out.print(f"No page of another host links to {name}, as far as pages were crawled.")
        return EXIT_NO
    computed = "not computed yet: riffle links rank" if known.rank is None else f"{known.rank:,.2f}"
    out.print(f"{name}: rank {computed}; in-links, rounded down: {known.in_links:,}. Some of them:")
    for url in sources.values():
        out.print(f"  {url}")
    return 0
