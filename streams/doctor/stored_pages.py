"""The check of stored answers: a sample of the searchable pages is compared with what the models answer now.

Values that another request's answer left look right, so the other checks don't see them. This check asks the models
about every statement of the sample, which takes a minute or more: it only runs on request (`riffle doctor --vectors`).
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from uuid import UUID

from streams.doctor.findings import Finding, failure, ok, warning
from streams.errors import PoisonError
from streams.maintenance.recomputing import Comparison, Recomputer, compare_pages
from streams.models.protocols import ModelInfo
from streams.plain_text import count_of
from streams.sandbox.pool import Sandbox
from streams.stores.opener import Stores
from streams.stores.vector_collection import ALIAS, collection_name
from streams.vectors.page_records import IndexedPage

SAMPLED_PAGES = 100
CHECK = "vectors"
MEND = "riffle reindex --recompute"
REPLAY = "riffle replay --from statements"


@dataclass(slots=True)
class Compared:
    """The results for the pages of a sample."""

    pages: int = 0
    foreign: list[Comparison] = field(default_factory=list)
    unreadable: list[str] = field(default_factory=list)
    """Pages whose statements are missing or damaged, with the reason."""
    links_not_compared: dict[str, int] = field(default_factory=lambda: {"other-release": 0, "no-document": 0})
    other_model: int = 0

    def note(self, page: IndexedPage, found: Comparison | PoisonError | None) -> None:
        if found is None:
            self.other_model += 1
        elif isinstance(found, PoisonError):
            self.unreadable.append(f"{page.url}: {found}")
        else:
            self.pages += 1
            if found.state != "compared":
                self.links_not_compared[found.state] += 1
            if not found.is_right:
                self.foreign.append(found)


async def check_stored_pages(
    stores: Stores, sandbox: Sandbox, page_ids: Sequence[UUID], show: Callable[[int], None] = lambda _: None
) -> list[Finding]:
    """Compare these pages. `show` is called with the number of pages that are done."""
    model, searched = await stores.embedder.info(), await stores.vectors.active()
    if searched is None:
        return [ok(CHECK, "Nothing is searchable yet")]
    if searched != collection_name(ALIAS, model):
        return [_other_collection(searched, model)]
    compared, recomputer = Compared(), Recomputer(stores, sandbox)

    def note(page: IndexedPage, found: Comparison | PoisonError | None) -> None:
        compared.note(page, found)
        show(compared.pages)

    sandbox.start()
    try:
        await compare_pages(recomputer, stores, page_ids, searched, note)
    finally:
        await recomputer.close()
        await sandbox.close()
    return list(judge_pages(compared))


def _other_collection(searched: str, model: ModelInfo) -> Finding:
    return failure(
        CHECK,
        f"Searches read {searched}, which has no vectors of {model.name} {model.version}: nothing was compared",
        "Fill the collection of this model: riffle reindex. Or set RIFFLE_TRITON__MODEL to the former model.",
    )


def judge_pages(compared: Compared) -> Iterator[Finding]:
    """Return the findings about a sample. Pages with values of another text are a failure."""
    if compared.foreign:
        yield failure(
            CHECK,
            f"{len(compared.foreign)} of {count_of(compared.pages, 'page')}: not what the models answer now",
            f"Compare all pages, and mend those that differ: {MEND} (with --host for one host).",
            *(_describe(one) for one in sorted(compared.foreign, key=lambda one: one.page.url)),
        )
    else:
        yield ok(CHECK, f"{count_of(compared.pages, 'page')}: stored is what the models answer now")
    if compared.unreadable:
        yield warning(
            CHECK,
            f"{count_of(len(compared.unreadable), 'page')} could not be compared",
            f"Make their statements again: {REPLAY}",
            *sorted(compared.unreadable),
        )
    for note in _notes(compared):
        yield ok(CHECK, note)


def _describe(found: Comparison) -> str:
    counts = {"links": found.links, "vectors": found.blob_vectors, "vectors in the index": found.index_vectors}
    listed = "; ".join(f"{name}: {number}" for name, number in counts.items() if number)
    return f"{found.page.url}, {len(found.stored.statements)} statements. Foreign {listed}"


def _notes(compared: Compared) -> list[str]:
    reasons: Mapping[str, int] = {
        "indexed with another model: not compared": compared.other_model,
        f"drafted by another release: links not compared. New links: {REPLAY}": (
            compared.links_not_compared["other-release"]
        ),
        "without a document: links not compared": compared.links_not_compared["no-document"],
    }
    return [f"{count_of(number, 'page')}, {reason}" for reason, number in reasons.items() if number]
