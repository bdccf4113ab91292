"""`riffle round-trip`: a check of the whole journey with one page."""

import asyncio
import time
from typing import Annotated
from uuid import uuid4

import typer

from streams.clock import now_micros
from streams.commands.console import EXIT_NO, AsJson, command, load_settings, need_kafka, out, print_json
from streams.commands.pages.search import ask
from streams.crawl.archives.round_trip import Clock, Find, RoundTrip, round_trip
from streams.runtime.producer import EventProducer
from streams.settings import Settings
from streams.stores.opener import open_stores

CLOCK = Clock(time.monotonic, now_micros, asyncio.sleep)


@command
async def round_trip_command(
    timeout_seconds: Annotated[
        float,
        typer.Option("--timeout", min=1, help="Seconds to wait for the page to be found, and again for its removal."),
    ] = 300.0,
    as_json: AsJson = False,
) -> int:
    """Send a page through the whole journey, search it at the gateway, remove it, and search again.

    Examples:

        riffle round-trip
        riffle round-trip --timeout 600 --json
    """
    settings = load_settings()
    need_kafka(settings)

    async def find(word: str, host: str) -> list[str]:
        answer = await asyncio.to_thread(ask, settings, word, host=host, language="*")
        return [result["url"] for result in answer["results"]]

    done = await _run(settings, find, timeout_seconds)
    if as_json:
        fields = {
            "url": done.url,
            "searchable_seconds": done.searchable_seconds,
            "removed_seconds": done.removed_seconds,
        }
        print_json({**fields, "whole": done.whole})
    else:
        _print(done, timeout_seconds)
    return 0 if done.whole else EXIT_NO


async def _run(settings: Settings, find: Find, timeout_seconds: float) -> RoundTrip:
    async with open_stores(settings, ["records"]) as stores, EventProducer(settings, "round-trip") as producer:
        word = f"trip{uuid4().hex[:16]}"
        return await round_trip(word, stores.blobs, producer, find, CLOCK, timeout_seconds=timeout_seconds)


def _print(done: RoundTrip, timeout: float) -> None:
    if done.searchable_seconds is None:
        out.advise(
            f"The page was not found within {timeout:g} s. `riffle page {done.url}` shows where it is.", highlight=False
        )
        return
    out.print(f"The page was found after {done.searchable_seconds:.1f} s.", highlight=False)
    if done.removed_seconds is None:
        out.print(f"It was removed, but is still found after {timeout:g} s.", highlight=False)
    else:
        out.print(f"It was removed, and not found any more after {done.removed_seconds:.1f} s.", highlight=False)
