"""An HTTP exchange as it was: both heads, the server's address, and the body as it was received. Pure.

Layout 1 is the MessagePack array [1, head of the request, head of the response, address, received body]. The received
body is missing (None) where it is the same as the page's stored body: without a content coding. Chunks are joined.
"""

from dataclasses import dataclass, replace
from typing import Any

import msgpack

from streams.errors import PoisonError

VERSION = 1
_FIELDS = 4


@dataclass(frozen=True, slots=True)
class Exchange:
    """A request and its response."""

    request: bytes
    """The request line and the headers, with the empty line behind them."""
    response: bytes
    """The status line and all headers, with the empty line behind them."""
    address: str
    """The address of the server; empty if it is not known."""
    received: bytes | None = None
    """The body with its content coding. None: the same as the stored body."""


class InvalidExchange(PoisonError):
    """Bytes that are not an exchange in a layout of this release."""


def encode_exchange(exchange: Exchange) -> bytes:
    layout = [VERSION, exchange.request, exchange.response, exchange.address, exchange.received]
    packed: bytes = msgpack.packb(layout, use_bin_type=True)
    return packed


def decode_exchange(content: bytes) -> Exchange:
    """Return the exchange of these bytes. Raises InvalidExchange."""
    try:
        version, *fields = msgpack.unpackb(content, raw=False)
        if version != VERSION:
            raise InvalidExchange(f"exchange layout {version}; this release reads layout {VERSION}")
        return Exchange(*fields[:_FIELDS])
    except (ValueError, TypeError, msgpack.UnpackException) as error:
        raise InvalidExchange(f"{len(content)} bytes are not an exchange: {error}") from error


def head_of(first_line: str, headers: Any) -> bytes:
    """Return a head: its first line and its headers, pairs of bytes, as they came."""
    lines = [first_line.encode("latin-1", "replace"), *(name + b": " + value for name, value in headers)]
    return b"\r\n".join(lines) + b"\r\n\r\n"


def without_secrets(exchange: Exchange, names: frozenset[str]) -> Exchange:
    """Return an exchange behind a sign-in: without the request's headers of these names (in lower case), and without
    the cookies that the server sets."""
    request = _without(exchange.request, names)
    return replace(exchange, request=request, response=_without(exchange.response, frozenset({"set-cookie"})))


def _without(head: bytes, names: frozenset[str]) -> bytes:
    first, *lines = head.split(b"\r\n")
    kept = [line for line in lines if line.partition(b":")[0].strip().lower().decode("latin-1") not in names]
    return b"\r\n".join([first, *kept])
