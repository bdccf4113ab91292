"""The sandbox tasks of pages: HTML to a `PageOutcome`, HTML to an `Explanation`, a sitemap to its URLs.

Request: MessagePack of [url, headers, body, version]. Answer: MessagePack of the fields of the result.
"""

from collections.abc import Callable
from dataclasses import asdict
from typing import Any
from urllib.parse import urlsplit

import msgpack
from selectolax.lexbor import SelectolaxError

from streams.charset import load_codecs
from streams.crawl.robots import parse
from streams.crawl.sitemaps import ROBOTS_PATH, Sitemap, read_sitemap
from streams.errors import Refused
from streams.pages.content.classifier import content_model
from streams.pages.formats.reading import warm_up_files
from streams.pages.quirks import load_quirks
from streams.pages.sandbox.explaining import explain_removals
from streams.pages.sandbox.explanation import Explanation
from streams.pages.sandbox.normalizing import normalize_to_outcome
from streams.pages.sandbox.worker_messages import PageOutcome, pack_page
from streams.pages.text.language import load_language_model
from streams.robot_name import ROBOT
from streams.sandbox.limits import MemoryRefused

_SHORT_OF_MEMORY = "parser"
"""The rule of a refusal by the parser. It only refuses for lack of memory."""
_WARM_UP_PAGE = b"""<title>This page loads all models and libraries before the limits</title>
<script type="application/ld+json">{"@type": "Thing", "name": "a thing"}</script><p>Text.
<div itemscope itemtype="https://schema.org/Thing"><p itemprop=name>a thing</div>
<div vocab="https://schema.org/" typeof=Thing><p property=name>a thing</div>"""


def normalize_page(request: bytes) -> bytes:
    """Normalize a page. Raises Refused."""
    return _answer(normalize_to_outcome, request)


def explain_page(request: bytes) -> bytes:
    """List the texts that were removed from a page. Raises Refused."""
    return _answer(explain_removals, request)


def read_urls(request: bytes) -> bytes:
    """Read the URLs of a sitemap or a feed, or the sitemaps that a robots.txt names."""
    url, headers, body, _ = msgpack.unpackb(request, raw=False)
    is_robots = urlsplit(url).path == ROBOTS_PATH
    found = (
        Sitemap(sitemaps=parse(body, ROBOT).sitemaps)
        if is_robots
        else read_sitemap(body, headers.get("content-type", ""))
    )
    return _pack(asdict(found))


def warm_up() -> None:
    """Load all models, libraries and codecs: the process opens no file later."""
    content_model()
    load_codecs()
    load_language_model()
    load_quirks()
    request = pack_page(_WARM_UP_PAGE, "https://start.example/", {})
    normalize_page(request)
    explain_page(request)
    read_urls(request)
    for kind, file in warm_up_files().items():
        normalize_page(pack_page(file, "https://start.example/", {"content-type": kind}))


def _answer(read: Callable[..., PageOutcome | Explanation], request: bytes) -> bytes:
    url, headers, body, version = msgpack.unpackb(request, raw=False)
    made = {"version": version} if version else {}
    try:
        return _pack(read(body, url=url, headers=headers, **made).to_fields())
    except SelectolaxError as error:  # all selectors are constants, so it had no memory to read one
        raise MemoryRefused(_SHORT_OF_MEMORY, str(error)) from None
    except Refused as refusal:
        is_memory = refusal.rule == _SHORT_OF_MEMORY
        raise (MemoryRefused(refusal.rule, refusal.detail) if is_memory else refusal) from None


def _pack(fields: dict[str, Any]) -> bytes:
    packed: bytes = msgpack.packb(fields, use_bin_type=True)
    return packed
