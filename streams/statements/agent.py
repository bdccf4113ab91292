"""The statements stage: the document of a page that is no duplicate becomes statements, each with its context."""

import time
from collections.abc import Callable, Sequence

from schemas import Event, PageChunked, PageDeduplicated, PageRemoved
from streams.errors import PageErased, Refused
from streams.runtime.agent import Agent, Delivery, Emit
from streams.sandbox.pool import Sandbox
from streams.settings import Settings
from streams.statements.chaining import chain_drafts
from streams.statements.readability import readable_share
from streams.statements.sandbox_tasks import DRAFT, Drafted, decode_drafts, drafting_pool
from streams.statements.site_titles import SiteTitles
from streams.statements.statement import PageStatements, encode_statements
from streams.stores.opener import Stores
from streams.stores.page_record import Chunked
from streams.stores.removals import blob_of_page
from streams.topology import VERSIONS


class StatementsAgent(Agent):
    """Stores the statements (blob), and emits PageChunked. The index stage records it. A duplicate has no effect.

    A page that was removed on request, with its document, has no effect either. A document that can't be drafted within
    the limits of the sandbox is refused: a record (`chunked`), and PageRemoved instead of PageChunked.
    """

    def __init__(self, stores: Stores, sandbox: Sandbox, monotonic: Callable[[], float] = time.monotonic) -> None:
        self._stores = stores
        self._sandbox = sandbox
        self._titles = SiteTitles(stores.notes, monotonic)

    async def start(self, emit: Emit) -> None:
        self._sandbox.start()

    async def stop(self) -> None:
        await self._sandbox.close()

    async def handle(self, delivery: Delivery) -> Sequence[Event]:
        event = delivery.event
        assert isinstance(event, PageDeduplicated)
        if event.canonical_page_id != event.page_id:
            return []
        try:
            content = await blob_of_page(self._stores.blobs, self._stores.pages, event, event.document_ref)
        except PageErased:
            return []
        try:
            found = decode_drafts(await self._sandbox.run(DRAFT, content))
        except Refused as refusal:
            return [await self._refuse(event, refusal, delivery.at)]
        found = await self._titles.name_page(event.url, found)
        page = await chain_drafts(self._stores.chains, event.page_id, event.url, found, delivery.note_part)
        return [await self._store(event, page, found)]

    async def _refuse(self, event: PageDeduplicated, refusal: Refused, at: int) -> PageRemoved:
        part = Chunked.of_refusal(event.url, event.generation, str(refusal))
        await self._stores.pages.put(event.page_id, part, at)
        return PageRemoved.following(event, reason="unsupported", detail=str(refusal))

    async def _store(self, event: PageDeduplicated, page: PageStatements, found: Drafted) -> PageChunked:
        return PageChunked.following(
            event,
            statements_ref=await self._stores.blobs.put(encode_statements(page)),
            statements=len(page.statements),
            left_out=found.left_out,
            made={"normalize": found.version, "statements": VERSIONS["statements"]},
            language=page.language,
            is_new=event.is_new,
            readable=readable_share(page.statements),
        )


async def build(settings: Settings, stores: Stores) -> Agent:
    return StatementsAgent(stores, drafting_pool("statements"))
