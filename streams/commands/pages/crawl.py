"""`riffle crawl`: send seeds, and show the progress of their pages to the index."""

import asyncio
import time
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import Annotated
from uuid import uuid4

import typer

from schemas import PageDiscovered
from streams.commands.console import (
    EXIT_NO,
    AsJson,
    command,
    err,
    load_settings,
    need_kafka,
    out,
    print_json,
    print_result,
    styled,
)
from streams.commands.pages.left_out import FEW_PAGES, count_left_out, describe_left_out
from streams.commands.pages.seed_reasons import MAX_EXPLAINED, explain_seeds
from streams.commands.pages.seeds import as_sitemap, describe_rewritten, read_seeds, seed
from streams.commands.watching import FOLLOWED, LOOK_SECONDS, Bars, Seen, machine_load
from streams.crawl.frontier.policy import UNREACHABLE_SECONDS
from streams.crawl.frontier.progress import CrawlProgress, ProgressReader
from streams.crawl.scope import make_patterns
from streams.errors import TransientError, UsageError
from streams.plain_text import count_of
from streams.runtime.lags.backpressure import describe_shortage
from streams.runtime.producer import EventProducer
from streams.runtime.topic_reader import Follower
from streams.settings import Settings
from streams.stores.opener import Stores, open_stores
from streams.stores.protocols import ALL_HOSTS

REFUSED = "Refused: robots.txt, a limit, a rule for URLs, or the server says no. `riffle page URL` names the reason."


