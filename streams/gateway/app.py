"""The gateway's apps: only the wiring of their parts, so that tests run the same apps over the memory stores.

With an admin port there are two: one for people and programs, one for operators. Otherwise one app has all.
"""

import asyncio
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass

from fastapi import APIRouter, FastAPI

from schemas.envelope import micros_from_utc
from streams.crawl.polite.client import PoliteClient
from streams.gateway.access.guard import Guard
from streams.gateway.answers.api import answer_api_routes
from streams.gateway.answers.html import AnswerSection, ask_html_routes
from streams.gateway.answers.service import ModelAnswers, open_answers
from streams.gateway.changes.hooks import hook_routes
from streams.gateway.changes.schemas import schema_routes
from streams.gateway.changes.stream import Follow, no_kafka, stream_routes
from streams.gateway.clicks.links import OutgoingLinks, click_keys
from streams.gateway.clicks.routes import click_routes
from streams.gateway.compatible.loading import PageLoader
from streams.gateway.compatible.open_webui import open_webui_routes
from streams.gateway.compatible.openai import openai_routes
from streams.gateway.compatible.searxng import searxng_routes
from streams.gateway.compatible.tavily import tavily_routes
from streams.gateway.content.api import content_api_routes, extract_routes
from streams.gateway.content.extracting import Extracting
from streams.gateway.content.reading import PageContent
from streams.gateway.content.similar import similar_html_routes, similar_routes
from streams.gateway.content.web_page import WebPages
from streams.gateway.context import Clock, GatewayContext
from streams.gateway.entities import entity_routes
from streams.gateway.health import liveness_routes, operations_routes
from streams.gateway.http import middleware, openapi, responses
from streams.gateway.http.about import help_routes, privacy_routes, static_routes
from streams.gateway.http.metrics import Metrics
from streams.gateway.http.middleware import HeadersAndMetrics, content_security_policy
from streams.gateway.http.requests import answer_head
from streams.gateway.http.templates import Views
from streams.gateway.labs.explainer import Explainer
from streams.gateway.labs.routes import labs_routes
from streams.gateway.page.routes import page_api_routes, page_html_routes
from streams.gateway.preferences.cookies import Cookies, PersonalPages, personal_values
from streams.gateway.preferences.routes import preferences_routes
from streams.gateway.research.api import research_api_routes
from streams.gateway.research.html import ResearchPage
from streams.gateway.research.service import ResearchService
from streams.gateway.search.api import feed_routes, search_api_routes
from streams.gateway.search.beside import sources_of
from streams.gateway.search.contents import contents_routes
from streams.gateway.search.html import search_html_routes
from streams.gateway.search.query_events import BackgroundEvents, Publish
from streams.gateway.search.service import SearchService
from streams.gateway.search.site_pages import site_routes
from streams.gateway.suggest.routes import suggest_routes
from streams.gateway.suggest.service import SuggestService
from streams.gateway.tools.http import ToolsEndpoint, install_tools
from streams.gateway.writing.crawls import crawl_routes
from streams.gateway.writing.pages import own_page_routes
from streams.gateway.writing.sites import site_words_routes
from streams.knowledge.lookup.source import PanelSource
from streams.search.core import AnySource
from streams.seen.stores import SeenStores
from streams.settings import Settings
from streams.stores.opener import Stores
from streams.stores.protocols import EVERYTHING, Visible
from streams.writing.crawls import Crawls, NoKafka, Publisher
from streams.writing.idempotency import Repetitions
from streams.writing.pages import OwnPages


@dataclass(slots=True)
class Gateway:
    """The parts of an app that are closed at the end."""

    search: SearchService
    explainer: Explainer
    clicks: BackgroundEvents
    guard: Guard
    web: WebPages
    suggest: SuggestService
    answers: ModelAnswers | None = None
    tools: ToolsEndpoint | None = None

    async def close(self) -> None:
        """Wait for the events that are being sent, and end the process that explains pages."""
        await self.suggest.close()
        await self.search.drain()
        await self.clicks.drain()
        await self.explainer.close()
        await self.guard.limiter.close()
        await self.web.close()
        if self.answers is not None:
            await self.answers.close()
        if self.tools:
            await self.tools.close()


