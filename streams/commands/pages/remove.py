"""`riffle remove`: take pages out of the index on request, erase their stored bytes, and withdraw such removals."""

import asyncio
import shlex
import time
from collections.abc import Collection
from pathlib import Path
from typing import Annotated
from uuid import UUID

import typer

from schemas import PageRemoved
from schemas.ids import page_id
from streams.allowed_origins import NO_ORIGINS, AllowedOrigins
from streams.charset import decode
from streams.clock import now_micros
from streams.commands.console import AsJson, command, err, load_settings, need_kafka, print_result
from streams.crawl.urls import InvalidUrl, possible_urls
from streams.errors import TransientError, UsageError
from streams.lines.bounded import read_whole
from streams.maintenance.erasure import Eraser
from streams.queries.suggestions.build_notes import hide
from streams.queries.suggestions.page_texts import title_text
from streams.runtime.producer import EventProducer
from streams.runtime.readers.topic_reader import read_topic
from streams.settings import Settings
from streams.stores.blobs import references_in
from streams.stores.opener import Stores, open_stores
from streams.stores.removals import is_held_back, withdrawal, withdrawn
from streams.topology import STAGES

POLL_SECONDS = 1.0
REPORT_SECONDS = 10.0
NAMED_PAGES = 5
"""Maximum number of pages that a hint names by their URLs."""


@command
async def remove(
    addresses: Annotated[list[str] | None, typer.Argument(metavar="URL...", help="Addresses of the pages.")] = None,
    file: Annotated[Path | None, typer.Option(exists=True, dir_okay=False, help="A file with one URL a line.")] = None,
    why: Annotated[str, typer.Option(help="Noted in the pages' history.")] = "",
    wait_seconds: Annotated[float, typer.Option("--wait", min=1, help="Seconds to wait for the stages.")] = 120.0,
    yes: Annotated[bool, typer.Option("--yes", help="Remove without a question.")] = False,
    undo: Annotated[bool, typer.Option("--undo", help="Withdraw earlier removals of these pages.")] = False,
    as_json: AsJson = False,
) -> None:
    """Remove pages on request: from the index, and all their bytes from the stores. The bytes can't be restored.

    Links between hosts that a page was found with are taken back, too.
    Their addresses and the removal itself stay: no event, crawl or import brings the pages back, until the removal is
    withdrawn with `--undo`. Then they can be crawled again. Bytes that another page also has stay stored.
    Kafka deletes its events about the pages after 7 days (dead letters: 90 days).

    Examples:

        riffle remove https://example.org/private.html --why "request of 3 May"
        riffle remove --file urls.txt --yes
        riffle remove --undo https://example.org/private.html
    """
    settings = load_settings()
    pages = _pages([*(addresses or []), *(decode(read_whole(file)).split() if file else [])], settings.crawl.origins)
    if undo:
        await _undo(settings, pages)
        named = " ".join(map(shlex.quote, pages.values())) if len(pages) <= NAMED_PAGES else "URL"
        print_result(
            f"Withdrew the removal of {len(pages)} page(s). To fetch them again: riffle crawl {named} --depth 0",
            {"withdrawn": len(pages)},
            as_json,
        )
        return
    need_kafka(settings)
    if not yes:
        typer.confirm(f"Erase all that is stored of {len(pages)} page(s)?", abort=True)
    now = now_micros()
    async with open_stores(settings, ["records", "vectors"]) as stores:
        printer = _Printer()
        eraser = Eraser(stores, printer.report)
        await _hide_titles(stores, pages, now)
        await _request(settings, stores, pages, now, why)
        await _wait_until_removed(stores, eraser, pages, now, wait_seconds)
        own, others = await asyncio.to_thread(_references_of_dead_letters, settings, pages)
        erased = await eraser.erase(list(pages), now_micros(), others, own)
    print_result(
        f"Erased {len(pages)} page(s): {erased.blobs} blobs ({erased.bytes:,} bytes). "
        f"{erased.shared} blobs stay, since another page refers to them.",
        {"pages": len(pages), "blobs": erased.blobs, "bytes": erased.bytes, "shared": erased.shared},
        as_json,
    )


