"""Answers of other requests, stored by real stages in real servers: found by `riffle doctor --vectors` and mended by
`riffle reindex --recompute`."""

import json
from collections.abc import AsyncIterator, Sequence
from dataclasses import replace
from typing import Any

import pytest

from schemas.ids import page_id
from streams.models.protocols import Link, ModelInfo, TextRole, Vectors
from streams.pages.sandbox.pool import ParsePool
from streams.settings import Settings
from streams.statements.statement import decode_statements
from streams.stores.opener import Stores, open_stores
from streams.stores.protocols import FrontierUrl
from streams.vectors.points import decode_vectors
from tests.frontier_rows import put_urls
from tests.integration.test_operations import environment, run_command
from tests.stages.test_recompute import METALS, body
from tests.stages.whole_journey import SECOND, START, WholeJourney

pytestmark = [pytest.mark.integration("cassandra", "qdrant", "triton"), pytest.mark.timeout(600)]

SPOILED = METALS[2]
OTHER_METALS = ("tantalum", "niobium", "vanadium")
"""A page about one of `METALS` on another host would be a near-duplicate, and kept out."""


class Spoiled:
    """Real models that answer texts about one metal as if they were other texts."""

    def __init__(self, stores: Stores) -> None:
        self._stores = stores

    async def info(self, role: TextRole = "passage") -> ModelInfo:
        return await self._stores.embedder.info(role)

    async def links(self, sentences: Sequence[str], *, deadline_seconds: float | None = None) -> list[Link]:
        found = await self._stores.chains.links(sentences)
        return [*found[1:], Link()] if any(SPOILED in sentence for sentence in sentences) else found

    async def embed(self, texts: Sequence[str], role: TextRole, *, deadline_seconds: float | None = None) -> Vectors:
        foreign = [f"A ship left port {row}." if SPOILED in text else text for row, text in enumerate(texts)]
        return await self._stores.embedder.embed(foreign, role)


@pytest.fixture
async def stores(stack: Settings) -> AsyncIterator[Stores]:
    async with open_stores(stack, ["records", "vectors", "models"]) as opened:
        yield opened


async def run(stack: Settings, *arguments: str) -> Any:
    variables = {**environment(stack), "RIFFLE_TRITON__URL": stack.triton.url}
    done = await run_command(variables, *arguments, "--json")
    assert done.exit_code in (0, 2), done.output
    return json.loads(done.stdout)


async def doubted(stack: Settings, host: str) -> list[str]:
    """Return what `riffle doctor --vectors` finds about the pages of a host, and not about pages of other tests."""
    findings = (await run(stack, "doctor", "--vectors", "--stored", "2000"))["findings"]
    return [line for finding in findings for line in finding["details"] if f"//{host}/" in line]


async def test_a_page_about_which_the_stores_differ_is_named(stack: Settings, stores: Stores, fresh_name: str) -> None:
    host = f"{fresh_name.replace('_', '-')}.test"
    urls = [f"https://{host}/{metal}" for metal in OTHER_METALS]
    async with ParsePool(1) as pool:
        journey = WholeJourney(pool, stores)
        for at, (url, metal) in enumerate(zip(urls, OTHER_METALS, strict=True)):
            await journey.fetch(url, body(metal).replace(" lot ", f" lot {fresh_name} "), at)
            row = FrontierUrl(page_id(url), url, host, "done", at=START, why="seed", outcome="ok")
            await put_urls(stores.frontier, [replace(row, generation=START + at * SECOND)])

    async def named() -> list[str]:
        findings = (await run(stack, "doctor", "--stored", "2000"))["findings"]
        return [line for finding in findings for line in finding["details"] if f"//{host}/" in line]

    assert await named() == []
    collection = await stores.vectors.active()
    assert collection is not None
    await stores.vectors.remove_page(collection, page_id(urls[0]))
    await stores.ledger.erase(page_id(urls[1]), START + 86_400 * SECOND)
    lines = sorted(await named())
    assert [line.partition(": ")[0] for line in lines] == sorted(urls[:2])
    assert any("the index has 0 of them. riffle reindex --recompute" in line for line in lines)
    assert any("the ledger says unknown" in line for line in lines)


async def test_a_page_with_foreign_answers_is_found_and_mended(
    stack: Settings, stores: Stores, fresh_name: str
) -> None:
    host = f"{fresh_name.replace('_', '-')}.test"
    urls = [f"https://{host}/{metal}" for metal in METALS]
    spoiled = replace(stores, embedder=Spoiled(stores), chains=Spoiled(stores))
    async with ParsePool(1) as pool:
        journey = WholeJourney(pool, spoiled)
        for at, (url, metal) in enumerate(zip(urls, METALS, strict=True)):
            # The other tests of this run have texts of their own.
            await journey.fetch(url, body(metal).replace(" lot ", f" lot {fresh_name} "), at)

    (found,) = await doubted(stack, host)
    assert found.partition(",")[0] == urls[2]
    assert "links" in found
    assert "vectors in the index" in found

    recomputed = (await run(stack, "reindex", "--recompute", "--host", host))["recomputed"]
    mended = [recomputed[name] for name in ("links", "blob_vectors", "index_vectors")]
    assert (recomputed["compared"], mended) == (5, [[urls[2]]] * 3)

    assert await doubted(stack, host) == []
    again = (await run(stack, "reindex", "--recompute", "--host", host))["recomputed"]
    assert [again[name] for name in ("links", "blob_vectors", "index_vectors")] == [[], [], []]

    record = await stores.pages.get(page_id(urls[2]))
    statements = decode_statements(await stores.blobs.get(record.indexed.statements_ref))
    vectors = decode_vectors(await stores.blobs.get(record.indexed.vectors_ref), record.indexed.statements_ref)
    right = await stores.embedder.embed([statement.in_context for statement in statements.statements], "passage")
    assert (vectors * right).sum(axis=1).min() > 0.999
