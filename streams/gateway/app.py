"""Puts the gateway together: pure wiring, so that tests run the same app over the memory stores."""

from fastapi import FastAPI

from streams.gateway.context import Clock, Publish, Site
from streams.gateway.health import operation_routes
from streams.gateway.http import openapi, responses
from streams.gateway.http.metrics import Metrics
from streams.gateway.http.middleware import Surroundings
from streams.gateway.http.static_routes import furniture_routes
from streams.gateway.http.templates import Views
from streams.gateway.labs.explanation import Explainer
from streams.gateway.page.api import page_routes
from streams.gateway.page.html import life_pages
from streams.gateway.search.api import search_routes
from streams.gateway.search.html import search_pages
from streams.gateway.search.searcher import Searcher
from streams.settings import Settings
from streams.stores.opener import Stores
from streams.vectors.bm25 import query_vector


def create_app(
    settings: Settings,
    stores: Stores,
    *,
    publish: Publish | None,
    clock: Clock,
    explainer: Explainer | None = None,
) -> FastAPI:
    """The gateway over these stores. `stores` may be filled, or exchanged, while it runs.

    `publish` sends query events (None: they are not sent). Who made the app closes `app.state.site` at the end.
    """
    metrics = Metrics()
    searcher = Searcher(
        stores,
        query_vector,
        deadline_seconds=settings.gateway.deadline_seconds,
        on_failure=metrics.store_failed,
    )
    site = Site(settings, stores, searcher, metrics, publish, clock, explainer or Explainer())
    views = Views()
    app = FastAPI(title="Riffle", docs_url=None, redoc_url=None, openapi_url=None)
    app.state.site = site
    for router in (
        search_routes(site),
        page_routes(site),
        operation_routes(site),
        search_pages(site, views),
        life_pages(site, views),
        furniture_routes(views),
    ):
        app.include_router(router)
    openapi.install(app)
    responses.install(app, views)
    app.add_middleware(Surroundings, metrics=metrics)
    return app
