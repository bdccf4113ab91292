"""`riffle map`: a map of a sample of the index, for the pages of operators."""

import asyncio
import random
from collections.abc import Sequence
from dataclasses import replace
from datetime import UTC, datetime
from typing import Annotated
from urllib.parse import urlsplit
from uuid import UUID

import numpy as np
import typer

from schemas.envelope import micros_from_utc
from streams.commands.console import AsJson, command, err, load_settings, out, print_json
from streams.commands.job_reports import reported
from streams.errors import UsageError
from streams.maintenance.mapping import (
    Floats,
    Gap,
    IndexMap,
    MappedPage,
    label_regions,
    lay_out,
    mean_vectors,
    page_words,
    place_queries,
)
from streams.maintenance.sampling import sample_pages, statement_vectors
from streams.queries.counts import Counts, list_unanswered
from streams.servers import Store
from streams.settings import Settings
from streams.stores.index_maps import put_map
from streams.stores.opener import Stores, open_stores
from streams.stores.protocols import Hit

STATEMENTS = 8
"""Maximum number of statements of a page that make its vector."""
BATCH_PAGES = 64
GAP_DAYS = 30
"""Days whose queries are placed on the map."""
MAX_GAPS = 60
Unanswered = tuple[str, str, Counts]
"""Language, query and counts of a query without results."""


@command
async def make_map(
    pages: Annotated[int, typer.Option(min=30, max=20_000, help="Number of pages in the sample.")] = 2_000,
    as_json: AsJson = False,
) -> None:
    """Draw a map of a random sample of the index: pages that mean the same are close, and regions have their words.

    Where queries are collected, those without results stand among the pages that are nearest to them in meaning.
    `riffle admin` shows it. It needs UMAP, which the image
    `riffle-map` has (make images ARGS=--map). Elsewhere: pip install 'PATH_OF_THE_CLONE[map]'.

    Examples:

        riffle map
        riffle map --pages 5000
    """
    settings = load_settings()
    unanswered = await _read_unanswered(settings)
    needs: list[Store] = ["records", "vectors"]
    if unanswered:
        needs.append("models")
    async with open_stores(settings, needs) as stores, reported(stores.notes, "map"):
        collection = await stores.vectors.active()
        if collection is None:
            raise UsageError("nothing is indexed yet: there is no collection that searches read")
        with err.status("Drawing pages ..."):
            sample = await sample_pages(stores.pages, random.Random(), pages, lambda _: True)  # noqa: S311 - a sample
            hits = [hit for part in _parts(sample) for hit in await stores.vectors.first_statements(part, STATEMENTS)]
            owners, vectors = await statement_vectors(stores.vectors, hits)
        with err.status(f"Laying out {len(sample)} pages ..."):
            made = await _make(stores, unanswered, hits, owners, vectors, collection)
        await put_map(stores.notes, micros_from_utc(datetime.fromisoformat(made.made_at)), made.pack())
    if as_json:
        print_json({"pages": len(made.pages), "labels": [label.text for label in made.labels]})
    else:
        out.print(f"Drew {len(made.pages)} pages with {len(made.labels)} regions.")
        out.advise("`riffle admin` shows the map, at /admin/map.")


def _parts(sample: list[UUID]) -> list[list[UUID]]:
    return [sample[first : first + BATCH_PAGES] for first in range(0, len(sample), BATCH_PAGES)]


async def _make(
    stores: Stores,
    unanswered: Sequence[Unanswered],
    hits: Sequence[Hit],
    owners: Sequence[UUID],
    vectors: Sequence[Sequence[float]],
    collection: str,
) -> IndexMap:
    of_page: dict[UUID, list[Hit]] = {}
    for hit in hits:
        of_page.setdefault(hit.payload.page_id, []).append(hit)
    known = list(dict.fromkeys(owners))
    if not known:
        raise UsageError("no page of the sample has vectors: nothing is searchable yet")
    means = mean_vectors(vectors, owners, known)
    places = await asyncio.to_thread(lay_out, means)
    pages = tuple(
        replace(_page(page_id, of_page[page_id]), x=round(float(x), 4), y=round(float(y), 4))
        for page_id, (x, y) in zip(known, places, strict=True)
    )
    gaps = await _gaps(stores, unanswered, means, places) if unanswered else ()
    made_at = datetime.now(UTC).isoformat(timespec="seconds")
    return IndexMap(made_at, collection, pages, label_regions(pages), gaps)


async def _read_unanswered(settings: Settings) -> Sequence[Unanswered]:
    """Return the queries that most often had no result. There are none where no gateway collects queries."""
    async with open_stores(settings, ["records"], use="read") as stores:
        return (await list_unanswered(stores.query_counts, datetime.now(UTC), GAP_DAYS))[:MAX_GAPS]


async def _gaps(stores: Stores, unanswered: Sequence[Unanswered], means: Floats, places: Floats) -> tuple[Gap, ...]:
    """Return the queries without results, each among the pages that are nearest to it."""
    vectors = await stores.embedder.embed([query for _, query, _ in unanswered], "query")
    lengths = np.maximum(np.linalg.norm(vectors, axis=1, keepdims=True), 1e-9)
    found = place_queries(vectors / lengths, means, places)
    return tuple(
        Gap(query, language, round(counts.empty, 1), round(float(x), 4), round(float(y), 4))
        for (language, query, counts), (x, y) in zip(unanswered, found, strict=True)
    )


def _page(page_id: UUID, hits: list[Hit]) -> MappedPage:
    first = hits[0].payload
    words = page_words([first.title, *(hit.payload.text for hit in hits)])
    return MappedPage(str(page_id), first.url, first.title, urlsplit(first.url).netloc, words)
