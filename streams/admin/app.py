"""The app of operators: its routes with the gateway's headers, problems and checks of names, and its server."""

import random
import secrets
from datetime import UTC, datetime

import structlog
import uvicorn
from fastapi import FastAPI

from schemas.envelope import utc_from_micros
from streams.admin.access import sign_in_with
from streams.admin.actions import Actions, AuditLog
from streams.admin.figures import Reader
from streams.admin.jobs import Jobs
from streams.admin.routes import admin_routes, format_ago, format_span
from streams.allowed_hosts import LOCAL_NAMES
from streams.crawl.host_quality import describe_host_quality
from streams.errors import UsageError
from streams.gateway.http import middleware, responses
from streams.gateway.http.about import static_routes
from streams.gateway.http.connections import LimitedProtocol
from streams.gateway.http.metrics import Metrics
from streams.gateway.http.middleware import HeadersAndMetrics, content_security_policy
from streams.gateway.http.requests import answer_head
from streams.gateway.http.templates import Views
from streams.maintenance.frontier_hosts import COUNTED_URLS, describe_order
from streams.settings import Settings
from streams.stores.opener import Stores, open_stores

KEY_BYTES = 18

log = structlog.get_logger(__name__)


HOST, PORT = "127.0.0.1", 8090
"""Address and port to listen on, unless the command names others."""


def key_of(settings: Settings) -> tuple[str, bool]:
    """Return the password of operators, and whether it was made now. Raises UsageError in production without one."""
    if settings.admin.key:
        return settings.admin.key.get_secret_value(), False
    if settings.profile == "production":
        raise UsageError("admin.key is not set. Set RIFFLE_ADMIN__KEY to a secret of 24 characters or more")
    return secrets.token_urlsafe(KEY_BYTES), True


def create_admin_app(settings: Settings, reader: Reader, actions: Actions, key: str, host: str = HOST) -> FastAPI:
    """Return the app. The caller closes the jobs at the end."""
    views = Views()
    views.share(format_ago=format_ago, format_span=format_span, describe_order=describe_order)
    views.share(describe_host_quality=describe_host_quality)
    views.share(for_operators=True)
    views.share(utc=utc_from_micros, counted_urls=COUNTED_URLS)
    app = FastAPI(title="Riffle admin", docs_url=None, redoc_url=None, openapi_url=None)
    app.state.reader = reader
    for router in (admin_routes(reader, actions, views, sign_in_with(key)), static_routes(views, "")):
        answer_head(router.routes)
        app.include_router(router)
    responses.install(app, views)
    middleware.install_host_check(app, {*LOCAL_NAMES, host, *settings.admin.allowed_hosts}, views)
    app.add_middleware(HeadersAndMetrics, metrics=Metrics(), policy=content_security_policy(views.style_hashes))
    return app


MAX_CONNECTIONS = 100
"""Maximum connections at once: a few operators, and probes."""


def now_utc() -> datetime:
    return datetime.now(UTC)


async def serve_admin(settings: Settings, key: str, host: str = HOST, port: int = PORT) -> None:
    """Serve until SIGINT or SIGTERM. Raises StoreUnavailable if the records don't answer."""
    async with open_stores(settings, ["records", "vectors"], use="read") as stores:
        reader, actions = parts(settings, stores)
        app = create_admin_app(settings, reader, actions, key, host)
        config = uvicorn.Config(
            app,
            host=host,
            port=port,
            log_config=None,
            access_log=False,
            server_header=False,
            proxy_headers=False,
            limit_concurrency=MAX_CONNECTIONS,
            http=LimitedProtocol,
            ws="none",
        )
        try:
            await uvicorn.Server(config).serve()
        finally:
            await actions.jobs.close()


def parts(settings: Settings, stores: Stores) -> tuple[Reader, Actions]:
    """Return the reader of the figures, and the actions, of one process."""
    reader = Reader(settings, stores, now_utc, random.Random())  # noqa: S311 - draws a sample
    return reader, Actions(settings, AuditLog(settings), Jobs(now_utc), now_utc)