def create_app(
    settings: Settings,
    stores: Stores,
    *,
    publish: Publish | None,
    clock: Clock,
    writes: Publisher | None = None,
    follow: Follow | None = None,
    explainer: Explainer | None = None,
    sources: Callable[[GatewayContext], Sequence[AnySource]] = sources_of,
) -> FastAPI:
    """Return the gateway over these stores. The fields of `stores` may be filled, or exchanged, while it runs.

    `publish` sends query events; with None they are not sent. `writes` sends what programs write, and `follow` reads
    events for them; with None, their paths answer 503. `sources` answer beside the results. The caller closes
    `app.state.gateway` at the end.
    With an admin port in the settings, `app.state.admin` is the operators' app, otherwise None.
    """
    context = GatewayContext(settings, SeenStores(stores), Metrics(), clock)
    keys = click_keys(settings.gateway)
    clicks = BackgroundEvents(publish if keys else None, context.metrics)
    guard, content = Guard(context), PageContent(context)
    web = WebPages(context, lambda: PoliteClient(settings.crawl, stores, now=lambda: micros_from_utc(clock())))
    extracting = Extracting(context, content, web)
    search = SearchService(context, publish, sources(context), people=guard.visible_to_people)
    loader = PageLoader(extracting)
    suggest = SuggestService(context, guard.visible_to_people)
    answers = open_answers(context)
    research = ResearchService(context, search, content, answers, guard)
    gateway = Gateway(search, explainer or Explainer(), clicks, guard, web, suggest, answers)
    secrets = [secret.get_secret_value() for secret in settings.gateway.keys]
    cookies = Cookies(secrets, is_secure=settings.gateway.public_url.startswith("https:"))
    has_suggestions = settings.gateway.suggestions
    views = Views(
        has_clicks=bool(keys),
        has_suggestions=has_suggestions,
        personal=lambda request: personal_values(cookies, request),
    )
    about = (
        privacy_routes(settings, views),
        help_routes(views, suggest if has_suggestions else None),
        static_routes(views, settings.gateway.public_url),
    )
    sender = writes or NoKafka()

    def now() -> int:
        return micros_from_utc(clock())

    crawls = Crawls(stores, sender, settings.crawl, now)
    repetitions = Repetitions(stores)
    public = (
        crawl_routes(context, crawls, repetitions, guard),
        stream_routes(context, guard, crawls, follow or no_kafka),
        hook_routes(context, guard, sender, repetitions),
        own_page_routes(context, OwnPages(stores, sender, settings.crawl, now), guard),
        schema_routes(),
        site_words_routes(context, guard),
        search_api_routes(gateway.search, guard),
        contents_routes(context, guard),
        feed_routes(gateway.search, guard, settings.gateway.public_url),
        similar_routes(context, content, guard, search.searcher),
        similar_html_routes(context, content, guard, search.searcher, views, cookies),
        content_api_routes(content, guard),
        extract_routes(extracting, guard),
        page_api_routes(context, guard),
        searxng_routes(search, guard),
        tavily_routes(search, loader, guard),
        open_webui_routes(search, loader, guard),
        openai_routes(context, guard),
        *([suggest_routes(gateway.suggest)] if has_suggestions else []),
        entity_routes(context, PanelSource(context.stores, settings.knowledge), views, cookies, guard),
        liveness_routes(),
        site_routes(gateway.search, guard, views),
        search_html_routes(
            gateway.search,
            views,
            OutgoingLinks(keys, clock),
            cookies,
            guard,
            AnswerSection(answers, views, settings.access.trusted_proxies) if answers else None,
        ),
        answer_api_routes(search, answers, guard, settings.access.trusted_proxies),
        research_api_routes(research, guard, settings.access.trusted_proxies),
        ask_html_routes(
            search,
            answers,
            views,
            guard,
            settings.access.trusted_proxies,
            ResearchPage(research, views, settings.access.trusted_proxies),
        ),
        preferences_routes(cookies, views, can_show_adult=not settings.gateway.hide_adult),
        *([click_routes(context, keys, clicks.send, search.asked.identify)] if keys else []),
        page_html_routes(context, views, guard),
        *about,
    )
    visible_to = guard.visible_to_people if settings.gateway.admin_port is None else _visible_to_operators
    operations = operations_routes(context, gateway.search.rehearse, lambda: asyncio.get_running_loop().time())
    admin = (operations, labs_routes(context, gateway.explainer, views, visible_to))
    if settings.gateway.admin_port is None:
        app = _app((*public, *admin), context, views, has_labs=True)
        app.state.admin = None
    else:
        app = _app(public, context, views)
        routers = (liveness_routes(), *admin, page_html_routes(context, views, guard), *about)
        app.state.admin = _app(routers, context, views, has_labs=True, is_public=False)
    app.state.gateway = gateway
    gateway.tools = install_tools(app, settings.access, settings.gateway.public_url)
    return app


async def _visible_to_operators() -> Visible:
    """Return what those see who reach the admin port: all pages."""
    return EVERYTHING


def _app(
    routers: Iterable[APIRouter],
    context: GatewayContext,
    views: Views,
    *,
    has_labs: bool = False,
    is_public: bool = True,
) -> FastAPI:
    """Return an app with these routers. `has_labs`: its pages may link to the labs pages."""
    app = FastAPI(
        title="Riffle",
        docs_url=None,
        redoc_url=None,
        openapi_url=None,
    )
    app.state.has_labs = has_labs
    for router in routers:
        # `include_router` would make each route a second time, when it is first asked for.
        app.router.routes.extend(router.routes)
    openapi.install(app, context.settings.gateway.public_url)
    answer_head(app.router.routes)
    responses.install(app, views)
    if is_public:
        middleware.install_cors(app, context.settings.gateway.cors_origins)
    middleware.install_host_check(app, context.settings.gateway_hosts, views)
    app.add_middleware(PersonalPages)
    middleware.install_compression(app)
    policy = content_security_policy(views.style_hashes, views.script_hashes)
    app.add_middleware(HeadersAndMetrics, metrics=context.metrics, policy=policy)
    return app
