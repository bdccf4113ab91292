"""The answer to a request with a foreign `Host`: a problem that names the setting."""

from collections.abc import Collection, Mapping
from typing import Any

from fastapi import FastAPI
from starlette.requests import Request
from starlette.responses import Response

from streams.allowed_hosts import AllowedHosts
from streams.gateway.http.presentation import clean_line
from streams.gateway.http.problems import foreign_host
from streams.gateway.http.responses import respond
from streams.gateway.http.templates import Views

PATHS_BY_ADDRESS = frozenset({"/healthz", "/readyz", "/metrics"})
"""Paths that may be asked for by any IP address: Kubernetes and Prometheus know no name of a pod."""
MAX_SHOWN_CHARS = 100


def install(app: FastAPI, names: Collection[str], views: Views) -> None:
    """Make the app answer only requests to these names. Without names it answers all."""

    def refuse(scope: Mapping[str, Any], _header: str, host: str) -> Response:
        # A request without the refused header: its URL could not be read with some hosts, such as `[`.
        headers = [(name, value) for name, value in scope["headers"] if name != b"host"]
        request = Request({**scope, "headers": headers})
        return respond(request, foreign_host(clean_line(host)[:MAX_SHOWN_CHARS]), views)

    if names:
        app.add_middleware(AllowedHosts, names=names, refuse=refuse, paths_by_address=PATHS_BY_ADDRESS)
