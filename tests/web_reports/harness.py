"""The crawler, asked as the situations of public reports ask it: one function for each question.

The tests beside this module have a row for each report, with its address and the value that is right.
"""

import tempfile
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from streams.crawl.fetch.http import Answer, close_session, get, limits_of, open_session
from streams.crawl.robots import Rules, parse
from streams.pages.sandbox.normalizing import normalize_to_outcome
from streams.pages.sandbox.worker_messages import PageOutcome
from streams.robot_name import ProductToken
from tests.hostile.servers import BadServer, Script, bad_server

HOST = "bad.example"


async def fetch_many(
    scripts: dict[str, Script], urls: Sequence[str], *, purpose: Any = "page", **settings: Any
) -> tuple[list[Answer], BadServer]:
    """Ask a server over TLS for some URLs, one after the other. `scripts`: what it does, by path."""
    with tempfile.TemporaryDirectory() as folder:
        async with bad_server(Path(folder), scripts, host=HOST) as server:
            crawl = server.settings(HOST, **{"timeout_seconds": 5, **settings})
            session = open_session(crawl)
            try:
                limits = limits_of(crawl)
                answers = [
                    await get(session, url, purpose=purpose, limits=limits, monotonic=time.monotonic) for url in urls
                ]
                return answers, server
            finally:
                await close_session(session)


async def fetch1(script: Script, path: str = "/x", *, purpose: Any = "page", **settings: Any) -> Answer:
    """Ask a server for one URL."""
    (answer,), _ = await fetch_many({path: script}, [f"https://{HOST}{path}"], purpose=purpose, **settings)
    return answer


def norm(
    html: str | bytes, url: str = "https://site.example/page", headers: Mapping[str, str] | None = None
) -> PageOutcome:
    """Return what the normalize stage makes of a page. `headers`: None for HTML in UTF-8."""
    body = html.encode() if isinstance(html, str) else html
    return normalize_to_outcome(body, url=url, headers=headers or {"content-type": "text/html; charset=utf-8"})


def robots(text: str | bytes, agent: str = "RiffleBot") -> Rules:
    """Return the rules of a robots.txt for a crawler."""
    return parse(text if isinstance(text, bytes) else text.encode(), ProductToken(agent))


def allowed(text: str | bytes, path: str, agent: str = "RiffleBot") -> bool:
    """Return whether a robots.txt allows a path."""
    return robots(text, agent).allowed(f"https://site.example{path}")
