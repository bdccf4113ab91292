"""`riffle crawl`: send seeds, and show the progress of their pages to the index."""

import asyncio
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import replace
from pathlib import Path
from typing import Annotated
from uuid import uuid4

import typer

from schemas import PageDiscovered
from streams.clock import now_micros
from streams.commands.console import (
    AsJson,
    command,
    err,
    load_settings,
    need_kafka,
    print_result,
)
from streams.commands.pages.crawl_report import CrawlEnd, report
from streams.commands.pages.left_out import MAX_PAGES as MAX_LOOKED
from streams.commands.pages.left_out import LeftOutLinks, describe_left_out
from streams.commands.pages.pauses import QUIET_SECONDS, find_pauses
from streams.commands.pages.seed_reasons import MAX_EXPLAINED, explain_seeds
from streams.commands.pages.seeds import describe_rewritten, first_seeds, read_seeds
from streams.commands.watching import FOLLOWED, LOOK_SECONDS, Bars, BrokersAway, Seen, machine_load
from streams.crawl.frontier.progress import CrawlProgress, ProgressReader, describe_results
from streams.crawl.scope import make_patterns
from streams.crawl.seeds import as_sitemap, seed
from streams.errors import TransientError, UsageError
from streams.plain_text import count_of
from streams.runtime.lags.backpressure import describe_shortage
from streams.runtime.producer import EventProducer
from streams.runtime.readers.topic_reader import Follower
from streams.settings import Settings
from streams.stores.opener import Stores, open_stores
from streams.stores.protocols import ALL_HOSTS


@command
async def crawl(
    urls: Annotated[list[str] | None, typer.Argument(help="The seeds: https addresses.")] = None,
    seeds_from: Annotated[
        Path | None, typer.Option("--seeds", exists=True, dir_okay=False, help="A file with one seed a line.")
    ] = None,
    first: Annotated[
        bool, typer.Option("--first", help="Also 200 seeds for a new index: reference works, documentation, news.")
    ] = False,
    depth: Annotated[int, typer.Option(min=0, help="Maximum hops from the seeds. 0: only the seeds.")] = 2,
    max_pages: Annotated[int | None, typer.Option(min=1, help="Maximum number of pages of each host.")] = None,
    any_host: Annotated[bool, typer.Option("--any-host", help="Also follow links to other hosts.")] = False,
    include: Annotated[
        list[str] | None, typer.Option(metavar="GLOB", help="Only URLs like it, as `/docs/*`. May be repeated.")
    ] = None,
    exclude: Annotated[
        list[str] | None, typer.Option(metavar="GLOB", help="No URLs like it, as `*/print.html`. May be repeated.")
    ] = None,
    sitemap_only: Annotated[
        bool,
        typer.Option(
            "--sitemap-only",
            help="The seeds are sitemaps: fetch the pages that they name, and follow no links. A seed without a path "
            "means the sitemaps that the robots.txt of its host names, or else /sitemap.xml.",
        ),
    ] = False,
    now: Annotated[
        bool, typer.Option("--now", help="Fetch the seeds at once, also of a host that is deferred, and no links.")
    ] = False,
    local: Annotated[
        bool, typer.Option("--local", help="The seeds are servers on this machine, such as http://localhost:8000/.")
    ] = False,
    wait: Annotated[bool, typer.Option(help="Wait, and show progress, until all pages are searchable.")] = True,
    as_json: AsJson = False,
) -> int:
    """Crawl from seeds and make the pages searchable.

    Examples:

        riffle crawl https://example.org/ --depth 2
        riffle crawl https://example.org/docs/ https://example.net/ --max-pages 500 --no-wait
        riffle crawl --seeds seeds.txt --include '/docs/*' --exclude '*/print.html'
        riffle crawl --sitemap-only https://example.org/ --include '/docs/*'
        riffle crawl --now https://example.org/news
        riffle crawl --local http://localhost:8000/
        riffle crawl --first --depth 1 --max-pages 100 --no-wait

    A seed comes before everything that waits for its host. Delays, robots.txt and orders of operators hold for all.
    Ctrl+C ends the display, and the crawl goes on: `riffle frontier set all --pause` stops it, --unpause resumes it.
    """
    settings = load_settings()
    if now and sitemap_only:
        raise UsageError("--now fetches the seeds and nothing else: leave out --sitemap-only")
    depth = 0 if now else depth
    if local and not settings.crawl.allow_loopback:
        raise UsageError(
            "--local needs workers that may connect to this machine: those of `riffle up`, or of a local profile with "
            "RIFFLE_CRAWL__ALLOW_LOOPBACK=true. In production, name the server in RIFFLE_CRAWL__ALLOWED_ORIGINS"
        )
    origins = settings.crawl.origins if local else replace(settings.crawl.origins, loopback=False)
    try:
        patterns = make_patterns(include or (), exclude or ())
    except ValueError as error:
        raise UsageError(str(error)) from None
    typed = read_seeds([*(urls or ()), *(first_seeds() if first else ())], seeds_from, origins)
    made = [seed(url, depth, max_pages, any_host=any_host, origins=origins) for url in typed]
    seeds = [as_sitemap(one, settings.crawl.max_pages_per_host) if sitemap_only else one for one in made]
    seeds = [one.model_copy(update={"patterns": patterns}) for one in seeds]
    need_kafka(settings)
    if note := describe_rewritten(typed, made):
        err.print(note)
    crawl_id = uuid4().hex[:12]
    return await run_crawl(settings, seeds, crawl_id, wait=wait, as_json=as_json)


