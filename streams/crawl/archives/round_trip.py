"""The round trip of a test page: it is imported, found by a search, removed, and not found any more.

The round trip shows that the whole journey works, from Kafka to the gateway, and how long it takes. The page is on a
host that does not exist, has a word that no other page has, and is removed at the end, also after a failure.
"""

import tempfile
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from pathlib import Path

from schemas import PageRemoved
from schemas.ids import page_id
from streams.crawl.archives.file_importer import import_html
from streams.crawl.archives.sending import Sender
from streams.errors import TransientError
from streams.runtime.agent import Emit
from streams.stores.protocols import Blobs

HOST = "round-trip.riffle.example"
LOOK_SECONDS = 2.0
"""Time between two searches (seconds)."""
PAGE = """<!doctype html><html lang="en"><head><title>A round trip called {word}</title></head><body><main>
<h1>A round trip called {word}</h1>
<p>This page was made to test a search engine, and it is removed again in a moment. The word {word} is on no other page,
so a search for it finds this page as soon as all stages have handled it.</p>
</main></body></html>
"""

Find = Callable[[str, str], Awaitable[list[str]]]
"""Searches for a word on a host, and returns the URLs of the results. May raise TransientError."""


@dataclass(frozen=True, slots=True)
class RoundTrip:
    """The times of a round trip. None: not in time."""

    url: str
    searchable_seconds: float | None
    """Seconds from the import until a search found the page."""
    removed_seconds: float | None = None
    """Seconds from the removal until no search found it."""

    @property
    def whole(self) -> bool:
        return self.searchable_seconds is not None and self.removed_seconds is not None


@dataclass(frozen=True, slots=True)
class Clock:
    """The clocks of a round trip: steady seconds, microseconds since 1970, and a pause."""

    steady: Callable[[], float]
    micros: Callable[[], int]
    sleep: Callable[[float], Awaitable[None]]


async def round_trip(
    word: str, blobs: Blobs, emit: Emit, find: Find, clock: Clock, *, timeout_seconds: float
) -> RoundTrip:
    """Send a page with this word through the journey, and remove it. Raises StoreUnavailable."""
    url = f"https://{HOST}/{word}.html"
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / HOST / f"{word}.html"
        file.parent.mkdir()
        file.write_text(PAGE.format(word=word), encoding="utf-8")
        await import_html(Path(folder), Sender(blobs, emit, crawl_id=f"round-trip-{word}"))

    async def seen() -> bool:
        return url in await find(word, HOST)

    async def gone() -> bool:
        return url not in await find(word, HOST)

    searchable = await _wait_until(seen, clock, timeout_seconds)
    removal = PageRemoved(page_id=page_id(url), url=url, generation=clock.micros(), reason="request")
    await emit(removal, f"round-trip/{word}")
    if searchable is None:
        return RoundTrip(url, None)
    return RoundTrip(url, searchable, await _wait_until(gone, clock, timeout_seconds))


async def _wait_until(happened: Callable[[], Awaitable[bool]], clock: Clock, timeout_seconds: float) -> float | None:
    """Wait until a condition holds. Returns the seconds, or None after the timeout.

    A gateway that does not answer yet is asked again.
    """
    began = clock.steady()
    while (waited := clock.steady() - began) < timeout_seconds:
        try:
            if await happened():
                return waited
        except TransientError:
            pass
        await clock.sleep(LOOK_SECONDS)
    return None
