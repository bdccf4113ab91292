"""A middleware by which the local server answers only programs of this machine, not pages in its browsers.

A web page may send requests to any port of loopback, and read the answers if its own host name resolves to loopback
(DNS rebinding). Such a request has a foreign `Origin`, or a foreign `Host`.
"""

from urllib.parse import urlsplit

from starlette.responses import JSONResponse
from starlette.types import ASGIApp, Receive, Scope, Send

LOCAL_NAMES = frozenset({"127.0.0.1", "localhost", "::1"})


class LoopbackOnly:
    """A middleware that answers 403 to requests with a foreign Host or Origin."""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "http":
            headers = {name: value.decode("latin-1") for name, value in scope["headers"]}
            for name, address in (("Host", headers.get(b"host")), ("Origin", headers.get(b"origin"))):
                if address is not None and not is_local(address):
                    error = {"status": {"error": f"Forbidden: the {name} is not this machine"}, "time": 0.0}
                    await JSONResponse(error, 403)(scope, receive, send)
                    return
        await self._app(scope, receive, send)


def is_local(address: str) -> bool:
    """Return True for `http://NAME:PORT` or `NAME:PORT` of this machine."""
    try:
        host = urlsplit(address if "//" in address else f"//{address}").hostname
    except ValueError:
        return False
    return host in LOCAL_NAMES
