"""The correction of a search: it is computed beside the search, and the results decide whether it is used.

The words of the index come from the last build of suggestions. A gateway looks for a newer one each minute, so these
words are at most a minute older than the build; until they are loaded, only the dictionaries correct. So do they until
the words are loaded anew when a site becomes private, or is one no longer. A word that this gateway blocks is left out,
also if the build did not know that yet.
"""

import asyncio
from collections.abc import Awaitable, Callable, Iterator
from datetime import datetime
from threading import Thread

import structlog

from streams.errors import SearchUnavailable
from streams.gateway.suggest.service import Looking
from streams.queries.spelling.base import base_corrector
from streams.queries.spelling.corrector import Correction, Corrector
from streams.queries.spelling.decision import Spelling, is_better, is_unknown_to
from streams.queries.spelling.words import LANGUAGE
from streams.queries.suggestions.block_words import BlockedWords
from streams.queries.suggestions.build import read_words
from streams.queries.suggestions.build_notes import current_build
from streams.queries.suggestions.page_words import weights_of
from streams.search.core import Answering
from streams.search.request import SearchRequest
from streams.search.retrieval.model_fit import unknown_language
from streams.search.searcher import Found
from streams.seen.stores import SeenStores
from streams.stores.protocols import PageHits, StoredWord, Visible

CORRECTING_SECONDS = 0.1
"""Maximum wait for a correction after the results (seconds). It is computed beside the search, in milliseconds."""
AGAIN_SHARE = 0.5
"""Maximum time of the search for the corrected query, as a share of the deadline of a search."""

log = structlog.get_logger(__name__)


class SearchSpelling:
    """The corrections of one gateway process. Until the vocabulary is loaded, there are none."""

    def __init__(
        self,
        stores: SeenStores,
        clock: Callable[[], datetime],
        blocked: BlockedWords,
        visible: Callable[[], Awaitable[Visible]],
        *,
        is_on: bool = True,
    ) -> None:
        """`stores`: have the words of the index. `blocked`: words of the index that no query is corrected to.

        `visible`: returns what people without a key see now. It may raise ProblemError.
        """
        self._is_on, self._stores, self._blocked = is_on, stores, blocked
        self._read_visible = visible
        self._visible: Visible | None = None
        self._corrector: Corrector | None = None
        self._build = ""
        self._looking = Looking("words of the index", self.look, clock)

    def load(self) -> None:
        """Load the vocabulary. It takes some seconds."""
        self._corrector = base_corrector() if self._is_on else None

    async def look(self) -> None:
        """Load the words of the last build, if it is another one than the build in memory."""
        visible = await self._see()
        build = await current_build(self._stores.suggestions)
        if build == self._build or self._corrector is None:
            return
        stored = await read_words(self._stores.suggestions, build, visible=visible) if build else []
        corrector = await asyncio.to_thread(self._with_words, stored)
        if visible == self._visible:
            self._corrector, self._build = corrector, build
            log.info("words of the index were loaded", build=build)

    async def _see(self) -> Visible:
        """Return what people see, and forget the words that were read when they saw other sites."""
        visible = await self._read_visible()
        if visible != self._visible:
            if self._build and self._corrector is not None:
                self._corrector, self._build = base_corrector(), ""
            if self._visible is not None:
                self._looking.hasten()
            self._visible = visible
        return visible

    def _with_words(self, stored: list[StoredWord]) -> Corrector:
        allowed = weights_of(word for word in stored if not self._blocked.blocks(word.text))
        return base_corrector().with_index(allowed) if allowed else base_corrector()

    async def close(self) -> None:
        """End the look for a newer build."""
        await self._looking.close()

    def load_in_background(self) -> None:
        """Load the vocabulary beside the first searches, which then have no corrections."""
        if self._is_on:
            Thread(target=self.load, name="spelling", daemon=True).start()

    def start(self, request: SearchRequest) -> asyncio.Task[Correction | None] | None:
        """Begin to correct the query in a thread, if it has unknown words and is not surely in another language.

        A further page is not corrected.
        """
        corrector = self._corrector
        if corrector is None:
            return None
        self._looking.begin()
        if request.page > 1 or request.cursor is not None:
            return None
        if not corrector.unknown_words(request.text) or unknown_language(request.text, request.languages, (LANGUAGE,)):
            return None
        return asyncio.create_task(self._correct(request.text))

    async def _correct(self, text: str) -> Correction | None:
        await self._see()
        corrector = self._corrector
        return await asyncio.to_thread(corrector.correct, text) if corrector else None


async def apply_correction(
    found: Found,
    correcting: asyncio.Task[Correction | None],
    search: Callable[[str], Answering],
    seconds: float,
) -> tuple[Found, Spelling | None]:
    """Return the results to show, the query's or the corrected one's, and the correction, if there is one.

    `search` begins a search for the corrected query, which gets a share of `seconds`. Raises nothing.
    """
    original = found.request.text
    try:
        async with asyncio.timeout(CORRECTING_SECONDS):
            correction = await correcting
    except Exception as error:
        log.warning("a query was not corrected", error=repr(error))
        return found, None
    if correction is None or not is_unknown_to(original, correction, _texts(found)):
        return found, None
    again = await _search_again(search, correction.text, seconds * AGAIN_SHARE)
    if again is None or not is_better(original, correction, _texts(again)):
        return found, None
    if not correction.is_clear or found.failed:
        return found, Spelling(kind="suggestion", original=original, corrected=correction.text)
    return again, Spelling(kind="instead", original=original, corrected=correction.text)


async def _search_again(search: Callable[[str], Answering], text: str, seconds: float) -> Found | None:
    running = search(text)
    try:
        async with asyncio.timeout(seconds):
            return await running.results
    except (SearchUnavailable, TimeoutError):
        return None
    finally:
        running.results.cancel()
        running.beside.cancel()


def _texts(found: Found) -> Iterator[Iterator[str]]:
    """Yield the texts of each page found: its title, and its statements with their headings."""
    return (_texts_of(page) for page in found.pages)


def _texts_of(page: PageHits) -> Iterator[str]:
    for hit in page.hits:
        yield hit.payload.title
        yield hit.payload.text
        yield from hit.payload.context
