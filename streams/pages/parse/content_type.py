"""What can be read as HTML: HTML, and plain text, which becomes one block of it."""

import html
from collections.abc import Mapping

from streams.errors import Refused

HTML_TYPES = frozenset({"", "text/html", "application/xhtml+xml"})


def as_html(body: bytes, headers: Mapping[str, str]) -> bytes:
    """The body as HTML. `headers` have lower-case names. Raises Refused for a type that can't be read."""
    kind = media_type(headers)
    if kind == "text/plain":
        return b"<pre>" + html.escape(body.decode("utf-8", "replace"), quote=False).encode()
    if kind not in HTML_TYPES:
        raise Refused("type", f"{kind} is not HTML")
    return body


def media_type(headers: Mapping[str, str]) -> str:
    """Lower case, without parameters; empty when the answer didn't say."""
    return headers.get("content-type", "").partition(";")[0].strip().lower()
