"""`riffle frontier`: the hosts that are crawled, and the order for one: block it, slow it down, bound it."""

import asyncio
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
from streams.maintenance.host_pages import SETTLING_SECONDS, HostProgress, remove_pages, restore_pages
from streams.runtime.producer import EventProducer
from streams.settings import Settings
from streams.stores.opener import Stores, open_stores
from streams.stores.protocols import ALL_HOSTS, HostOrder

frontier_app = command_group("Hosts that are crawled: show them, block them, slow them down.")

HostName = Annotated[str, typer.Argument(metavar="HOST", help="The name of the host, such as www.example.org.")]


@frontier_app.command("hosts")
@command
async def hosts(
    count: Annotated[int, typer.Option(min=1, help="Number of hosts to show.")] = 30, as_json: AsJson = False
) -> None:
    """List the hosts that wait for a request, the ones that are due first, and the hosts with orders.

    Example:  riffle frontier hosts --count 100
    """
    async with open_stores(load_settings(), ["records"], use="read") as stores:
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
    out.print(f"{len(due):,} hosts wait for a request.")


@frontier_app.command("show")
@command
async def show(host: HostName, as_json: AsJson = False) -> int:
    """Show one host: how many URLs wait, when it is asked next, its robots.txt, its quality, the operator's order.

    Example:  riffle frontier show www.example.org
    """
    name = _host(host)
    async with open_stores(load_settings(), ["records"], use="read") as stores:
        view = await view_host(stores.frontier, name, now_micros())
    if view is None:
        err.advise(f"The frontier does not know {name}. To crawl it: riffle crawl https://{name}/")
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
        ("visits of known pages in a day, at most", f"{view.daily_visits:,}"),
        ("URLs left out as traps", ", ".join(f"{name} {count:,}" for name, count in view.left_out.items()) or "none"),
        *describe_host_quality(view.quality),
        ("order", describe_order(view.order) or "none"),
    ):
        rows.add_row(label, value)
    out.print(rows)
    return 0


@frontier_app.command("set")
@command
async def set_order(
    host: HostName,
    blocked: Annotated[
        bool | None, typer.Option("--block/--unblock", help="Crawl nothing of it, and take its pages out of the index.")
    ] = None,
    paused: Annotated[
        bool | None, typer.Option("--pause/--unpause", help="Ask for nothing for now. Its pages stay in the index.")
    ] = None,
    delay: Annotated[
        float | None,
        typer.Option(metavar="SECONDS", min=0, max=86_400, help="Minimum delay of requests. 0: as robots.txt has it."),
    ] = None,
    budget: Annotated[
        int | None, typer.Option(metavar="PAGES", min=0, help="Maximum pages in a crawl. 0: as each crawl has it.")
    ] = None,
    note: Annotated[str, typer.Option(help="Noted with the order.")] = "",
    drop_queue: Annotated[
        bool, typer.Option("--drop-queue", help="Drop the URLs that wait now. A crawl or a seed may queue them again.")
    ] = False,
    yes: Annotated[bool, typer.Option("--yes", help="Drop them without a question.")] = False,
    as_json: AsJson = False,
) -> None:
    """Change the order for a host. What is not named stays as it is.

    A blocked host keeps its queue and its stored pages. --unblock brings these pages back without a request. `all`
    pauses all crawls; requests under way end, and --unpause goes on within a minute.

    Examples:

        riffle frontier set spam.example --block --note "request of 3 May"
        riffle frontier set all --pause
        riffle frontier set www.example.org --delay 10 --budget 500
    """
    settings, now = load_settings(), now_micros()
    name = ALL_HOSTS if host == "all" else _host(host)
    if name == ALL_HOSTS and (paused is None or drop_queue or not (blocked is delay is budget is None)):
        raise UsageError("all hosts together can only be paused: riffle frontier set all --pause, or --unpause")
    changes: dict[str, Any] = {"blocked": blocked, "paused": paused, "delay_seconds": delay, "max_pages": budget}
    changes["note"] = note or None
    changes["purged_at"] = now if drop_queue else None
    changes = {field: value for field, value in changes.items() if value is not None}
    if not changes:
        raise UsageError(
            "name a change: --block, --unblock, --pause, --unpause, --delay, --budget, --note or --drop-queue"
        )
    if drop_queue and not yes:
        typer.confirm(f"Drop all URLs of {name} that wait?", abort=True)
    if blocked is not None:
        need_kafka(settings)
    async with open_stores(settings, ["records"]) as stores:
        order = await change_order(stores.frontier, name, now, **({"note": ""} if blocked is False else {}), **changes)
        pages = await _move_pages(settings, stores, order) if blocked is not None else 0
    done = [describe_order(order) or "no order"]
    if blocked is not None:
        done.append(f"{pages:,} pages are {'being removed from the index' if blocked else 'brought back'}")
    if drop_queue:
        done.append("the URLs that wait are being dropped")
    fields = {name: getattr(order, name) for name in ("blocked", "paused", "delay_seconds", "max_pages", "note")}
    shown = host if name == ALL_HOSTS else name
    print_result(f"{shown}: {'; '.join(done)}.", {"host": shown, **fields, "pages": pages}, as_json)


async def _move_pages(settings: Settings, stores: Stores, order: HostOrder) -> int:
    """Take the pages of a blocked host out of the index, or bring them back. Return the number of pages."""
    with err.status("Waiting until all workers follow the order ..."):
        await asyncio.sleep(SETTLING_SECONDS)
    now = now_micros()
    async with EventProducer(settings, "frontier") as producer:

        async def send(events: Sequence[Event]) -> None:
            await producer.send_all(events)

        if order.blocked:
            job = remove_pages(stores.pages, order.host, now, order.block_reason, producer.send_ahead)
            return await _follow(job, "removed")
        return await _follow(restore_pages(stores.pages, order.host, now, send), "sent")


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
