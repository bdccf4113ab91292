"""The first sentence of a page, shown where nothing that matched makes sense by itself: a title, or a row of links.

The first statements of all such pages are read in one request, beside the other extras. Without them, the statements
that matched are shown.
"""

from collections import Counter
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import partial
from uuid import UUID

from streams.search.deadline import Deadline
from streams.search.optional import OnFailure, OptionalPart, Rest
from streams.search.ranking.fusion import PARTS, is_whole, makes_sense
from streams.statements.sentences.lengths import word_count
from streams.statements.sentences.reading_alone import is_sentence
from streams.stores.opener import Stores
from streams.stores.protocols import Hit, PageHits

MIN_SENTENCE_WORDS = 8
"""Minimum words of a first sentence. Slogans and greetings at the top of a page are shorter."""
MAX_ORDINAL = 24
"""Number of first statements of a page that are looked at: a page often begins with a table of contents."""
REST_SECONDS = 2.0
"""Pause after a failure before first sentences are read again (seconds)."""


class FirstSentences:
    """The reader of first sentences. Each process has one reader, which remembers its failures."""

    def __init__(self, stores: Stores, on_failure: OnFailure) -> None:
        self._stores = stores
        self._part = OptionalPart("first sentences", partial(on_failure, "vectors"), Rest(REST_SECONDS))

    async def of(
        self, pages: Sequence[PageHits], deadline: Deadline, frame: Collection[UUID] = ()
    ) -> Mapping[UUID, Hit]:
        """Return the first sentence of each page without a statement that makes sense by itself, if it has one."""
        wanted = [page.page_id for page in pages if not any(_may_be_shown(hit, frame) for hit in page.hits)]
        if not wanted:
            return {}
        read = partial(self._stores.vectors.first_statements, wanted, MAX_ORDINAL)
        return choose_first_sentences(await self._part.read(read, deadline.for_similar()) or (), frame)


def choose_first_sentences(statements: Sequence[Hit], frame: Collection[UUID] = ()) -> dict[UUID, Hit]:
    """Return the first sentence of each page. A text on several of the pages says nothing about any of them."""
    pages = Counter(text for _, text in {(hit.payload.page_id, hit.payload.text) for hit in statements})
    found: dict[UUID, Hit] = {}
    for hit in sorted(statements, key=lambda hit: hit.payload.ordinal):
        if pages[hit.payload.text] == 1 and _is_real_sentence(hit, frame):
            found.setdefault(hit.payload.page_id, hit)
    return found


def show_first_sentences(pages: Sequence[PageHits], sentences: Mapping[UUID, Hit]) -> Iterator[PageHits]:
    """Yield the pages. A page with a first sentence here shows only that, with the score of its best statement."""
    for page in pages:
        sentence = sentences.get(page.page_id)
        yield page if sentence is None else replace(page, hits=(replace(sentence, score=page.hits[0].score),))


def _may_be_shown(hit: Hit, frame: Collection[UUID]) -> bool:
    """Return whether no sentence needs to be read: a line of prose without an end mark is a title, if its page has any
    real sentence."""
    return makes_sense(hit, frame) if hit.payload.kind in PARTS else is_whole(hit, frame)


def _is_real_sentence(hit: Hit, frame: Collection[UUID]) -> bool:
    text = hit.payload.text.strip()
    is_whole = hit.payload.kind == "sentence" and is_sentence(text)
    return is_whole and word_count(text) >= MIN_SENTENCE_WORDS and makes_sense(hit, frame)
