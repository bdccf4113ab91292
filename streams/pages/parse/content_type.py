"""Accepts the content types that can be read: HTML, and plain text, which becomes one block."""

import html
from collections.abc import Mapping

from streams.errors import Refused

HTML_TYPES = frozenset({"", "text/html", "application/xhtml+xml"})


def as_html(body: bytes, headers: Mapping[str, str]) -> bytes:
    """Return the body as HTML. `headers` have lower-case names. Raises Refused for any other type."""
    kind = media_type(headers)
    if kind == "text/plain":
        return b"<pre>" + html.escape(body.decode("utf-8", "replace"), quote=False).encode()
    if kind not in HTML_TYPES:
        raise Refused("type", f"{kind} is not HTML")
    return body


def media_type(headers: Mapping[str, str]) -> str:
    """Return the media type in lower case, without parameters; empty if the response has none."""
    return headers.get("content-type", "").partition(";")[0].strip().lower()
