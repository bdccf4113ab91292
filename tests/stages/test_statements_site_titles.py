"""Titles over a host's pages: one that pages with headings of their own share is the site's name, and not shown."""

from dataclasses import dataclass, field
from uuid import uuid4

import pytest

from schemas import Envelope, PageChunked, PageDeduplicated
from schemas.ids import page_id
from streams.pages.document.codec import encode_document
from streams.pages.document.model import Block, Document
from streams.runtime.agent import Delivery
from streams.statements.agent import StatementsAgent
from streams.statements.sandbox_tasks import DRAFT, decode_drafts, draft
from streams.statements.site_titles import FRESH_SECONDS, MIN_HEADINGS, SLOTS
from streams.statements.statement import PageStatements, decode_statements
from streams.stores.memory.notes import MemoryNotes
from streams.stores.opener import Stores, memory_stores
from tests.inline_sandbox import InlineSandbox
from tests.stages.test_vector_stages import START

TEXT = Block("p", "The tide turns at noon.")


@dataclass
class Site:
    """The pages of a host, read by a worker."""

    stores: Stores = field(default_factory=memory_stores)
    seconds: float = 0.0

    def __post_init__(self) -> None:
        self.worker = self.start()

    def start(self) -> StatementsAgent:
        return StatementsAgent(self.stores, InlineSandbox((DRAFT,)), lambda: self.seconds)

    async def read(self, path: str, title: str, *blocks: Block, host: str = "site.example") -> PageStatements:
        url = f"https://{host}{path}"
        document = Document(url=url, title=title, language="en", blocks=(*blocks, TEXT))
        event = PageDeduplicated(
            page_id=page_id(url),
            url=url,
            generation=1,
            crawl_id="c",
            document_ref=await self.stores.blobs.put(encode_document(document)),
            verdict="unique",
            canonical_page_id=page_id(url),
        )
        envelope = Envelope(id=uuid4(), type=event.event_type(), source="test", time=START, subject="")
        (chunked,) = await self.worker.handle(Delivery(event, envelope, event.topic, 0, 0))
        assert isinstance(chunked, PageChunked)
        return decode_statements(await self.stores.blobs.get(chunked.statements_ref))

    async def title(self, path: str, title: str, *headings: str, host: str = "site.example") -> str:
        return (await self.read(path, title, *(Block("h1", text) for text in headings), host=host)).title

    async def know(self, name: str, host: str = "site.example") -> None:
        """Read as many pages as make a title the name of the site."""
        for number in range(MIN_HEADINGS):
            await self.title(f"/{number}", name, f"Page {number}", host=host)


async def test_a_title_of_pages_with_headings_of_their_own_is_the_sites_name() -> None:
    site = Site()
    titles = [await site.title(f"/{number}", "Tide manual", f"Port {number}") for number in range(MIN_HEADINGS + 2)]
    assert titles == ["Tide manual"] * (MIN_HEADINGS - 1) + [f"Port {n}" for n in range(MIN_HEADINGS - 1, len(titles))]


async def test_the_pages_heading_takes_the_place_of_the_title_in_each_context() -> None:
    site = Site()
    await site.know("Tide manual")
    page = await site.read("/x", "Tide manual", Block("h1", "Port X"), TEXT, Block("h2", "Fees"))
    assert [statement.context for statement in page.statements] == [("Port X",), ("Port X", "Fees")]


KEPT = [
    ("copies and versions of one page have one heading", "/9", "Errors", ["Error codes"] * 9),
    ("pages without a heading of their own", "/9", "Tides", [""] * 9),
    ("three headings may be an article of three pages", "/9", "The long voyage", ["One", "Two", "Three"]),
    ("a home page is called as its site is", "/", "Tide manual", [f"Port {number}" for number in range(9)]),
]


@pytest.mark.parametrize(("why", "path", "title", "headings"), KEPT, ids=[case[0] for case in KEPT])
async def test_other_titles_stay(why: str, path: str, title: str, headings: list[str]) -> None:
    site = Site()
    for number, heading in enumerate(headings):
        await site.title(f"/{number}", title, *filter(None, [heading]))
    assert await site.title(path, title, *filter(None, headings[:1])) == title, why


async def test_a_page_that_is_read_again_is_one_page() -> None:
    site = Site()
    for _ in range(9):
        assert await site.title("/1", "Tide manual", "Port 1") == "Tide manual"


async def test_another_host_has_its_own_names() -> None:
    site = Site()
    await site.know("Tide manual")
    assert await site.title("/x", "Tide manual", "Port X", host="other.example") == "Tide manual"


async def test_what_is_known_outlives_the_worker() -> None:
    site = Site()
    await site.know("Tide manual")
    site.worker = site.start()
    assert await site.title("/x", "Tide manual", "Port X") == "Port X"
    assert await site.title("/0", "Tide manual", "Page 0") == "Page 0", "an early page, when it is read again"


async def test_a_worker_reads_what_another_one_learned_meanwhile() -> None:
    site = Site()
    assert await site.title("/a", "Tide manual", "Port A") == "Tide manual"
    first, site.worker = site.worker, site.start()
    await site.know("Tide manual")
    site.worker, site.seconds = first, FRESH_SECONDS + 1
    assert await site.title("/x", "Tide manual", "Port X") == "Port X"


class _CountingNotes(MemoryNotes):
    """Notes that count their uses."""

    def __init__(self) -> None:
        super().__init__()
        self.reads = self.writes = 0

    async def put(self, shelf: str, name: str, value: bytes, *, seconds: int, at: int | None = None) -> None:
        self.writes += 1
        await super().put(shelf, name, value, seconds=seconds, at=at)

    async def of_shelf(self, shelf: str) -> dict[str, bytes]:
        self.reads += 1
        return await super().of_shelf(shelf)


async def test_titles_cost_a_read_for_each_host_and_three_writes_for_each_name() -> None:
    stores = memory_stores()
    stores.notes = notes = _CountingNotes()
    site = Site(stores)
    for number in range(50):
        await site.title(f"/{number}", "Tide manual", f"Port {number}")
        await site.title(f"/own/{number}", f"Own title {number}", f"Port {number}")
        await site.title(f"/same/{number}", f"Port {number}", f"Port {number}")
    assert (notes.reads, notes.writes) == (1, MIN_HEADINGS - 1)


async def test_any_number_of_titles_takes_few_slots_and_no_name_is_forgotten() -> None:
    site = Site()
    await site.know("Tide manual")
    for number in range(SLOTS * 4):
        for heading in ("A", "B"):
            await site.title(f"/{heading}/{number}", f"Title {number}", f"{heading} {number}")
    assert len(await site.stores.notes.of_shelf("titles of site.example")) <= SLOTS
    assert await site.title("/x", "Tide manual", "Port X") == "Port X"


HEADINGS = [
    ("the first h1", (Block("h2", "Menu"), TEXT, Block("h1", "Ports"), Block("h1", "Fees")), "Ports"),
    ("a heading before all text", (Block("h2", "multiple.lua"), TEXT), "multiple.lua"),
    ("a heading below text is one of a part", (TEXT, Block("h2", "Fees")), ""),
    ("the title itself is no other", (Block("h1", " tide\nMANUAL"),), ""),
    ("no text", (), ""),
]


@pytest.mark.parametrize(("why", "blocks", "heading"), HEADINGS)
def test_the_heading_of_a_whole_page(why: str, blocks: tuple[Block, ...], heading: str) -> None:
    document = Document(url="https://site.example/", title="Tide manual", language="en", blocks=blocks)
    assert decode_drafts(draft(encode_document(document))).heading == heading, why
