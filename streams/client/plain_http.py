"""HTTP clients for servers that an operator or a person named: they take answers without content codings only.

A library decodes before anybody counts the bytes: of 33 KB it makes two gigabytes (CWE-409). So these clients ask for
`identity`, and refuse an answer that has another coding before its body is read. The crawler decodes by itself, with
limits (`streams.crawl.fetch.content_encoding`).
"""

from collections.abc import Mapping
from typing import Any

import httpx2

IDENTITY = {"Accept-Encoding": "identity"}
_NONE = ("", "identity")


def plain_client(**options: Any) -> httpx2.Client:
    """Return a client with these options of `httpx2.Client`."""
    return httpx2.Client(**_with_identity(options), event_hooks={"response": [_refuse_coded]})


def plain_async_client(**options: Any) -> httpx2.AsyncClient:
    """Return a client with these options of `httpx2.AsyncClient`."""
    return httpx2.AsyncClient(**_with_identity(options), event_hooks={"response": [_refuse_coded_later]})


def coding_fault(headers: Mapping[str, str]) -> str:
    """Return why an answer with these headers is refused; empty without a content coding, and for `identity`."""
    coding = headers.get("content-encoding", "").strip().lower()
    return f"the answer has the coding {coding[:40]!r}, which was not asked for" if coding not in _NONE else ""


def _with_identity(options: dict[str, Any]) -> dict[str, Any]:
    headers = httpx2.Headers(options.get("headers"))
    headers.update(IDENTITY)
    return {**options, "headers": headers}


def _refuse_coded(response: httpx2.Response) -> None:
    """Raise DecodingError for an answer with a content coding. httpx2 calls this before it reads the body."""
    if fault := coding_fault(response.headers):
        raise httpx2.DecodingError(fault)


async def _refuse_coded_later(response: httpx2.Response) -> None:
    _refuse_coded(response)
