"""A small web to search in: pages of SQLite's documentation (public domain), and some written for the tests."""

import asyncio
import contextlib
import html
import json
import socket
from collections.abc import AsyncIterator, Sequence
from pathlib import Path
from typing import Any

import uvicorn
from fastapi import FastAPI

from schemas.ids import page_id
from streams.stores.opener import Stores
from streams.stores.protocols import Fingerprint
from tests.stages.gateway_fakes import searchable, statement
from tests.stages.gateway_life import document, indexed, refused
from tests.stages.gateway_statements import chunked

_PAGES = Path(__file__).parent / "data" / "sqlite_pages.json"
_OTHERS: tuple[dict[str, Any], ...] = (
    {
        "url": "https://fluesse.example/lexikon/stromschnelle/",
        "title": "Stromschnelle",
        "language": "de",
        "statements": [
            {
                "context": ["Begriff"],
                "text": "Eine Stromschnelle ist eine flache Strecke, auf der ein Fluss rasch über Steine fließt.",
            },
            {
                "context": ["Begriff"],
                "text": "Im Protokoll einer Messung steht, wie tief und wie schnell das Wasser war.",
            },
        ],
    },
    {
        "url": "https://rivers.example/guide/reading%20water/riffles?part=2",
        "title": "Reading water: riffles, runs and pools",
        "language": "en",
        "statements": [
            {"context": ["Riffles"], "text": "A riffle is a shallow stretch where a stream runs fast over stones."},
            {
                "context": [
                    "Riffles",
                    "What lives there",
                    "A riffle is a shallow stretch where a stream runs fast over stones.",
                ],
                "text": "The broken surface mixes air into the water, so riffles hold more insects than pools.",
            },
            {
                "context": ["Keeping a log"],
                "text": "Write the depth ahead of each visit in a log, and compare it after rain.",
            },
        ],
    },
)
_CODE = """BEGIN;
INSERT INTO log(depth) VALUES (3);
SAVEPOINT before_rain;
INSERT INTO log(depth) VALUES (7);
ROLLBACK TO before_rain;
COMMIT;"""
_MORE: tuple[dict[str, Any], ...] = (
    {
        "url": "https://rivers.example/guide/log.html",
        "title": "A log in a database",
        "language": "en",
        "published": "2025-11-03",
        "statements": [
            {
                "context": ["Savepoints", "This listing keeps the first insert and takes the second one back:"],
                "text": _CODE,
                "kind": "code",
            },
            {
                "context": ["Savepoints"],
                "text": "A savepoint takes back what follows it, and the insert before it stays.",
            },
        ],
    },
    {
        "url": "https://nahr.example/%D8%B3%D8%AC%D9%84",
        "title": "سجل النهر",
        "language": "ar",
        "published": "2024",
        "statements": [
            {"context": ["القياس"], "text": "الكتابة في السجل أولاً تحفظ البيانات عند انقطاع الكهرباء."},
            {"context": ["القياس"], "text": "بعد المطر يُكتب عمق الماء في السجل ويُقارن بقيمة اليوم السابق."},
        ],
    },
    {
        "url": "https://kawa.example/ja/%E6%97%A5%E8%AA%8C",
        "title": "川の日誌の書き方",
        "language": "ja",
        "published": "2024-05",
        "statements": [
            {"context": ["記録"], "text": "雨のあとは、水の深さをログに書き込み、前の日の値と比べます。"},
            {"context": ["記録"], "text": "書き込みを先にしておくと、電源が切れても記録は残ります。"},
        ],
    },
)

COPIES = (
    "https://www2.sqlite.org/wal.html",
    "https://sqlite.example/docs/wal.html?version=3.45&from=mirror",
    "https://archive.example/mirrors/of/public-domain/documentation/sqlite.org/2024-01/wal.html",
)
"""Duplicates of the first page."""


def pages() -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = json.loads(_PAGES.read_text())
    return [*found, *_OTHERS, *_MORE]


async def demo_stores(others: Sequence[dict[str, Any]] = ()) -> Stores:
    """All pages are searchable, and the statements `others`. One has a whole history and duplicates, one is refused."""
    rows = [
        {
            **statement(
                page["url"], each["text"], title=page["title"], context=each["context"], language=page["language"]
            ),
            **({"kind": each["kind"]} if "kind" in each else {}),
            **({"published": page["published"]} if "published" in page else {}),
        }
        for page in pages()
        for each in page["statements"]
    ]
    stores = await searchable([*rows, *others])
    wal = pages()[0]
    texts = [each["text"] for each in wal["statements"]]
    vectors = await chunked(stores, wal["url"], as_html(wal))
    shown = document(wal["url"], wal["title"], *texts)
    await indexed(stores, shown, as_html(wal), statements=len(texts), vectors=vectors)
    for url in (wal["url"], *COPIES):
        await stores.fingerprints.put(Fingerprint(page_id(url), "same", 1, url, 1), 1)
        await stores.fingerprints.set_representative(page_id(url), page_id(wal["url"]), 1)
    await refused(stores, "https://sqlite.org/private.html")
    return stores


def as_html(page: dict[str, Any]) -> str:
    """A web page around the statements, with what web pages have around them."""
    texts = "".join(
        f"<h2>{html.escape(each['context'][-1])}</h2><p>{html.escape(each['text'])}</p>" for each in page["statements"]
    )
    return (
        f"<!doctype html><html lang=en><title>{html.escape(page['title'])}</title>"
        "<nav><a href=/>Home</a> <a href=/about.html>About</a> <a href=/docs.html>Documentation</a></nav>"
        f"<main><h1>{html.escape(page['title'])}</h1>{texts}</main><footer>This page was last updated today.</footer>"
    )


@contextlib.asynccontextmanager
async def served(app: FastAPI) -> AsyncIterator[str]:
    """The app on a free port of loopback. Gives its address."""
    with socket.create_server(("127.0.0.1", 0)) as listening:
        server = uvicorn.Server(uvicorn.Config(app, log_config=None, access_log=False, lifespan="off"))
        # _serve: the public one also takes the process's signals, which are the test runner's.
        running = asyncio.create_task(server._serve([listening]))
        try:
            yield f"http://127.0.0.1:{listening.getsockname()[1]}"
        finally:
            server.should_exit = True
            await running
