"""The source `answer` beside the results: the statement among them that answers the question, without a model."""

import asyncio
from uuid import UUID

from streams.answers.choosing import FoundAnswer, QuotedAnswer, asks, choose_answer
from streams.answers.confidence import parameters
from streams.answers.evidence import Evidence, evidence_of
from streams.answers.surroundings import surroundings_of
from streams.errors import RiffleError
from streams.pages.document.codec import decode_document
from streams.pages.document.consent import consent_of
from streams.search.deadline import Deadline
from streams.search.request import SearchRequest
from streams.search.searcher import Found
from streams.seen.stores import SeenStores

SURROUNDED = ("row", "item", "link")
"""Kinds of statements that are shown with the table or list around them."""

MAX_CHARS_AT_ONCE = 20_000
"""Maximum characters of all statements that are judged on the event loop: about 2 ms at most."""


class StatementAnswers:
    """The source of one gateway process. See `SourceOfResults`."""

    name = "answer"

    def __init__(self, stores: SeenStores) -> None:
        self._stores = stores
        self._parameters = parameters()

    def can_answer(self, request: SearchRequest) -> bool:
        """Return whether a query may have an answer: only a first page has one."""
        return request.page == 1 and request.cursor is None

    async def find_among(self, found: Found, deadline: Deadline) -> FoundAnswer | None:
        """Return the answer to the query of these results, or None, at once for a query that asks nothing."""
        if not self.can_answer(found.request) or not asks(found.text):
            return None
        answer = await self._choose(found)
        if answer is None or not any(each.kind in SURROUNDED for each in answer.answers):
            return answer
        pages = {hit.id: page.page_id for page in found.pages for hit in page.hits}
        quoted = [await self._surround(each, found, pages.get(each.statement_id)) for each in answer.answers]
        return answer.model_copy(update={"answers": tuple(quoted)})

    async def _choose(self, found: Found) -> FoundAnswer | None:
        """Return the answer. Short statements are judged here: a change to a thread and back takes longer."""
        evidence = evidence_of(found)
        if sum(map(_chars_of, evidence)) > MAX_CHARS_AT_ONCE:
            return await asyncio.to_thread(choose_answer, found.text, evidence, self._parameters)
        return choose_answer(found.text, evidence, self._parameters)

    async def _surround(self, answer: QuotedAnswer, found: Found, page: UUID | None) -> QuotedAnswer:
        """Return the answer with the table or list around it, if the page's document can be read."""
        record = found.facts.get(page) if page else None
        if answer.kind not in SURROUNDED or record is None or not record.document_ref:
            return answer
        if consent_of(record).max_snippet is not None:  # only the statement itself was compared with the limit
            return answer
        try:
            visible = found.request.visible
            content = await self._stores.content(record, record.document_ref, visible=visible)
            document = await asyncio.to_thread(decode_document, content)
            around = await asyncio.to_thread(surroundings_of, document, answer.text, answer.kind)
        except RiffleError:
            return answer
        return answer.model_copy(update={"surroundings": around})


def _chars_of(evidence: Evidence) -> int:
    return len(evidence.text) + len(evidence.title) + sum(map(len, evidence.context))
