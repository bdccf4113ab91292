"""A small web with answers, behind the real gateway with the model server of the tests, or without a model."""

from typing import Any

from fastapi import FastAPI

from schemas.ids import page_id
from streams.pages.document.codec import encode_document
from streams.pages.normalize import normalize
from streams.settings import AnswersSettings
from streams.stores.opener import Stores
from streams.stores.page_record import Normalized
from tests.model_server import ModelServer
from tests.stages.gateway_fakes import gateway, searchable, statement

QUESTION = "How high is the Quill tower?"
UNKNOWN = "Who paints the Quill tower?"
TABLE_QUESTION = "How many steps has the Bell tower, open on weekends?"
_TABLE = """<title>Towers and their steps</title><article><h1>Towers and their steps</h1>
<p>This table lists the towers that visitors can climb, with the number of their steps.</p><table>
<thead><tr><th>Tower</th><th>Steps</th><th>Open</th></tr></thead><tbody>
<tr><td>Quill tower</td><td>640</td><td>every day</td></tr><tr><td>Bell tower</td><td>412</td><td>weekends</td></tr>
<tr><td>Water tower</td><td>190</td><td>closed</td></tr></tbody></table></article>"""
_TOWER, _GUIDE, _TABLES = "https://quill.example/tower", "https://guide.example/quill", "https://towers.example/steps"
_CLOSED = "https://closed.example/quill"
_PAGES: tuple[tuple[str, str, tuple[tuple[str, str], ...]], ...] = (
    (
        _TOWER,
        "The Quill tower",
        (
            ("sentence", "The Quill tower is 120 metres high."),
            ("sentence", "The Quill tower was finished in 1931 and repaired in 1998."),
            ("sentence", "A lift has led to the upper terrace of the tower since 1954."),
        ),
    ),
    (
        _GUIDE,
        "A guide to Quill",
        (
            ("sentence", "The Quill tower is 118 metres high."),
            ("sentence", "Visitors climb the Quill tower by 640 steps, and the view is wide."),
        ),
    ),
    (
        _TABLES,
        "Towers and their steps",
        (("row", "Tower: Bell tower | Steps: 412 | Open: weekends"),),
    ),
    (_CLOSED, "Quill in pictures", (("sentence", "Pictures show how high the tower stands above the river."),)),
)


async def answers_app(server: ModelServer | None, model: AnswersSettings | None = None) -> FastAPI:
    """The gateway over this web. `model` is another one than that of the tests."""
    own = model or (AnswersSettings(url=server.url, deadline_seconds=20) if server else AnswersSettings())
    return gateway(await add_answers(await searchable(answer_rows())), answers=own, deadline_seconds=20)


def answer_rows() -> list[dict[str, Any]]:
    """Return the statements of the web with answers."""
    return [
        statement(url, text, title=title) | {"kind": kind, "published": "2025-03-14" if url == _TOWER else ""}
        for url, title, texts in _PAGES
        for kind, text in texts
    ]


async def add_answers(made: Stores) -> Stores:
    """Add the records of its pages to stores that hold its statements."""
    table = await made.blobs.put(encode_document(normalize(_TABLE, url=_TABLES).document))
    for url, _, _ in _PAGES:
        directives = ("noai",) if url == _CLOSED else ()
        row = {"url": url, "generation": 1, "directives": directives, "document_ref": table if url == _TABLES else ""}
        await made.pages.put(page_id(url), Normalized.of_row(row), 1)
    return made
