"""The correction of a search: it is computed beside the search, and the results decide what becomes of it."""

import asyncio
from collections.abc import Callable, Iterator, Sequence
from threading import Thread

import structlog

from streams.queries.spelling.base import LANGUAGES, base_corrector
from streams.queries.spelling.corrector import Correction, Corrector
from streams.queries.spelling.decision import Spelling, is_better, is_unknown_to
from streams.queries.spelling.words import split_query
from streams.search.errors import SearchUnavailable
from streams.search.request import SearchRequest
from streams.search.searcher import Found
from streams.search.sources import Answering
from streams.stores.protocols import PageHits

MAX_UNKNOWN_SHARE = 0.5
"""Maximum share of unknown words in a query of several words. With more, it is a query in another language."""
CORRECTING_SECONDS = 0.1
"""Maximum wait for a correction after the results (seconds). It is computed beside the search, in milliseconds."""
AGAIN_SHARE = 0.5
"""Maximum time of the search for the corrected query, as a share of the deadline of a search."""

log = structlog.get_logger(__name__)


class SearchSpelling:
    """The corrections of one gateway process. Until the vocabularies are loaded, there are none."""

    def __init__(self, languages: Sequence[str]) -> None:
        self._languages = [language for language in languages if language in LANGUAGES]
        self._correctors: dict[str, Corrector] = {}

    def load(self) -> None:
        """Load the vocabularies. It takes some seconds."""
        for language in self._languages:
            self._correctors[language] = base_corrector(language)

    def load_in_background(self) -> None:
        """Load the vocabularies beside the first searches, which then have no corrections."""
        if self._languages:
            Thread(target=self.load, name="spelling", daemon=True).start()

    def start(self, request: SearchRequest) -> asyncio.Task[Correction | None] | None:
        """Begin to correct the query in a thread, if it has unknown words. A further page is not corrected."""
        corrector = self._corrector_of(request)
        if corrector is None or request.page > 1 or request.cursor is not None:
            return None
        unknown = len(corrector.unknown_words(request.text))
        words = len(split_query(request.text))
        if not unknown or (words > 1 and unknown > words * MAX_UNKNOWN_SHARE):
            return None
        return asyncio.create_task(asyncio.to_thread(corrector.correct, request.text))

    def _corrector_of(self, request: SearchRequest) -> Corrector | None:
        if len(request.languages) == 1:
            return self._correctors.get(request.languages[0])
        return next((self._correctors[each] for each in self._languages if each in self._correctors), None)


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
    suggestion = Spelling(kind="suggestion", original=original, corrected=correction.text)
    if not correction.is_clear or found.failed:
        return found, suggestion
    again = await _search_again(search, correction.text, seconds * AGAIN_SHARE)
    if again is None or not is_better(original, correction, _texts(again)):
        return found, suggestion
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
