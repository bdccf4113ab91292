"""The gateway's app: the wiring of its parts alone, so that tests run the same app over the memory stores."""

from dataclasses import dataclass

from fastapi import FastAPI

from streams.gateway.context import Clock, GatewayContext
from streams.gateway.health import health_routes
from streams.gateway.http import openapi, responses
from streams.gateway.http.metrics import Metrics
from streams.gateway.http.middleware import HeadersAndMetrics
from streams.gateway.http.static_routes import static_routes
from streams.gateway.http.templates import Views
from streams.gateway.labs.explainer import Explainer
from streams.gateway.labs.routes import labs_routes
from streams.gateway.page.api import page_api_routes
from streams.gateway.page.html import page_html_routes
from streams.gateway.search.api import search_api_routes
from streams.gateway.search.html import search_html_routes
from streams.gateway.search.query_events import Publish
from streams.gateway.search.service import SearchService
from streams.settings import Settings
from streams.stores.opener import Stores


@dataclass(frozen=True, slots=True)
class Gateway:
    """The parts of an app that are closed at the end."""

    search: SearchService
    explainer: Explainer

    async def close(self) -> None:
        """Wait for the query events that are being sent, and end the process that explains pages."""
        await self.search.drain()
        await self.explainer.close()


def create_app(
    settings: Settings,
    stores: Stores,
    *,
    publish: Publish | None,
    clock: Clock,
    explainer: Explainer | None = None,
) -> FastAPI:
    """The gateway over these stores. The fields of `stores` may be filled, or exchanged, while it runs.

    `publish` sends query events; with None they are not sent. The caller closes `app.state.gateway` at the end.
    """
    context = GatewayContext(settings, stores, Metrics(), clock)
    gateway = Gateway(SearchService(context, publish), explainer or Explainer())
    views = Views()
    app = FastAPI(title="Riffle", docs_url=None, redoc_url=None, openapi_url=None)
    app.state.gateway = gateway
    for router in (
        search_api_routes(gateway.search),
        page_api_routes(context),
        health_routes(context),
        search_html_routes(gateway.search, views),
        page_html_routes(context, views),
        labs_routes(context, gateway.explainer, views),
        static_routes(views, settings.gateway.public_url),
    ):
        app.include_router(router)
    openapi.install(app)
    responses.install(app, views)
    app.add_middleware(HeadersAndMetrics, metrics=context.metrics)
    return app
