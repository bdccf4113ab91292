"""The cookies of preferences, and of the message that the next page shows once. Both are signed (itsdangerous).

A cookie is set only in answer to a form that a person has sent. Without a key there are no cookies. Over HTTPS their
names begin with `__Host-` (RFC 6265bis, section 4.1.3.2), so no other host of the domain can plant one. Libraries that
trim a name more than browsers do would read such a name from another one, so cookies are read here.
"""

import json
from collections.abc import Sequence
from datetime import timedelta
from typing import Any, NamedTuple

from itsdangerous import BadSignature, URLSafeTimedSerializer
from starlette.datastructures import Headers, MutableHeaders
from starlette.requests import Request
from starlette.responses import Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from streams.gateway.http.keys import derive_keys
from streams.gateway.http.languages import negotiate
from streams.gateway.preferences.model import InvalidPreferences, Preferences, read_json

PREFERENCES = "riffle_preferences"
MESSAGE = "riffle_message"
MAX_AGE = timedelta(days=365)
MESSAGE_AGE = timedelta(minutes=1)
MAX_MESSAGE_CHARS = 300
_HOST = "__Host-"


class Note(NamedTuple):
    """The message for the next page, with the rule of a site to go back to."""

    says: str
    site: str = ""
    """Empty: there is nothing to undo."""
    rule: str = ""


def cookie_name(name: str, *, is_secure: bool) -> str:
    return f"{_HOST}{name}" if is_secure else name


def read_cookies(headers: Headers) -> dict[str, str]:
    """Return the cookies of a request by their names, as browsers send them (RFC 6265bis, section 5.8.3): of two with
    one name the first."""
    found: dict[str, str] = {}
    for pair in ";".join(headers.getlist("cookie")).split(";"):
        name, sign, value = pair.partition("=")
        if sign:
            found.setdefault(name.strip(" \t"), value.strip(" \t"))
    return found


class Cookies:
    """The reader and writer of both cookies."""

    def __init__(self, secrets: Sequence[str], *, is_secure: bool = False) -> None:
        """`is_secure`: people ask over HTTPS, also if a proxy passes their requests on over HTTP."""
        self._is_secure = is_secure
        # itsdangerous signs with the last key, and accepts all.
        values = [key.value for key in reversed(derive_keys(secrets, "preferences"))]
        self._signers = {name: URLSafeTimedSerializer(values, salt=name) for name in (PREFERENCES, MESSAGE) if values}

    @property
    def are_on(self) -> bool:
        """True if there is a key."""
        return bool(self._signers)

    def read(self, request: Request) -> Preferences:
        """Return the preferences of a request; the defaults without a cookie, or with one that is not valid."""
        text = self._read(request, PREFERENCES, MAX_AGE)
        try:
            return read_json(text) if text else Preferences()
        except InvalidPreferences:
            return Preferences()

    def read_message(self, request: Request) -> Note | None:
        """Return the message for this page, or None."""
        text = self._read(request, MESSAGE, MESSAGE_AGE)
        try:
            return Note(*json.loads(text)) if text else None
        except (ValueError, TypeError):  # written by another release
            return None

    def write(self, request: Request, response: Response, preferences: Preferences) -> None:
        """Set the cookie of preferences; remove it if the preferences are the defaults."""
        if preferences == Preferences():
            response.delete_cookie(self._named(request, PREFERENCES), **self._attributes(request))
            return
        self._write(request, response, PREFERENCES, preferences.to_json(), MAX_AGE)

    def write_message(self, request: Request, response: Response, says: str, *, site: str = "", rule: str = "") -> None:
        """Set the cookie with the message for the next page. `site` and `rule` are what an undo sets."""
        text = json.dumps(Note(says[:MAX_MESSAGE_CHARS], site, rule))
        self._write(request, response, MESSAGE, text, MESSAGE_AGE)

    def _read(self, request: Request, name: str, max_age: timedelta) -> str:
        value = read_cookies(request.headers).get(self._named(request, name))
        if not value or name not in self._signers:
            return ""
        try:
            found = self._signers[name].loads(value, max_age=int(max_age.total_seconds()))
        except BadSignature:
            return ""
        return found if isinstance(found, str) else ""

    def _write(self, request: Request, response: Response, name: str, text: str, max_age: timedelta) -> None:
        value = self._signers[name].dumps(text)
        assert isinstance(value, str)
        named = self._named(request, name)
        response.set_cookie(named, value, max_age=int(max_age.total_seconds()), **self._attributes(request))

    def _attributes(self, request: Request) -> dict[str, Any]:
        return {"path": "/", "httponly": True, "samesite": "lax", "secure": self._asks_securely(request)}

    def _named(self, request: Request, name: str) -> str:
        return cookie_name(name, is_secure=self._asks_securely(request))

    def _asks_securely(self, request: Request) -> bool:
        return self._is_secure or request.url.scheme == "https"


def personal_values(cookies: Cookies, request: Request) -> dict[str, Any]:
    """Return the values of each page that follow from the cookies of a request."""
    own = cookies.read(request)
    return {
        "page_language": own.page_language or negotiate(request.headers.get("accept-language", "")),
        "theme": own.theme,
        "keys": own.keys,
        "message": cookies.read_message(request),
        "has_preferences": own != Preferences(),
    }


def accepted_by(own: Preferences, request: Request) -> str:
    """Return the languages that a reader reads, as `Accept-Language` names them: the one of the pages comes first."""
    header = request.headers.get("accept-language", "")
    return f"{own.page_language},{header}" if own.page_language else header


def forget_message(name: str) -> str:
    """Return the header that removes the cookie of the message, which has this name."""
    return f'{name}=""; HttpOnly; Max-Age=0; Path=/; SameSite=lax{"; Secure" if name.startswith(_HOST) else ""}'


_MESSAGES, _PREFERENCES = (
    {cookie_name(name, is_secure=is_secure) for is_secure in (False, True)} for name in (MESSAGE, PREFERENCES)
)


class PersonalPages:
    """Middleware that adds `Vary: Accept-Language, Cookie` to pages, which caches keep by both.

    A page with preferences is private, one with a message is not kept.
    """

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        cookies = read_cookies(Headers(scope=scope))

        async def send_personal(message: Message) -> None:
            if message["type"] == "http.response.start":
                headers = MutableHeaders(scope=message)
                if headers.get("content-type", "").startswith("text/html"):
                    headers.add_vary_header("Accept-Language")
                    headers.add_vary_header("Cookie")
                    if messages := _MESSAGES & cookies.keys():
                        for name in sorted(messages):
                            headers.append("Set-Cookie", forget_message(name))
                        headers["Cache-Control"] = "no-store"
                    elif _PREFERENCES & cookies.keys():
                        headers["Cache-Control"] = "private, no-cache"
            await send(message)

        await self._app(scope, receive, send_personal)
