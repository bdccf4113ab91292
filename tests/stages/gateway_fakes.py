"""Stores for the gateway's tests: with a few pages in them, slow, or dead; and the app over them."""

import asyncio
from collections.abc import Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Literal
from uuid import uuid5

import httpx2
from fastapi import FastAPI

from benchmarks.labelling.app import add_labelling
from schemas import Event
from schemas.ids import page_id
from streams.errors import StoreUnavailable
from streams.gateway.app import create_app
from streams.gateway.changes.stream import Follow
from streams.gateway.context import GatewayContext
from streams.gateway.http import templates
from streams.gateway.http.metrics import Metrics
from streams.gateway.labs.explainer import Explainer
from streams.gateway.search.beside import sources_of
from streams.gateway.search.query_events import Publish
from streams.models.protocols import ModelInfo
from streams.search.core import AnySource
from streams.search.options import SearchOptions
from streams.seen.stores import SeenStores
from streams.settings import (
    AccessSettings,
    AnswersSettings,
    CrawlSettings,
    GatewaySettings,
    QueriesSettings,
    SearchSettings,
    Settings,
)
from streams.stores.opener import Stores, memory_stores
from streams.stores.protocols import Point, SparseVector
from streams.stores.statement_payload import StatementPayload
from streams.vectors.bm25 import document_vector
from streams.writing.crawls import Publisher
from tests.stages.lazy_routes import use_lazy_routes

use_lazy_routes()

OWN_SCRIPT = templates.templates().get_template(templates.SCRIPT).render()
"""The script of the search box, as it stands in pages."""
NOW = datetime(2026, 3, 4, 5, 6, 7, tzinfo=UTC)


async def searchable(statements: Sequence[dict[str, Any]]) -> Stores:
    """Memory stores that hold these statements."""
    stores = memory_stores()
    collection = await stores.vectors.ensure(await stores.embedder.info())
    vectors = await stores.embedder.embed([each["text"] for each in statements], "passage")
    points = [
        Point(
            uuid5(each["page_id"], each["text"]),
            vector.tolist(),
            document_vector(each["text"], each["context"]),
            payload_of(each | {"ordinal": number}),
        )
        for number, (each, vector) in enumerate(zip(statements, vectors, strict=True))
    ]
    await stores.vectors.upsert(collection, points)
    return stores


async def with_vectors(made: Stores, model: ModelInfo, points: Sequence[tuple[str, str, list[float]]]) -> Stores:
    """The stores with these statements in their index: address, text and vector of each, without words."""
    collection = await made.vectors.ensure(model)
    filled = []
    for url, text, vector in points:
        row = statement(url, text)
        filled.append(Point(uuid5(row["page_id"], text), vector, SparseVector((), ()), payload_of(row)))
    await made.vectors.upsert(collection, filled)
    return made


def statement(
    url: str, text: str, *, title: str = "A page", context: Sequence[str] = (), language: str = "en"
) -> dict[str, Any]:
    return {
        "page_id": page_id(url),
        "url": url,
        "host": httpx2.URL(url).host,
        "title": title,
        "text": text,
        "context": list(context),
        "language": language,
        "ordinal": 0,
        "generation": 1,
    }


def payload_of(row: dict[str, Any]) -> StatementPayload:
    """The stored form of a `statement`."""
    return StatementPayload.of_row(row | {"page_id": str(row["page_id"])})


class Dead:
    """A store whose every call fails."""

    def __getattr__(self, name: str) -> Any:
        async def fail(*args: Any, **keywords: Any) -> Any:
            raise StoreUnavailable(f"{name}: connection refused at 127.0.0.1:1")

        return fail


class Hanging:
    """A store that never answers."""

    def __getattr__(self, name: str) -> Any:
        async def hang(*args: Any, **keywords: Any) -> Any:
            await asyncio.Event().wait()

        return hang


def gateway(
    stores: Stores,
    *,
    deadline_seconds: float = 2.0,
    sent: list[Event] | None = None,
    explainer: Explainer | None = None,
    languages: tuple[str, ...] = (),
    publish: Publish | None = None,
    public_url: str = "",
    allowed_hosts: tuple[str, ...] = ("riffle.test",),
    profile: Literal["local", "production"] = "local",
    admin_port: int | None = None,
    limits: dict[str, Any] | None = None,
    sources: Sequence[AnySource] | None = None,
    queries: QueriesSettings | None = None,
    access: AccessSettings | None = None,
    answers: AnswersSettings | None = None,
    writes: Publisher | None = None,
    follow: Follow | None = None,
) -> FastAPI:
    """The real app over these stores. Query events are appended to `sent`. A test of labs closes its explainer.

    It corrects no words unless `limits` say so: the vocabulary takes three seconds of CPU time to load.
    """

    async def append(event: Event, cause: str | None = None) -> None:
        if sent is not None:
            sent.append(event)

    given = {"spelling": False, **(limits or {})}
    constants = {name: value for name, value in given.items() if name in SEARCH_CONSTANTS}
    settings = Settings(
        profile=profile,
        crawl=CrawlSettings(contact_url="https://riffle.test/contact"),
        queries=queries or QueriesSettings(),
        access=access or AccessSettings(),
        answers=answers or AnswersSettings(),
        gateway=GatewaySettings(
            deadline_seconds=deadline_seconds,
            languages=languages,
            public_url=public_url,
            allowed_hosts=allowed_hosts,
            admin_port=admin_port,
            **{name: value for name, value in given.items() if name not in SEARCH_CONSTANTS},
        ),
    )
    app = create_app(
        settings,
        stores,
        publish=publish or append,
        writes=writes,
        follow=follow,
        clock=lambda: NOW,
        explainer=explainer,
        sources=lambda context: sources_of(context) if sources is None else sources,
    )
    change_options(app, **constants)
    return app


SEARCH_CONSTANTS = SearchOptions.model_fields.keys() - SearchSettings.model_fields.keys()
"""The options of a search that are no settings."""


def change_options(app: FastAPI, **constants: Any) -> None:
    """Change options of the app's searches that are no settings."""
    searcher = app.state.gateway.search.searcher
    searcher.options = searcher.options.model_copy(update=constants)


def labelling(stores: Stores, folder: Path, **options: Any) -> FastAPI:
    """The app with the pages that people label on. `folder`: where the labels are. `options` are those of `gateway`."""
    app = gateway(stores, **{"deadline_seconds": 30, **options})
    add_labelling(app, GatewayContext(Settings(), SeenStores(stores), Metrics(), lambda: NOW), folder)
    return app


TYPED = {"accept": "text/html", "sec-fetch-mode": "navigate", "sec-fetch-site": "none"}
"""The headers of a browser for an address that a person typed, or chose from bookmarks."""
FOLLOWED = {**TYPED, "sec-fetch-site": "same-origin"}
"""The headers of a browser for a link of the gateway's own pages."""


def client(app: FastAPI) -> httpx2.AsyncClient:
    """A client of the app, in process. An exception of the app becomes its response."""
    return httpx2.AsyncClient(
        transport=httpx2.ASGITransport(app, raise_app_exceptions=False), base_url="http://riffle.test"
    )


def without_script(page: str) -> str:
    """The page without its own script, whose hash the policy of the page names."""
    return page.replace(f"<script>{OWN_SCRIPT}</script>", "")
