"""The statements stage: the document of a page that is no duplicate becomes statements, each with its context."""

import asyncio
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor

from schemas import Event, PageChunked, PageDeduplicated
from streams.pages.document.codec import decode_document
from streams.pages.document.model import Document
from streams.runtime.agent import Agent, Delivery, Emit
from streams.settings import Settings
from streams.statements.chaining import chain_input, statements
from streams.statements.codec import PageStatements, encode_statements
from streams.statements.drafting import Draft, drafts
from streams.statements.sentences import SentenceSplitter
from streams.stores.opener import Stores


class StatementsAgent(Agent):
    """Blob (statements) -> record (`chunked`) -> PageChunked. A duplicate leads to nothing."""

    def __init__(self, stores: Stores, splitter: SentenceSplitter) -> None:
        self._stores = stores
        self._splitter = splitter
        # One thread: the splitter can't be shared, and more threads would only wait for the interpreter's lock.
        self._thread = ThreadPoolExecutor(1, "statements")

    async def start(self, emit: Emit) -> None:
        await asyncio.get_running_loop().run_in_executor(self._thread, self._splitter.load)

    async def stop(self) -> None:
        self._thread.shutdown(wait=False, cancel_futures=True)

    async def handle(self, delivery: Delivery) -> Sequence[Event]:
        event = delivery.event
        assert isinstance(event, PageDeduplicated)
        if event.canonical_page_id != event.page_id:
            return []
        content = await self._stores.blobs.get(event.document_ref)
        document, drafted, left_out = await asyncio.get_running_loop().run_in_executor(
            self._thread, self._draft, content
        )
        sentences, owners = chain_input(drafted)
        antecedents = await self._stores.chains.antecedents(sentences)
        page = PageStatements(
            page_id=event.page_id,
            url=event.url,
            title=document.title,
            language=document.language,
            statements=statements(event.page_id, drafted, owners, antecedents),
        )
        return [await self._store(event, page, left_out, delivery.at)]

    def _draft(self, content: bytes) -> tuple[Document, list[Draft], int]:
        document = decode_document(content)
        return document, *drafts(document, self._splitter)

    async def _store(self, event: PageDeduplicated, page: PageStatements, left_out: int, at: int) -> PageChunked:
        reference = await self._stores.blobs.put(encode_statements(page))
        record = {
            "url": page.url,
            "title": page.title,
            "language": page.language,
            "generation": event.generation,
            "statements_ref": reference,
            "statements": len(page.statements),
            "left_out": left_out,
        }
        await self._stores.pages.put(event.page_id, "chunked", record, at)
        return PageChunked(
            page_id=event.page_id,
            url=event.url,
            generation=event.generation,
            crawl_id=event.crawl_id,
            statements_ref=reference,
            statements=len(page.statements),
            language=page.language,
        )


async def build(settings: Settings, stores: Stores) -> Agent:
    return StatementsAgent(stores, SentenceSplitter())
