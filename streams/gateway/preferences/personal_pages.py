"""ASGI middleware for pages that depend on cookies: caches keep them apart, and a message is shown once."""

from http.cookies import SimpleCookie

from starlette.datastructures import Headers, MutableHeaders
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from streams.gateway.preferences.cookies import MESSAGE, PREFERENCES, forget_message


class PersonalPages:
    """Middleware that adds `Vary: Cookie` to pages. A page with preferences is private, one with a message not kept."""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        cookies = SimpleCookie(Headers(scope=scope).get("cookie", ""))

        async def send_personal(message: Message) -> None:
            if message["type"] == "http.response.start":
                headers = MutableHeaders(scope=message)
                if headers.get("content-type", "").startswith("text/html"):
                    headers.add_vary_header("Cookie")
                    if MESSAGE in cookies:
                        headers.append("Set-Cookie", forget_message())
                        headers["Cache-Control"] = "no-store"
                    elif PREFERENCES in cookies:
                        headers["Cache-Control"] = "private, no-cache"
            await send(message)

        await self._app(scope, receive, send_personal)
