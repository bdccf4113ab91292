"""A middleware by which a server answers only requests to its own names, against DNS rebinding.

A web page may send requests to any address that its browser reaches, and reads the answers if the page's own host name
resolves to that address. Such a request has the page's name in `Host`. A page that asks another origin has its own
origin in `Origin`. The middleware is plain ASGI. It does not protect against programs, which send any header they want.
"""

from collections.abc import Awaitable, Callable, Collection, Mapping, MutableMapping
from ipaddress import ip_address
from typing import Any
from urllib.parse import urlsplit

LOCAL_NAMES = frozenset({"127.0.0.1", "localhost", "::1"})
"""The names of the own machine. No name server can make a page's name one of them."""

Message = MutableMapping[str, Any]
AsgiApp = Callable[[Message, Callable[[], Awaitable[Message]], Callable[[Message], Awaitable[None]]], Awaitable[None]]
Refuse = Callable[[Mapping[str, Any], str, str], AsgiApp]
"""A function that returns the answer to a refused request, from the scope and the header's name and value."""


class AllowedHosts:
    """A middleware that refuses requests with a foreign name in one of the headers `checked`."""

    def __init__(
        self,
        app: AsgiApp,
        names: Collection[str],
        refuse: Refuse,
        *,
        checked: Collection[str] = ("Host",),
        paths_by_address: Collection[str] = (),
    ) -> None:
        """`names`: see `is_allowed`. `paths_by_address`: paths that may also be asked for by any address."""
        self._app, self._names, self._refuse = app, names, refuse
        self._headers = {name.lower().encode(): name for name in checked}
        self._paths_by_address = paths_by_address

    async def __call__(
        self,
        scope: Message,
        receive: Callable[[], Awaitable[Message]],
        send: Callable[[Message], Awaitable[None]],
    ) -> None:
        for header, value in scope["headers"] if scope["type"] == "http" else ():
            given = value.decode("latin-1")
            if header in self._headers and not self._may_pass(scope["path"], given):
                await self._refuse(scope, self._headers[header], given)(scope, receive, send)
                return
        await self._app(scope, receive, send)

    def _may_pass(self, path: str, given: str) -> bool:
        return is_allowed(given, self._names) or (path in self._paths_by_address and is_address(given))


def is_allowed(given: str, names: Collection[str]) -> bool:
    """Return True if `NAME`, `NAME:PORT` or `http://NAME:PORT` has one of the names.

    The name `*.example.org` allows all names below `example.org`, and `*` allows any.
    """
    host = host_of(given)
    return host in names or "*" in names or any(f"*.{parent}" in names for parent in _parents(host))


def is_address(given: str) -> bool:
    """Return True if the host is an IP address. A page that was opened by an address has no name to rebind."""
    try:
        ip_address(host_of(given))
    except ValueError:
        return False
    return True


def host_of(given: str) -> str:
    """Return the host of a header's value in lower case, without port. Empty if there is none."""
    try:
        return (urlsplit(given if "//" in given else f"//{given}").hostname or "").removesuffix(".")
    except ValueError:
        return ""


def _parents(host: str) -> list[str]:
    labels = host.split(".")
    return [".".join(labels[start:]) for start in range(1, len(labels))]
