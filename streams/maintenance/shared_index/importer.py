"""The import of an index that another installation handed on: its pages become `pages.fetched` events like any other's.

All stages handle such a page as one that was fetched: its host may be blocked, its site private, it may be a duplicate
or older than what is known of it. Only its vectors are not computed again (`streams.vectors.brought`). The folder is a
stranger's: each page is checked as one of an archive is, and the vectors by samples. A wrong file costs its part.

Not guarded against: pages that the other installation made up, and single false vectors among many true ones. An
operator who takes an index trusts who made it, as with an archive.
"""

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from uuid import UUID

import numpy as np

from schemas import PageRemoved
from schemas.ids import page_id as id_of
from streams.crawl.archives.readers import AS_ADVICE, ArchivedPage, Skipped, Source, make_page
from streams.crawl.archives.regular_files import open_below
from streams.crawl.archives.sending import ImportReport, Sender
from streams.crawl.audiences import EVERYBODY, audience_of
from streams.crawl.content_signals import USES
from streams.errors import Refused, UsageError
from streams.maintenance.shared_index.layout import (
    DESCRIPTION,
    DOCUMENTS,
    MAX_DESCRIPTION_BYTES,
    MAX_FILE_BYTES,
    MAX_REMOVALS,
    REMOVALS,
    STATEMENTS,
    Description,
    file_of,
)
from streams.maintenance.shared_index.parts import Part, TakenPage, Wanted, read_part, read_removals
from streams.models.protocols import Embedder
from streams.sandbox.pool import Sandbox
from streams.stores.page_record import PageRecord
from streams.stores.protocols import Pages, Site
from streams.topology import VERSIONS
from streams.vectors.brought import Made

SOURCE: Source = "warc"
"""The kind of archive that such a page counts as: one that a stranger has made."""
ALIKE = 0.98
"""Minimum cosine of a text's vector and the one that came with it. Machines without VNNI differ by less than .001, and
vectors of two texts are below .98 unless the texts are nearly the same."""
OTHER_MODEL = "embedded anew: their vectors are of another model or release"
WRONG_VECTORS = "embedded anew: their vectors are damaged, or not of the model that the index names"
REMOVED_BY_INDEX = "removed: they came from this index, which says that they left it"
_DETAILS = {"request": "removed on request where the page came from"}
_TAG = re.compile(r"[A-Za-z0-9-]{1,40}")
_URL = re.compile(r"https?://[^\s<>\"]{1,4000}")
_SIGNALS = frozenset(f"{use}=no" for use in USES)


@dataclass(frozen=True, slots=True)
class Receiver:
    """The receiving installation, as far as the import asks it."""

    pages: Pages
    sites: Sequence[Site]
    embedder: Embedder
    sandbox: Sandbox
    draw_seed: Callable[[], int]
    """Returns a number that who made the folder can't foresee."""


def is_index(folder: Path) -> bool:
    """Return whether a folder has the description of an index."""
    try:
        with open_below(folder, (DESCRIPTION,)) as file:
            return b'"riffle-index"' in file.read(200)
    except OSError:
        return False


def read_description(folder: Path) -> Description:
    """Return the description of the folder. Raises UsageError."""
    try:
        content = _read(folder, (DESCRIPTION,), MAX_DESCRIPTION_BYTES)
        return Description.decode(content)
    except (Refused, UsageError) as error:
        raise UsageError(f"{folder} is no index that can be taken: {error}") from None


async def wanted_vectors(embedder: Embedder) -> Wanted:
    """Return the vectors that this installation makes itself."""
    info = await embedder.info()
    return Wanted(Made(info.name, info.version, info.dimensions, VERSIONS["embed"]), info.normalized)


async def import_index(folder: Path, sender: Sender, receiver: Receiver) -> ImportReport:
    """Send the pages of an index, and the removals of pages that came from it. Raises UsageError."""
    index = read_description(folder)
    report = ImportReport(total=index.parts + index.removal_parts, resumed=sender.skip)
    job = _Job(folder, index, sender, receiver, await wanted_vectors(receiver.embedder), report)
    await job.run()
    return report


