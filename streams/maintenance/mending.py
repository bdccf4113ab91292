"""Mending of pages that hold the answers of other requests (`riffle reindex --recompute`).

Each page is compared with the models' answers of now (`recomputing`). Only what differs is written:

    what differs            what is written
    links                   statements (blob), vectors (blob), points, `indexed`
    vectors in a blob       vectors (blob), `indexed`
    vectors in the index    points

In this order, so that a run that was stopped finds the rest again: the part `indexed` comes last, and the next run
compares every value once more. A page that was fetched or removed meanwhile is left to its stages. The part gets the
write time of `indexed` and a microsecond: later than the events of this fetch, earlier than the events of the next one.
"""

from dataclasses import dataclass, field, replace

from streams.maintenance.page_writer import PageWriter, Target
from streams.maintenance.recomputing import Comparison, Recomputer
from streams.statements.statement import encode_statements
from streams.stores.opener import Stores
from streams.stores.page_record import PageRecord
from streams.vectors.page_records import IndexedPage, indexed_page
from streams.vectors.points import encode_vectors


@dataclass(slots=True)
class Mended:
    """The result of one run."""

    compared: int = 0
    """Pages that were compared with the models' answers."""
    links: list[str] = field(default_factory=list)
    """URLs of the pages whose links were mended."""
    blob_vectors: list[str] = field(default_factory=list)
    index_vectors: list[str] = field(default_factory=list)
    other_release: int = 0
    """Pages that another release drafted, so that their links were not compared."""
    no_document: int = 0
    other_model: int = 0
    """Pages that were indexed with another model. They were not compared."""

    def note(self, found: Comparison | None) -> None:
        if found is None:
            self.other_model += 1
            return
        self.compared += 1
        self.other_release += found.state == "other-release"
        self.no_document += found.state == "no-document"


class Mender:
    """The writer of what differs. It writes points through the writer of the same run."""

    def __init__(self, stores: Stores, recomputer: Recomputer, writer: PageWriter) -> None:
        self._stores, self._recomputer, self._writer = stores, recomputer, writer
        self.outcome = Mended()

    async def mend(self, page: IndexedPage, record: PageRecord, target: Target) -> PageRecord:
        """Compare the page, and write what differs. Return the page's records as they are now. Raises PoisonError."""
        found = await self._recomputer.compare(page, record, target.collection, target.model)
        self.outcome.note(found)
        if found is None or found.is_right or await self._writer.read_recorded(page.page_id) != page:
            return record
        await self._write(found, record, target)
        self._count(found)
        return await self._stores.pages.get(page.page_id)

    async def _write(self, found: Comparison, record: PageRecord, target: Target) -> None:
        statements = found.made if found.links else found.stored
        vectors = await self._recomputer.embed(statements)
        mended = record
        if found.links or found.blob_vectors:
            statements_ref = found.page.statements_ref
            if found.links:
                statements_ref = await self._stores.blobs.put(encode_statements(statements))
            vectors_ref = await self._stores.blobs.put(encode_vectors(statements_ref, vectors))
            mended = refer_to(found.page, record, statements_ref, vectors_ref)
        if found.links or found.index_vectors:
            page = indexed_page(found.page.page_id, mended)
            assert page is not None  # the record only refers to other blobs
            await self._writer.replace(page, statements, vectors, target)
        if mended is not record and await self._writer.read_recorded(found.page.page_id) == found.page:
            await self._stores.pages.put(found.page.page_id, mended.indexed, mended.indexed.at)

    def _count(self, found: Comparison) -> None:
        lists = (self.outcome.links, self.outcome.blob_vectors, self.outcome.index_vectors)
        for urls, number in zip(lists, (found.links, found.blob_vectors, found.index_vectors), strict=True):
            if number:
                urls.append(found.page.url)


def refer_to(page: IndexedPage, record: PageRecord, statements_ref: str, vectors_ref: str) -> PageRecord:
    """Return the records with these references in the parts that refer to the page's statements or vectors."""
    indexed, rows = record.indexed, dict(record.rows)
    rows["indexed"] = replace(indexed, statements_ref=statements_ref, vectors_ref=vectors_ref, at=indexed.at + 1).row()
    return PageRecord(rows)