async def run_crawl(
    settings: Settings, seeds: list[PageDiscovered], crawl_id: str, *, wait: bool, as_json: bool
) -> int:
    """Send the seeds, and watch their crawl to its end. Return the exit status."""
    seeds = [seed.model_copy(update={"crawl_id": crawl_id}) for seed in seeds]
    follower = await asyncio.to_thread(Follower, settings, (*FOLLOWED, PageDiscovered))
    try:
        async with open_stores(settings, ["records"]) as stores:
            async with EventProducer(settings, "crawl") as producer:
                await producer.send_ahead(seeds, cause=crawl_id)
            if not wait:
                return _report_start(crawl_id, len(seeds), as_json)
            everywhere = await stores.frontier.order(ALL_HOSTS)
            if everywhere and everywhere.paused:
                err.advise("All crawls are paused, this one, too. To go on: riffle frontier set all --unpause")
            left_out = LeftOutLinks(seeds, settings.crawl.origins)
            with interrupt_advice():
                end = await _watch(settings, stores, follower, seeds, left_out)
            seen = end.seen
            await left_out.look(stores, seen.fetched, MAX_LOOKED)
            reached = (seen.indexed | seen.unchanged) - seen.empty - seen.sign_ins
            without = [one for one in seeds if one.page_id not in reached]
            named = without[:MAX_EXPLAINED]
            reasons = {url: why async for url, why in explain_seeds(stores, named, has_listed=bool(seen.listed))}
    finally:
        follower.close()
    end = replace(
        end,
        reasons=reasons,
        unexplained=len(without) - len(named),
        left_out=left_out.counts,
        is_part=left_out.is_part,
    )
    return report(end, as_json=as_json)


@contextmanager
def interrupt_advice() -> Iterator[None]:
    """Tell a person who ends the display by Ctrl-C that the crawl goes on, and how to stop it."""
    try:
        yield
    except asyncio.CancelledError:
        err.advise("The crawl goes on. To stop it: riffle frontier set all --pause. To resume it: --unpause")
        raise


async def _watch(
    settings: Settings, stores: Stores, follower: Follower, seeds: list[PageDiscovered], left_out: LeftOutLinks
) -> CrawlEnd:
    """Show the progress until the crawl is done, waits for hosts, or seems to be stuck."""
    crawl_id, hosts = seeds[0].crawl_id, dict.fromkeys(seed.host for seed in seeds)
    reader = ProgressReader(stores, crawl_id, time.monotonic)
    seen, progress = Seen(crawl_id, hosts=hosts, last_event_at=time.monotonic()), CrawlProgress()
    looked_at = seen.last_event_at
    with Bars(err) as bars:
        brokers = BrokersAway(bars.console)
        addresses, indexing = bars.add_task("Addresses", total=None), bars.add_task("Searchable", total=None)
        while True:
            events = await asyncio.to_thread(lambda: list(follower.poll(LOOK_SECONDS)))
            now, load = time.monotonic(), machine_load()
            seen.note(events, now)
            brokers.look(follower.away_since, now)
            # The crawl continues when this command's own view of it is cut for a while, so the command does, too.
            with suppress(TransientError):
                progress = await reader.read()
                await seen.look_at_unchanged(stores.pages)
                await left_out.look(stores, seen.indexed)
            bars.update(
                addresses,
                completed=progress.finished,
                total=max(progress.discovered, 1),
                note="\n".join(filter(None, _notes(progress, seen, left_out))),
            )
            shortage = describe_shortage(settings)
            slow = f"paused: {shortage}" if shortage else seen.notes(now, load)
            bars.update(indexing, completed=seen.settled, total=max(len(seen.fetched), seen.settled, 1), note=slow)
            if progress.done and not seen.under_way and not events:
                with suppress(TransientError):
                    await seen.look_at_all_unchanged(stores.pages)
                return CrawlEnd(crawl_id, seen, progress)
            only_waits = progress.pending and not (progress.digesting or seen.under_way)
            if only_waits and now - max(looked_at, seen.last_event_at) > QUIET_SECONDS:
                looked_at = now
                with suppress(TransientError):
                    if pauses := await find_pauses(stores.frontier, seen.hosts, now_micros()):
                        return CrawlEnd(crawl_id, seen, progress, pauses=pauses)
            if seen.is_stuck(now, load):
                return CrawlEnd(crawl_id, seen, progress, is_stuck=True)


def _notes(progress: CrawlProgress, seen: Seen, left_out: LeftOutLinks) -> Iterator[str]:
    """Yield lines about the addresses so far."""
    yield describe_results(progress)
    if described := describe_left_out(left_out.counts, with_help=False):
        yield f"links left out{' of the first pages' if left_out.is_part else ''}: {described}"
    if seen.listed:
        yield f"sitemaps name {count_of(len(seen.listed), 'page')}"


def _report_start(crawl_id: str, seeds: int, as_json: bool) -> int:
    sentence = f"Crawl {crawl_id} has begun with {seeds} seed{'' if seeds == 1 else 's'}. The workers continue it."
    print_result(sentence, {"crawl_id": crawl_id, "seeds": seeds}, as_json)
    return 0