@dataclass(slots=True)
class _Job:
    """One import of an index."""

    folder: Path
    index: Description
    sender: Sender
    receiver: Receiver
    wanted: Wanted
    report: ImportReport
    removals: dict[bytes, tuple[int, str]] = field(default_factory=dict)
    trusts_vectors: bool = True
    passed: int = 0
    """Number of records that an interrupted run has sent, and that this run has come by."""

    async def run(self) -> None:
        for number in range(self.index.removal_parts):
            await self._read_removals(number)
        for number in range(self.index.parts):
            await self._send_part(number)
        for page_id, (removed, reason) in self.removals.items():
            await self._remove(UUID(bytes=page_id), removed, reason)

    async def _read_removals(self, number: int) -> None:
        try:
            found = await read_removals(
                self.receiver.sandbox, _read(self.folder, file_of(REMOVALS, number), MAX_FILE_BYTES)
            )
        except Refused as refusal:
            # Without it, pages might be taken that asked to leave.
            raise UsageError(f"{self.folder}: its removals can't be read ({refusal})") from None
        for page_id, removed, reason in found:
            if removed > self.removals.get(page_id, (-1, ""))[0]:
                self.removals[page_id] = removed, reason
        if len(self.removals) > MAX_REMOVALS:
            raise UsageError(f"{self.folder} has more than {MAX_REMOVALS:,} removals")

    async def _send_part(self, number: int) -> None:
        try:
            part = await read_part(
                self.receiver.sandbox,
                _read(self.folder, file_of(DOCUMENTS, number), MAX_FILE_BYTES),
                _read(self.folder, file_of(STATEMENTS, number), MAX_FILE_BYTES),
                self.wanted,
                self.receiver.draw_seed(),
            )
        except Refused as refusal:
            unread = Skipped("in a file that can't be read", f"{number:05}: {refusal}")
            records: list[ArchivedPage | Skipped] = [unread] if self._come_by(1) == 0 else []
        else:
            self.trusts_vectors = self.trusts_vectors and await self._are_true(part)
            records = [await self._record(page) for page in part.pages[self._come_by(len(part.pages)) :]]
        self.report.done = number
        await self.sender.send_all(iter(records), lambda: number + 1, self.report)

    def _come_by(self, records: int) -> int:
        """Return how many of the next records an interrupted run has sent."""
        sent = min(max(self.sender.skip - self.passed, 0), records)
        self.passed += sent
        return sent

    async def _are_true(self, part: Part) -> bool:
        """Return whether the model makes the vectors that came with some of the part's texts."""
        if not part.samples:
            return True
        own = await self.receiver.embedder.embed([text for text, _ in part.samples], "passage")
        brought = np.stack([np.frombuffer(vector, "<f2") for _, vector in part.samples]).astype(np.float32)
        lengths = np.linalg.norm(own, axis=1) * np.linalg.norm(brought, axis=1)
        return bool(np.all(np.sum(own * brought, axis=1) >= ALIKE * lengths))

    async def _record(self, page: TakenPage) -> ArchivedPage | Skipped:
        """Return the page as one of an archive, or why it is not taken."""
        made = make_page(page.url, page.fetched, page.html, SOURCE, self.sender.limits, 200, _headers(page))
        if isinstance(made, Skipped):
            return Skipped(made.reason, made.detail.removesuffix(f" {AS_ADVICE}"))
        if id_of(made.url) != UUID(bytes=page.page_id):
            return Skipped("with the id of another address", made.url)
        if self.removals.get(page.page_id, (-1, ""))[0] >= page.fetched:
            return Skipped("removed since, as the index says", made.url)
        if page.is_private and audience_of(made.url, self.receiver.sites) == EVERYBODY:
            return Skipped(
                "of a private site, and here of none (`riffle sites add NAME --host HOST --private`)", made.url
            )
        if reason := _known_since(await self.receiver.pages.get(id_of(made.url)), page.fetched):
            return Skipped(reason, made.url)
        is_taken = self.trusts_vectors and page.has_valid_vectors
        if not page.is_of_model or not is_taken:
            self.report.notes[WRONG_VECTORS if page.is_of_model else OTHER_MODEL] += 1
        return replace(made, origin=self.index.name, brought=page.brought if is_taken else b"")

    async def _remove(self, page_id: UUID, removed: int, reason: str) -> None:
        """Remove a page that this index brought, if it has no later content from elsewhere."""
        record = await self.receiver.pages.get(page_id)
        fetched = record.fetched
        is_of_index = fetched.origin == self.index.name
        is_newest = fetched.generation <= removed <= self.sender.limits.latest and record.removed.generation < removed
        if not (is_of_index and is_newest):
            return
        event = PageRemoved(
            page_id=page_id,
            url=fetched.url,
            generation=removed,
            reason="gone" if reason == "request" else reason,  # a request holds for those who were asked
            detail=_DETAILS.get(reason, f"as the index {self.index.name} says"),
        )
        await self.sender.emit(event, f"import/index/removed/{page_id}/{removed}")
        self.report.notes[REMOVED_BY_INDEX] += 1


def _known_since(record: PageRecord, fetched: int) -> str:
    """Return why the page is not taken, by what this installation knows of it; empty if nothing speaks against it."""
    if record.removed.generation >= fetched and record.removed.reason != "duplicate":
        return "removed here since"
    has_content = record.fetched.outcome in ("ok", "not_modified")
    if max(record.fetched.generation if has_content else -1, record.indexed.generation) >= fetched:
        return "known here as new as that, or newer"
    return ""


def _headers(page: TakenPage) -> dict[str, str]:
    """Return the wishes of the publisher, and the versions in other languages, as an answer would state them."""
    signals = [each for each in page.directives if each in _SIGNALS]
    directives = [each for each in page.directives if each not in _SIGNALS]
    links = [f'<{url}>; rel="alternate"; hreflang="{tag}"' for tag, url in page.alternates if _is_link(tag, url)]
    headers = {"x-robots-tag": directives, "content-signal": signals, "link": links}
    return {
        "content-type": "text/html; charset=utf-8",
        **{name: ", ".join(all_) for name, all_ in headers.items() if all_},
    }


def _is_link(tag: str, url: str) -> bool:
    return _TAG.fullmatch(tag) is not None and _URL.fullmatch(url) is not None


def _read(folder: Path, parts: tuple[str, ...], max_bytes: int) -> bytes:
    """Read a file below the folder. Raises Refused."""
    try:
        with open_below(folder, parts) as file:
            content = file.read(max_bytes + 1)
    except OSError as error:
        raise Refused("file", f"{'/'.join(parts)}: {error.strerror or error}") from None
    if len(content) > max_bytes:
        raise Refused("file size", f"{'/'.join(parts)} has more than {max_bytes >> 20} MiB")
    return content
