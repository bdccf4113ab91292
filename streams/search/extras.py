"""The extras of the results that are shown: similar pages, facts and first sentences, read side by side.

Similar pages are the duplicates of a page: "3 similar pages", with their addresses. Facts (the site's name, the author,
the rating and the like) come from the records of the pages. They are an ornament: an answer is whole without them.
"""

import asyncio
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from uuid import UUID

from streams.search.deadline import Deadline
from streams.search.first_sentences import FirstSentences
from streams.search.optional import IN_WORDS, OnFailure, OptionalPart, Reason, Rest
from streams.search.trace import Trace
from streams.stores.opener import Stores
from streams.stores.page_record import Normalized
from streams.stores.protocols import Fingerprint, Hit, PageHits

MAX_SIMILAR = 10
"""Maximum similar pages shown of one result. The page's own view has more."""
REST_SECONDS = 2.0
"""Pause after a failure before a store is read again (seconds)."""

Groups = dict[UUID, list[Fingerprint]]


class SimilarPages:
    """The reader of the fingerprints. Each process has one reader, which remembers its failures."""

    def __init__(self, stores: Stores, on_failure: OnFailure) -> None:
        self._stores = stores
        self._part = OptionalPart("similar pages", partial(on_failure, "records"), Rest(REST_SECONDS))

    async def of(self, pages: Sequence[UUID], deadline: Deadline, trace: Trace) -> Groups | None:
        """Return the duplicates of each page that has some, the shortest address first; None if none could be read."""
        if not pages:
            return {}
        read = partial(self._stores.fingerprints.groups, pages, MAX_SIMILAR)
        found = await self._part.read(read, deadline.for_similar(), lambda why: trace.fail("similar", _sentence(why)))
        if found is None:
            return None
        return {page: sorted(others, key=lambda other: (len(other.url), other.url)) for page, others in found.items()}


def _sentence(why: Reason) -> str:
    return f"The store of similar pages {IN_WORDS[why]}; similar pages are not listed."


@dataclass(frozen=True, slots=True)
class Extras:
    """The extras of the pages of one answer."""

    similar: Groups | None = None
    """The duplicates of the pages; None when the duplicates are not known."""
    facts: Mapping[UUID, Normalized] = field(default_factory=dict)
    """The facts of the pages, by their records, as far as they could be read."""
    first_sentences: Mapping[UUID, Hit] = field(default_factory=dict)
    """The first sentences of pages without a statement that makes sense by itself."""


class PageFacts:
    """The reader of the records. Each process has one reader, which remembers its failures."""

    def __init__(self, stores: Stores, on_failure: OnFailure) -> None:
        self._stores = stores
        self._part = OptionalPart("facts of pages", partial(on_failure, "records"), Rest(REST_SECONDS))

    async def of(self, pages: Sequence[UUID], deadline: Deadline) -> Mapping[UUID, Normalized]:
        """Return what is known of each page; nothing if the store doesn't answer in time."""
        if not pages:
            return {}
        read = partial(self._stores.pages.get_normalized, pages)
        return await self._part.read(read, deadline.for_similar(), lambda _: None) or {}


class ExtrasReader:
    """The reader of extras of one process."""

    def __init__(self, stores: Stores, on_failure: OnFailure) -> None:
        self._similar = SimilarPages(stores, on_failure)
        self._facts = PageFacts(stores, on_failure)
        self._sentences = FirstSentences(stores, on_failure)

    async def of(
        self,
        pages: Sequence[PageHits],
        deadline: Deadline,
        trace: Trace,
        *,
        is_phrase: bool,
        frame: frozenset[UUID] = frozenset(),
    ) -> Extras:
        """Return the extras of these pages, within a short time. Below a phrase, only what has the phrase is shown.

        `frame` has the statements that are lines of a site's frame: a page with nothing else shows its first sentence.
        """
        ids = [page.page_id for page in pages]
        with trace.timed("similar_ms"):
            similar, facts, sentences = await asyncio.gather(
                self._similar.of(ids, deadline, trace),
                self._facts.of(ids, deadline),
                self._sentences.of(() if is_phrase else pages, deadline, frame),
            )
        return Extras(similar, facts, sentences)
