"""Pages and files that are the same for everybody: `/help`, `/privacy`, static files, robots.txt, and OpenSearch.

`/help` shows what can be typed into the search box; the operators come from their table, so the page names all of them.
`/privacy` says what this gateway stores about people who search; docs/concepts/privacy.md says the same to operators.
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

from fastapi import APIRouter, Request
from starlette.responses import HTMLResponse, PlainTextResponse, Response

from streams.gateway.http.templates import Views
from streams.search.query_language.operators import OPERATORS, Operator
from streams.settings import Settings
from streams.stores.protocols import StoredSuggestion

CACHE = {"Cache-Control": "public, max-age=300"}
QUESTIONS: Sequence[str] = (
    "how do readers and writers work at the same time?",
    "could a crash lose my data?",
    "what is the difference between a thread and a process?",
)
"""Examples of whole questions, until the index has some of its own."""
QUICK_QUESTIONS = ("15% of 80", "5 miles in km", "time in Tokyo", "days until 24 December")
"""Examples of each kind of quick check."""
PARAGRAPH = (
    "My laptop lost power while a program was saving its file. Now the file is empty, though the program said before "
    "that it had saved. What can a program do so that either the old or the new content is there after a crash?"
)
"""An example of a query that is a paragraph."""
SEVERAL = '"virtual environment" site:python.org -conda'
"""An example of a query with several operators."""
_CODE = re.compile(r"`([^`]+)`")
_SUBJECTS = {
    "-phrase": "python {}",
    "site": "{} lists",
    "-site": "lists {}",
    "lang": "{} fluss",
    "filetype": "manual {}",
    "pagetype": "soup {}",
    "prefer": "water pump {}",
    "after": "release {}",
    "before": "release {}",
    "intitle": "{}",
    "inurl": "{} python",
}
"""The words around an operator in its example, by the operator's name."""
_EXAMPLES = {
    "phrase": ('"write-ahead log"',),
    "-phrase": ("-snake", '-"monty python"'),
    "site": ("site:python.org", "site:docs.python.org/3"),
    "-site": ("-site:example.org",),
    "lang": ("lang:de",),
    "filetype": ("filetype:pdf",),
    "pagetype": ("pagetype:recipe",),
    "prefer": ("prefer:recent",),
    "after": ("after:2024-05",),
    "before": ("before:2025",),
    "intitle": ("intitle:index", 'intitle:"release notes"'),
    "inurl": ("inurl:tutorial",),
}
"""Examples of operators, by the name. Other operators are shown with the examples of their row."""


@dataclass(frozen=True, slots=True)
class OperatorHelp:
    """The help for one operator."""

    examples: tuple[str, ...]
    """Queries with the operator."""
    meaning: str
    """Its effect on the results. Code stands between backticks."""


def operators_help(known: Sequence[StoredSuggestion] = ()) -> tuple[OperatorHelp, ...]:
    """Return the help for all operators, in the order of their table. `known`: queries that the index answers."""
    own = _own_examples(known[0]) if known else {}
    return tuple(
        OperatorHelp(
            own.get(each.name) or tuple(_SUBJECTS.get(each.name, "{}").format(one) for one in _examples_of(each)),
            each.meaning,
        )
        for each in OPERATORS
    )


def _own_examples(known: StoredSuggestion) -> dict[str, tuple[str, ...]]:
    """Return examples of operators that find pages of the index, as far as its sites are not named, by the name."""
    text = known.text
    return {
        "phrase": (f'"{text}"',),
        "site": (f"{text} site:example.org",),
        "-site": (f"{text} -site:example.org",),
        "lang": (f"{text} lang:{known.language}",) if known.language else (),
        "prefer": (f"{text} prefer:recent",),
        "after": (f"{text} after:2020-05",),
        "before": (f"{text} before:2025",),
        "intitle": (f"intitle:{max(text.split(), key=len)}",),
    }


def _examples_of(operator: Operator) -> Sequence[str]:
    """Return the operator's examples for people, or the code of its examples in Markdown."""
    return _EXAMPLES.get(operator.name) or _CODE.findall(operator.examples)


class Examples(Protocol):
    """The queries that an index answers."""

    async def examples(self, language: str) -> list[StoredSuggestion]:
        """Return some, the best first; none if the index has none, or they are not known yet. Raises nothing."""


def help_routes(views: Views, known: Examples | None) -> APIRouter:
    """Return the route. `known`: queries that the index answers."""
    router = APIRouter(include_in_schema=False)

    @router.get("/help")
    async def help_page(request: Request) -> Response:
        found = await known.examples(views.language(request)) if known else []
        several = f'"{found[0].text}" -site:example.org prefer:recent' if found else SEVERAL
        content = views.render(
            "help.html",
            request,
            questions=[(each.text, each.language) for each in found] or [(text, "en") for text in QUESTIONS],
            quick_questions=QUICK_QUESTIONS,
            paragraph="" if found else PARAGRAPH,
            operators=operators_help(found),
            several=several,
        )
        return HTMLResponse(content, headers=CACHE)

    return router


def privacy_routes(settings: Settings, views: Views) -> APIRouter:
    router = APIRouter(include_in_schema=False)

    @router.get("/privacy")
    async def privacy(request: Request) -> Response:
        own = settings.gateway
        values = {
            "published": own.publish_queries,
            "collected": settings.queries.collect and bool(own.keys),
            "asks_model": bool(settings.answers.url),
            "counts_addresses": _counts_addresses(settings),
            "min_people": settings.queries.min_people,
        }
        return HTMLResponse(views.render("privacy.html", request, **values))

    return router


def _counts_addresses(settings: Settings) -> bool:
    """Return whether budgets of addresses without a key are stored."""
    access, answers = settings.access, settings.answers
    has_budget = bool(access.anonymous_per_minute or access.anonymous_per_day)
    return has_budget or bool(answers.url and answers.per_person)


_KEPT_OUT = ("/search", "/sites/", "/act", "/page", "/labs/", "/api/")
ROBOTS = "User-agent: *\n" + "".join(f"Disallow: {path}\n" for path in _KEPT_OUT)
"""The gateway's robots.txt. Results come from other sites' pages: other search engines should crawl those pages."""
_DAY = {"Cache-Control": "public, max-age=86400"}


def static_routes(views: Views, public_url: str) -> APIRouter:
    """Return the routes. `public_url` is the gateway's address for people, or empty if it is not known."""
    router = APIRouter(include_in_schema=False)

    @router.get("/static/{name}")
    async def static(name: str) -> Response:
        return views.static.response(name)

    @router.get("/favicon.ico")
    async def favicon() -> Response:
        return views.static.response(views.static.address("riffle.svg").rpartition("/")[2])

    @router.get("/robots.txt")
    async def robots() -> Response:
        return PlainTextResponse(ROBOTS, headers=_DAY)

    @router.get("/opensearch.xml")
    async def opensearch(request: Request) -> Response:
        # Without a configured address the Host header decides: a shared cache must not keep an address of one client.
        headers = _DAY if public_url else {"Cache-Control": "no-store"}
        base = (public_url or str(request.base_url)).rstrip("/")
        content = views.render("opensearch.xml", request, base=base)
        return Response(
            content,
            media_type="application/opensearchdescription+xml",
            headers={**headers, "Vary": "Accept-Language, Cookie" if public_url else "Accept-Language, Cookie, Host"},
        )

    return router
