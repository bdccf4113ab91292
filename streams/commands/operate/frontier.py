"""`riffle frontier`: the hosts that are crawled; block one, slow it down, bound its budget, drop its queue."""

from collections.abc import AsyncIterator, Sequence
from datetime import UTC, datetime
from typing import Annotated, Any

import typer

from schemas import Event
from streams.clock import now_micros
from streams.commands.console import (
    EXIT_NO,
    AsJson,
    command,
    command_group,
    err,
    load_settings,
    need_kafka,
    out,
    print_json,
    print_result,
    table,
)
from streams.crawl.host_quality import describe_host_quality
from streams.crawl.urls import InvalidUrl, host_of, with_scheme
from streams.errors import UsageError
from streams.maintenance.frontier_hosts import change_order, describe_order, due_hosts, view_host
from streams.maintenance.host_pages import HostProgress, remove_pages, restore_pages
from streams.runtime.producer import EventProducer
from streams.settings import Settings
from streams.stores.opener import open_stores

frontier_app = command_group("Hosts that are crawled: show them, block them, slow them down, drop their queues.")

HostName = Annotated[str, typer.Argument(metavar="HOST", help="The name of the host, such as www.example.org.")]
Note = Annotated[str, typer.Option("--note", help="Noted with the order.")]


@frontier_app.command("hosts")
@command
async def hosts(
    count: Annotated[int, typer.Option(min=1, help="Number of hosts to show.")] = 30, as_json: AsJson = False
) -> None:
    """List the hosts that wait for a request, the ones that are due first, and the hosts with orders.

    Example:  riffle frontier hosts --count 100
    """
    async with open_stores(load_settings(), ["records"]) as stores:
        due = await due_hosts(stores.frontier)
        orders = {order.host: order for order in await stores.frontier.orders()}
    shown = [
        {"host": host, "due": _time(when), "order": describe_order(orders.get(host))} for host, when in due[:count]
    ]
    named = {row["host"] for row in shown}
    shown += [{"host": host, "due": "", "order": describe_order(orders[host])} for host in orders if host not in named]
    if as_json:
        print_json({"hosts": len(due), "shown": shown})
        return
    rows = table("host", "due", "order")
    for row in shown:
        rows.add_row(row["host"], row["due"], row["order"])
    out.print(rows)
    out.print(f"{len(due):,} hosts wait for a request.", highlight=False)


@frontier_app.command("show")
@command
async def show(host: HostName, as_json: AsJson = False) -> int:
    """Show one host: how many URLs wait, when it is asked next, its robots.txt, its quality, the operator's order.

    Example:  riffle frontier show www.example.org
    """
    name = _host(host)
    async with open_stores(load_settings(), ["records"]) as stores:
        view = await view_host(stores.frontier, name, now_micros())
    if view is None:
        err.advise(f"The frontier does not know {name}. To crawl it: riffle crawl https://{name}/", highlight=False)
        return EXIT_NO
    if as_json:
        print_json(view.to_json())
        return 0
    rows = table("", name)
    for label, value in (
        ("state", view.state),
        ("URLs that wait", f"{view.waiting:,}"),
        ("requests under way", str(view.leases)),
        ("next request at the earliest", "none" if view.next_at is None else _time(view.next_at)),
        ("delay asked for (seconds)", f"{view.delay_seconds:g}"),
        ("robots.txt", " ".join(filter(None, [view.robots, view.detail]))),
        ("failures in a row", str(view.failures)),
        ("pages scheduled, all crawls", f"{view.scheduled:,}"),
        ("URLs left out as traps", ", ".join(f"{name} {count:,}" for name, count in view.left_out.items()) or "none"),
        *describe_host_quality(view.quality),
        ("order", describe_order(view.order) or "none"),
    ):
        rows.add_row(label, value)
    out.print(rows)
    return 0