def _pages(addresses: Collection[str], origins: AllowedOrigins = NO_ORIGINS) -> dict[UUID, str]:
    """Return the canonical URL of each page, by its id. Raises UsageError."""
    try:
        urls = [origins.place(possible_urls(address)[0]) for address in addresses]
    except InvalidUrl as error:
        raise UsageError(f"a URL can't be one of a page: {error}") from None
    if not urls:
        raise UsageError("name the pages to remove, or a --file with their URLs")
    return {page_id(url): url for url in urls}


async def _undo(settings: Settings, pages: dict[UUID, str]) -> None:
    """Withdraw the removals. Raises UsageError, before any change, for a page without a removal."""
    async with open_stores(settings, ["records"]) as stores:
        records = {identity: await stores.pages.get(identity) for identity in pages}
        kept = [url for identity, url in pages.items() if not is_held_back(records[identity])]
        if kept:
            raise UsageError(f"these pages were not removed on request, or that was withdrawn: {', '.join(kept)}")
        for identity, record in records.items():
            part = withdrawal(record, now_micros())
            await stores.pages.put(identity, part, part.at)


async def _hide_titles(stores: Stores, pages: Collection[UUID], now: int) -> None:
    """Take the titles of the pages out of the suggestions. The next build of suggestions has nothing else of them."""
    for identity in pages:
        indexed = (await stores.pages.get(identity)).indexed
        if text := title_text(indexed.title):
            await hide(stores.suggestions, text, indexed.language, now)


async def _request(settings: Settings, stores: Stores, pages: dict[UUID, str], now: int, why: str) -> None:
    """Publish the removals. A removal has at least the newest generation that is known of its page."""
    events = []
    for identity, url in pages.items():
        record = await stores.pages.get(identity)
        known = (part.generation for part in record.parts())
        generation = max([now, *known, withdrawn(record) + 1])
        events.append(
            PageRemoved(page_id=identity, url=url, generation=generation, reason="request", detail=why or None)
        )
    async with EventProducer(settings, "remove") as producer:
        await producer.send_ahead(events)


async def _wait_until_removed(
    stores: Stores, eraser: Eraser, pages: Collection[UUID], generation: int, seconds: float
) -> None:
    ends_at = time.monotonic() + seconds
    for identity in pages:
        while not await eraser.is_removed(identity, generation) or await stores.host_links.links_of(identity):
            if time.monotonic() > ends_at:
                raise TransientError(
                    f"the removal of page {identity} was published, but the stages dedup, index and links did "
                    f"not handle it within {seconds:g} s. Check `riffle status`, and repeat the command to erase "
                    "the page's bytes"
                )
            await asyncio.sleep(POLL_SECONDS)


def _references_of_dead_letters(settings: Settings, pages: dict[UUID, str]) -> tuple[set[bytes], set[bytes]]:
    """Return the references in the dead letters about the pages, and in all other dead letters."""
    own: set[bytes] = set()
    others: set[bytes] = set()
    for record in (record for stage in STAGES for record in read_topic(settings, stage.dead_topic)):
        parts = [record.value or b"", *(value for _, value in record.headers if value)]
        is_own = any(
            str(page).encode() in part or url.encode() == part for part in parts for page, url in pages.items()
        )
        (own if is_own else others).update(ref for part in parts for ref in references_in(part))
    return own, others


class _Printer:
    """The printer of an erasure's progress."""

    def __init__(self) -> None:
        self._printed_at = time.monotonic()

    async def report(self, table: str, share: float) -> None:
        if time.monotonic() - self._printed_at >= REPORT_SECONDS:
            self._printed_at = time.monotonic()
            err.print(f"Looking for references: {table}, {share:.0%}")