@command
async def crawl(
    urls: Annotated[list[str] | None, typer.Argument(help="The seeds: https addresses.")] = None,
    seeds_from: Annotated[
        Path | None, typer.Option("--seeds", exists=True, dir_okay=False, help="A file with one seed a line.")
    ] = None,
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
    typed = read_seeds(urls or (), seeds_from, origins)
    made = [seed(url, depth, max_pages, any_host=any_host, origins=origins) for url in typed]
    seeds = [as_sitemap(one, settings.crawl.max_pages_per_host) if sitemap_only else one for one in made]
    seeds = [one.model_copy(update={"patterns": patterns}) for one in seeds]
    need_kafka(settings)
    if note := describe_rewritten(typed, made):
        err.print(note, soft_wrap=True)
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
            try:
                seen, progress, stuck = await _watch(settings, stores, follower, crawl_id)
            except asyncio.CancelledError:
                err.advise("The crawl goes on. To stop it: riffle frontier set all --pause. To resume it: --unpause")
                raise
            reached = (seen.indexed | seen.unchanged) - seen.empty - seen.sign_ins
            without = [one for one in seeds if one.page_id not in reached][:MAX_EXPLAINED]
            reasons = {url: why async for url, why in explain_seeds(stores, without, has_listed=bool(seen.listed))}
            few = seen.fetched if len(seen.fetched) <= FEW_PAGES else ()
            left_out = await count_left_out(stores, few, seeds, settings.crawl.origins)
    finally:
        follower.close()
    return _report(crawl_id, seen, progress, reasons, left_out, stuck, as_json=as_json)


async def _watch(
    settings: Settings, stores: Stores, follower: Follower, crawl_id: str
) -> tuple[Seen, CrawlProgress, bool]:
    reader = ProgressReader(stores, crawl_id, time.monotonic)
    seen, progress = Seen(crawl_id, last_event_at=time.monotonic()), CrawlProgress()
    with Bars(err) as bars:
        addresses, indexing = bars.add_task("Addresses", total=None), bars.add_task("Searchable", total=None)
        while True:
            events = await asyncio.to_thread(lambda: list(follower.poll(LOOK_SECONDS)))
            now, load = time.monotonic(), machine_load()
            seen.note(events, now)
            # The crawl continues when this command's own view of it is cut for a while, so the command does, too.
            with suppress(TransientError):
                progress = await reader.read()
                await seen.look_at_unchanged(stores.pages)
            listed = f"sitemaps name {len(seen.listed):,} pages" if seen.listed else ""
            bars.update(
                addresses,
                completed=progress.finished,
                total=max(progress.discovered, 1),
                note="; ".join(filter(None, (describe_results(progress), listed))),
            )
            shortage = describe_shortage(settings)
            slow = f"paused: {shortage}" if shortage else seen.why_slow(now, load)
            bars.update(indexing, completed=seen.settled, total=max(len(seen.fetched), seen.settled, 1), note=slow)
            if progress.done and not seen.under_way and not events:
                with suppress(TransientError):
                    await seen.look_at_all_unchanged(stores.pages)
                return seen, progress, False
            if seen.is_stuck(now, load):
                return seen, progress, True


def describe_results(progress: CrawlProgress) -> str:
    """Return the number of addresses with each final result, for people, such as `214 fetched, 3 refused`."""
    results = {
        "fetched": progress.fetched,
        "refused": progress.refused,
        "failed": progress.failed,
        "redirected": progress.redirected,
        "known from another crawl": progress.seen,
    }
    return ", ".join(f"{count:,} {name}" for name, count in results.items() if count)


def _report_start(crawl_id: str, seeds: int, as_json: bool) -> int:
    sentence = f"Crawl {crawl_id} has begun with {seeds} seed{'' if seeds == 1 else 's'}. The workers continue it."
    print_result(sentence, {"crawl_id": crawl_id, "seeds": seeds}, as_json)
    return 0


def _report(
    crawl_id: str,
    seen: Seen,
    progress: CrawlProgress,
    reasons: dict[str, str],
    left_out: dict[str, int],
    stuck: bool,
    *,
    as_json: bool,
) -> int:
    if as_json:
        print_json(
            {
                "crawl_id": crawl_id,
                "finished": not stuck,
                "discovered": progress.discovered,
                "fetched": progress.fetched,
                "failed": progress.failed,
                "deferred": progress.deferred,
                "refused": progress.refused,
                "redirected": progress.redirected,
                "known_from_another_crawl": progress.seen,
                "named_by_sitemaps": len(seen.listed),
                "fetched_of_sitemaps": len(seen.listed & seen.fetched),
                "searchable": seen.searchable,
                "without_statements": len(seen.empty),
                "unchanged": len(seen.unchanged),
                "sign_in_pages": len(seen.sign_ins),
                "under_way_before": len(seen.unread),
                "set_aside": seen.reasons(),
                "seeds_without_a_page": reasons,
                "links_left_out": left_out,
            }
        )
    else:
        removed = ", ".join(f"{count} {reason}" for reason, count in seen.reasons().items()) or "none"
        out.print(
            f"{progress.discovered:,} address{'' if progress.discovered == 1 else 'es'}: "
            f"{describe_results(progress) or 'none is finished'}. "
            f"{seen.searchable:,} pages are searchable; not indexed: {removed}.",
            soft_wrap=True,
        )
        if progress.refused:
            out.advise(REFUSED, soft_wrap=True)
        if seen.listed:
            out.print(
                f"Sitemaps name {len(seen.listed)} pages, of which {len(seen.listed & seen.fetched)} are fetched. "
                "(--max-pages sets how many, --sitemap-only fetches all.)"
            )
        if seen.empty:
            out.print(f"{count_of(len(seen.empty), 'page')} without any statement: no search finds them.")
        if seen.unchanged:
            out.print(f"{len(seen.unchanged)} of the searchable pages have not changed since an earlier crawl.")
        if seen.sign_ins:
            out.print(
                f"{count_of(len(seen.sign_ins), 'page')} answered with a sign-in page: their last content stays. To "
                "read what is behind it, give a session or a password: RIFFLE_CRAWL__SIGN_INS_FILE",
                soft_wrap=True,
            )
        if seen.unread:
            out.print(f"{len(seen.unread)} unchanged pages are not searchable yet: their earlier fetch is under way.")
        for url, why in reasons.items():
            out.print(f"{url}: {why}", soft_wrap=True)
        if described := describe_left_out(left_out):
            out.print(described, soft_wrap=True)
        if progress.deferred:
            out.print(
                f"Waiting for hosts whose robots.txt can't be read: {progress.deferred:,}. A host is asked again after "
                f"{UNREACHABLE_SECONDS / 60:.0f} minutes, and after twice as long each further time, up to a day."
            )
    if stuck:
        err.print(
            styled(
                "[yellow]No event for {} s[/], and {} pages are not finished. "
                "Look at `riffle status`, `riffle status --topics` and `riffle dead-letters list`.",
                round(time.monotonic() - seen.last_event_at),
                seen.under_way,
            )
        )
    return EXIT_NO if stuck or not seen.brought else 0
