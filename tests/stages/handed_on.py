"""Two installations over memory stores: one exports its index, and the other takes it through all its stages."""

from collections.abc import Iterable
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any
from uuid import UUID

from schemas import Event, PageFetched
from schemas.ids import page_id
from streams.crawl.archives.exporter import ExportSource
from streams.crawl.archives.readers import Limits
from streams.crawl.archives.sending import MAX_BODY_BYTES, ImportReport, Sender
from streams.maintenance.page_copies import reason_against_export
from streams.maintenance.shared_index.card import card_of
from streams.maintenance.shared_index.exporter import Chosen, IndexReport, export_index
from streams.maintenance.shared_index.importer import Receiver, import_index
from streams.maintenance.shared_index.layout import CARD, DESCRIPTION, Description
from streams.maintenance.shared_index.parts import READ_PART, READ_REMOVALS
from streams.maintenance.shared_index.writing import IndexWriter
from streams.models.memory import MemoryEmbedder
from streams.models.protocols import TextRole, Vectors
from streams.robot_name import ROBOT
from streams.sandbox.pool import Sandbox
from tests.inline_sandbox import InlineSandbox, inline_parse_pool
from tests.stages.whole_journey import SECOND, START, WholeJourney

NAME = "sea-index"
SANDBOX = InlineSandbox((READ_PART, READ_REMOVALS))


class CountingEmbedder(MemoryEmbedder):
    """Counts the texts that it embeds."""

    texts = 0

    async def embed(self, texts: Any, role: TextRole, *, deadline_seconds: float | None = None) -> Vectors:
        self.texts += len(texts)
        return await super().embed(texts, role, deadline_seconds=deadline_seconds)


@dataclass
class Installation:
    """The stages and stores of an installation."""

    embedder: CountingEmbedder = field(default_factory=CountingEmbedder)
    journey: WholeJourney = field(default_factory=lambda: WholeJourney(inline_parse_pool()))

    def __post_init__(self) -> None:
        self.stores = self.journey.stores
        self.stores.embedder = self.embedder
        self.journey = WholeJourney(self.journey.pool, self.stores)

    async def export(
        self, folder: Path, *hosts: str, with_private: bool = False, at: int = 1_000, name: str = NAME
    ) -> IndexReport:
        make_folder(folder)
        source = ExportSource(self.stores.pages, self.stores.ledger, self.stores.blobs)
        chosen = Chosen(frozenset(hosts), await self.stores.api_keys.sites(), with_private)
        writer = IndexWriter(folder)
        against = partial(reason_against_export, robot=ROBOT)
        report = await export_index(source, writer, chosen, against, lambda _: None)
        counts = {each: getattr(report, each) for each in ("pages", "statements", "removals")}
        index = Description(
            name=name,
            made=START + at * SECOND,
            made_by="riffle/0",
            hosts=hosts,
            parts=writer.parts,
            removal_parts=writer.removal_parts,
            models=tuple(report.models),
            **counts,
        )
        (folder / DESCRIPTION).write_bytes(index.encode())
        (folder / CARD).write_text(card_of(index, report.counts), encoding="utf-8")
        return report

    async def send(
        self, folder: Path, at: int = 2_000, *, trust_dates: bool = True, sandbox: Sandbox = SANDBOX, **facts: Any
    ) -> tuple[ImportReport, list[Event]]:
        """Read the folder, and return the events, which no stage has handled yet."""
        sent: list[Event] = []

        async def emit(event: Event, cause: str) -> None:
            sent.append(event)

        limits = Limits(MAX_BODY_BYTES, START + at * SECOND)
        sender = Sender(self.stores.blobs, emit, limits=limits, trust_dates=trust_dates, **facts)
        sites = await self.stores.api_keys.sites()
        receiver = Receiver(self.stores.pages, sites, self.embedder, sandbox, lambda: 7)
        return await import_index(folder, sender, receiver), sent

    async def take(self, folder: Path, at: int = 2_000, **facts: Any) -> ImportReport:
        """Import the folder, and have all stages handle its events."""
        report, sent = await self.send(folder, at, **facts)
        for event in sent:
            await self.journey.handle(event, at)
        return report

    async def points(self, page: UUID) -> list[tuple[Any, list[float]]]:
        """Return what the index has of a page: payloads and vectors, by their ordinals."""
        collection = (await self.stores.vectors.collections())[0]
        hits = sorted(await self.stores.vectors.scroll(collection, page), key=lambda hit: hit.payload.ordinal)
        vectors = await self.stores.vectors.dense_vectors([hit.id for hit in hits], collection)
        return [(hit.payload, list(vector)) for hit, vector in zip(hits, vectors, strict=True)]

    async def is_searchable(self, url: str) -> bool:
        collections = await self.stores.vectors.collections()
        return any([await self.stores.vectors.scroll(each, page_id(url)) for each in collections])


def urls_of(events: Iterable[Event]) -> set[str]:
    return {event.url for event in events if isinstance(event, PageFetched)}


def make_folder(folder: Path) -> None:
    folder.mkdir()
