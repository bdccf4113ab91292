"""The extras of the results that are shown: similar pages, facts and first sentences, read side by side.

Similar pages are the duplicates of a page ("3 similar pages"), with their addresses. Facts (the site's name, the
author, the rating and the like) come from the records of the pages. An answer is whole without extras: they are read
for all results at once, within a short time, and left out when their store doesn't answer.
"""

import asyncio
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from uuid import UUID

from streams.search.deadline import Deadline
from streams.search.first_sentences import FirstSentences
from streams.search.optional import OnFailure, OptionalPart, Rest
from streams.search.trace import Trace
from streams.stores.opener import Stores
from streams.stores.page_record import Normalized
from streams.stores.protocols import Fingerprint, Hit, PageHits

MAX_SIMILAR = 10
"""Maximum similar pages shown of one result. The page's own view has more."""
REST_SECONDS = 2.0
"""Pause after a failure before similar pages, or facts, are read again (seconds)."""

Groups = dict[UUID, list[Fingerprint]]


@dataclass(frozen=True, slots=True)
class Extras:
    """The extras of the pages of one answer."""

    similar: Groups | None = None
    """The duplicates of the pages; None when the duplicates are not known."""
    facts: Mapping[UUID, Normalized] = field(default_factory=dict)
    """The facts of the pages, by their records, as far as they could be read."""
    first_sentences: Mapping[UUID, Hit] = field(default_factory=dict)
    """The first sentences of pages without a statement that makes sense by itself."""


class ExtrasReader:
    """The reader of extras of one process, which remembers the failures of the stores."""

    def __init__(self, stores: Stores, on_failure: OnFailure) -> None:
        self._stores = stores
        self._similar = OptionalPart("similar pages", partial(on_failure, "records"), Rest(REST_SECONDS))
        self._facts = OptionalPart("facts of pages", partial(on_failure, "records"), Rest(REST_SECONDS))
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
        if not pages:
            return Extras({})
        ids = [page.page_id for page in pages]
        with trace.timed("similar_ms"):
            similar, facts, sentences = await asyncio.gather(
                self._read_similar(ids, deadline, trace),
                self._facts.read(partial(self._stores.pages.get_normalized, ids), deadline.for_similar()),
                self._sentences.of(() if is_phrase else pages, deadline, frame),
            )
        return Extras(similar, facts or {}, sentences)

    async def _read_similar(self, pages: Sequence[UUID], deadline: Deadline, trace: Trace) -> Groups | None:
        """Return the duplicates of each page that has some, the shortest address first; None if none could be read."""
        read = partial(self._stores.fingerprints.groups, pages, MAX_SIMILAR)
        on_missing = trace.missing("similar", "The store of similar pages {}; similar pages are not listed.")
        found = await self._similar.read(read, deadline.for_similar(), on_missing)
        if found is None:
            return None
        return {page: sorted(others, key=lambda other: (len(other.url), other.url)) for page, others in found.items()}
