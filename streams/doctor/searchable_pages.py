"""The searchable pages as a whole: made by an earlier version of a stage, or too long to be searchable as a whole.

The first statement of each page has these facts, so the index counts them without a look at any other statement.
"""

import asyncio
from collections.abc import Iterator
from dataclasses import dataclass

from streams.doctor.findings import Finding, ok, warning
from streams.errors import RiffleError
from streams.ledger.descriptions import describe_searchable
from streams.models.opening import has_local_description, local_model
from streams.models.protocols import ModelInfo
from streams.plain_text import count_of
from streams.settings import Settings
from streams.stores.opener import open_stores
from streams.stores.protocols import VectorIndex
from streams.stores.statement_payload import MADE
from streams.stores.vector_collection import ALIAS, collection_name
from streams.topology import VERSIONS

CHECK = "pages"
MAX_NAMED = 5
"""Maximum number of pages that are named."""


@dataclass(frozen=True, slots=True)
class Outdated:
    """The first stage of which searchable pages have an earlier version, and how many pages are outdated."""

    stage: str
    pages: int
    """Number of pages of which any stage made the result by an earlier version. 0: all, from before versions."""

    @property
    def says(self) -> str:
        if not self.pages:
            return "All searchable pages were made before stages had versions"
        pages = f"{count_of(self.pages, 'searchable page')} {'was' if self.pages == 1 else 'were'}"
        return f"{pages} made by an earlier version of the stage {self.stage} or of a later one"

    @property
    def advice(self) -> str:
        """The command that makes the pages anew, by this stage and all later ones."""
        return (
            f"Have them made anew, while searches go on: riffle replay --from {self.stage}. If Kafka no longer holds "
            "the events of a page, crawl or import it again."
        )


@dataclass(frozen=True, slots=True)
class OtherModel:
    """The index that searches read has vectors of another model than the one that embeds queries."""

    collection: str
    model: ModelInfo

    @property
    def says(self) -> str:
        return f"Searches read {self.collection}, but queries are embedded by {self.model.name} {self.model.version}"

    @property
    def advice(self) -> str:
        """The command that makes vectors of this model."""
        return "Fill the collection of this model, while searches go on: riffle reindex. Or set the former model again."


def check_pages(settings: Settings) -> Iterator[Finding]:
    """Check whether pages should be replayed, and whether pages are searchable in part."""
    yield from asyncio.run(_check(settings))


async def _check(settings: Settings) -> list[Finding]:
    async with open_stores(settings, ["vectors"]) as stores:
        return await judge_searchable_pages(stores.vectors)


async def judge_searchable_pages(index: VectorIndex) -> list[Finding]:
    collection = await index.active()
    if collection is None:
        return [ok(CHECK, "Nothing is searchable yet")]
    outdated = await find_outdated(index, collection)
    found = [warning(CHECK, outdated.says, outdated.advice)] if outdated else []
    found += await _judge_long_pages(index, collection)
    return found or [ok(CHECK, "All searchable pages are whole, and of the present version of each stage")]


async def find_outdated(index: VectorIndex, collection: str) -> Outdated | None:
    """Return which stage to replay, or None if all pages of a collection are of the present versions."""
    counts = {
        stage: (await index.pages_with(collection, f"{MADE}{stage}", below=version))[0]
        for stage, version in VERSIONS.items()
    }
    first = next((stage for stage, pages in counts.items() if pages), None)
    if first:
        return Outdated(first, max(counts.values()))
    has_versions, _ = await index.pages_with(collection, f"{MADE}{list(VERSIONS)[-1]}")
    is_older = not has_versions and await index.count(collection) > 0
    return Outdated(next(iter(VERSIONS)), 0) if is_older else None


async def advice_for_index(settings: Settings, seconds: float) -> Outdated | OtherModel | None:
    """Return why to reindex, or which stage to replay. None if neither, or the index gives no answer in time."""
    try:
        async with asyncio.timeout(seconds), open_stores(settings, ["vectors"]) as stores:
            collection = await stores.vectors.active()
            if collection is None:
                return None
            model = local_model(settings) if has_local_description(settings) else None
            if model and collection != collection_name(ALIAS, model):
                return OtherModel(collection, model)
            return await find_outdated(stores.vectors, collection)
    except (RiffleError, TimeoutError):  # other checks say what is wrong with the index
        return None


async def _judge_long_pages(index: VectorIndex, collection: str) -> list[Finding]:
    count, named = await index.pages_with(collection, "left_out", limit=MAX_NAMED)
    if not count:
        return []
    details = []
    for hit in sorted(named, key=lambda hit: -hit.payload.left_out):
        statements = await index.count(collection, hit.payload.page_id, hit.payload.generation)
        details.append(f"{hit.payload.url}: {describe_searchable(statements, hit.payload.left_out)}")
    others = f", and {count - 1:,} more" if count > 1 else ""
    return [ok(CHECK, f"Searchable in part: {details[0]}{others}", *details)]