@frontier_app.command("block")
@command
async def block(host: HostName, note: Note = "", as_json: AsJson = False) -> None:
    """Request nothing from a host any more, and remove its pages from the index. Its queue and stored pages are kept.

    Example:  riffle frontier block spam.example --note "request of 3 May"
    """
    settings, name, now = load_settings(), _host(host), now_micros()
    need_kafka(settings)
    async with open_stores(settings, ["records"]) as stores:
        order = await change_order(stores.frontier, name, now, blocked=True, note=note)
        async with EventProducer(settings, "frontier") as producer:
            job = remove_pages(stores.pages, name, now, order.block_reason, producer.send_ahead)
            pages = await _follow(job, "removed")
    print_result(
        f"{name} is blocked. {pages:,} pages are being removed from the index.", {"host": name, "pages": pages}, as_json
    )


@frontier_app.command("unblock")
@command
async def unblock(host: HostName, as_json: AsJson = False) -> None:
    """Crawl a host again, and bring its stored pages back into the index without a request.

    Example:  riffle frontier unblock www.example.org
    """
    settings, name, now = load_settings(), _host(host), now_micros()
    need_kafka(settings)
    async with open_stores(settings, ["records"]) as stores:
        await change_order(stores.frontier, name, now, blocked=False, note="")
        async with EventProducer(settings, "frontier") as producer:

            async def send(events: Sequence[Event]) -> None:
                await producer.send_all(events)

            pages = await _follow(restore_pages(stores.pages, name, now, send), "sent")
    print_result(
        f"{name} is crawled again. {pages:,} stored pages are on their way.", {"host": name, "pages": pages}, as_json
    )


@frontier_app.command("delay")
@command
async def delay(
    host: HostName,
    seconds: Annotated[float, typer.Argument(min=0, max=86_400, help="Minimum delay. 0: as robots.txt has it.")],
    as_json: AsJson = False,
) -> None:
    """Set the minimum delay between two requests to a host. A longer one in its robots.txt holds.

    Example:  riffle frontier delay www.example.org 10
    """
    await _order(host, delay_seconds=seconds)
    print_result(
        f"Requests to {_host(host)} are at least {seconds:g} s apart.",
        {"host": _host(host), "delay_seconds": seconds},
        as_json,
    )


@frontier_app.command("budget")
@command
async def budget(
    host: HostName,
    pages: Annotated[int, typer.Argument(min=0, help="Maximum pages of the host in a crawl. 0: as each crawl has it.")],
    as_json: AsJson = False,
) -> None:
    """Set how many pages of a host each crawl may fetch.

    Example:  riffle frontier budget www.example.org 500
    """
    await _order(host, max_pages=pages)
    limit = f"at most {pages:,} pages" if pages else "as many pages as it allows"
    print_result(f"A crawl fetches {limit} of {_host(host)}.", {"host": _host(host), "max_pages": pages}, as_json)


@frontier_app.command("purge")
@command
async def purge(
    host: HostName,
    yes: Annotated[bool, typer.Option("--yes", help="Drop them without a question.")] = False,
    as_json: AsJson = False,
) -> None:
    """Drop the URLs of a host that wait now. Another crawl, or a seed, may queue them again.

    Example:  riffle frontier purge www.example.org --yes
    """
    name = _host(host)
    if not yes:
        typer.confirm(f"Drop all URLs of {name} that wait?", abort=True)
    await _order(host, purged_at=now_micros())
    print_result(f"The URLs of {name} that wait are being dropped.", {"host": name}, as_json)


async def _order(host: str, **changes: Any) -> None:
    name = _host(host)  # a wrong name is an error before any store is asked
    async with open_stores(load_settings(), ["records"]) as stores:
        await change_order(stores.frontier, name, now_micros(), **changes)


async def _follow(job: AsyncIterator[HostProgress], verb: str) -> int:
    """Show the progress of a job, and return the number of pages."""
    pages = 0
    with err.status("Reading pages ...") as status:
        async for progress in job:
            pages = progress.pages
            status.update(f"{progress.share:.0%} of all records read, {pages:,} pages {verb}")
    return pages


def _host(text: str) -> str:
    settings: Settings = load_settings()
    try:
        return host_of(with_scheme(text, settings.crawl.origins))
    except InvalidUrl as error:
        raise UsageError(f"{text!r} is no name of a host: {error}") from None


def _time(micros: int) -> str:
    return datetime.fromtimestamp(micros / 1_000_000, UTC).isoformat(" ", "seconds") if micros > 0 else ""
