"""An example of every response, for the OpenAPI document. A test validates each against its schema."""

from typing import Any

from streams.gateway.http.problems import (
    KINDS,
    MEDIA_TYPE,
    Problem,
    foreign_host,
    internal,
    records_unavailable,
    search_unavailable,
)

Responses = dict[int | str, dict[str, Any]]
"""The answers of a route by their status, as OpenAPI describes them."""
_PAGE = "0d8a1b5e-53c4-5be2-a0de-3c4c4ba1f6ab"
_URL = "https://sqlite.org/wal.html"

SEARCH: dict[str, Any] = {
    "query": "write-ahead log site:sqlite.org",
    "text": "write-ahead log",
    "operators": [
        {
            "name": "site",
            "text": "site:sqlite.org",
            "value": "sqlite.org",
            "query_without": "write-ahead log",
        }
    ],
    "languages": [],
    "page": 1,
    "per_page": 10,
    "has_next": True,
    "next": "AXNhbHRzYWx0AAAAAAAAAABpp7xGAAIAAQAAq6urq6urWzYBGA",
    "results": [
        {
            "page_id": _PAGE,
            "url": _URL,
            "title": "Write-Ahead Logging",
            "host": "sqlite.org",
            "language": "en",
            "breadcrumbs": ["sqlite.org", "wal.html"],
            "statements": [
                {
                    "id": "b4a04c7e-4b8c-5f43-8f7a-0a1f3b7f5c11",
                    "text": "WAL is significantly faster in most scenarios.",
                    "context": ["Overview"],
                    "highlights": [],
                    "score": 0.5,
                }
            ],
            "similar": {
                "count": 1,
                "more": False,
                "pages": [
                    {"page_id": "5e0cbb0c-2d2c-5bfb-8f43-8d3f1d6e5a55", "url": "https://www2.sqlite.org/wal.html"}
                ],
            },
            "why": f"/api/v1/pages/{_PAGE}",
            "score": 0.5,
        }
    ],
    "partial": True,
    "reasons": [
        {"part": "dense", "detail": "The embedding model took too long; meaning was not searched, words were."}
    ],
    "took_ms": 812.4,
    "explain": {
        "parts": {"dense": "failed", "sparse": "ok", "index": "ok"},
        "timings_ms": {"terms_ms": 0.1, "embed_ms": 800.2, "retrieve_ms": 11.9, "similar_ms": 2.6},
        "model": "",
        "fusion": "",
    },
}

NO_QUERY = Problem("query-empty", "No query was given.", "Type the words that you are looking for.", "q")
NO_SEARCH = search_unavailable("The index does not answer.")
NO_RECORDS = records_unavailable("The store of page records does not answer.")
INVALID_URL = Problem(
    "invalid-url",
    "Scheme: ftp is not http or https.",
    "Give one like `https://sqlite.org/wal.html`, or a page's id.",
    "url",
)
PANEL: dict[str, Any] = {
    "id": "Q101038",
    "label": "Albedo",
    "description": "ratio of how much light is reflected back from a body",
    "summary": "Albedo is the fraction of sunlight that is diffusely reflected by a body.",
    "summary_url": "https://en.wikipedia.org/wiki/Albedo",
    "summary_licence": "CC BY-SA 4.0",
    "facts": [
        {
            "label": "Named after",
            "property": "P138",
            "values": [{"text": "whiteness"}],
            "source": "https://www.wikidata.org/wiki/Q101038#P138",
        }
    ],
    "related": [{"id": "Q525", "label": "Sun", "description": "star at the centre of the Solar System"}],
    "sources": [
        {
            "name": "Wikidata",
            "url": "https://www.wikidata.org/wiki/Q101038",
            "licence": "CC0 1.0",
            "licence_url": "https://creativecommons.org/publicdomain/zero/1.0/",
        }
    ],
    "confidence": 0.98,
}
ENTITY: dict[str, Any] = {"query": "albedo", "panel": PANEL}

_TYPE = (
    "The kind of problem, as `urn:riffle:problem:<kind>`. The kinds are "
    + ", ".join(f"`{kind}`" for kind in KINDS)
    + ". Version 1 may gain kinds: handle one that you don't know by its status."
)
PROBLEM_SCHEMA: dict[str, Any] = {
    "title": "Problem",
    "description": "Problem details, RFC 9457.",
    "type": "object",
    "required": ["type", "title", "status"],
    "properties": {
        "type": {"type": "string", "format": "uri", "description": _TYPE},
        "title": {"type": "string"},
        "status": {"type": "integer"},
        "detail": {"type": "string", "description": "What happened this time."},
        "instance": {"type": "string", "description": "The path of the request."},
        "hint": {"type": "string", "description": "What to do."},
        "parameter": {"type": "string", "description": "The parameter at fault."},
    },
}


def json_response(description: str, example: dict[str, Any]) -> dict[str, Any]:
    return {"description": description, "content": {"application/json": {"example": example}}}


def problem_responses(path: str, *problems: tuple[str, Problem]) -> Responses:
    """Return the problems of a path by their status, each with its description and an example."""
    schema = {"$ref": "#/components/schemas/Problem"}
    return {
        problem.status: {
            "description": description,
            "content": {MEDIA_TYPE: {"schema": schema, "example": problem.to_json(path)}},
        }
        for description, problem in problems
    }


ACCESS_PROBLEMS = (
    ("No key, or a wrong one", Problem("key-refused", "The key has expired.")),
    ("The key does not allow this", Problem("scope-missing", "The key does not have the scope `search`.")),
    ("The budget is spent", Problem("too-many-requests", "The budget of work is spent: of this minute.")),
    ("The store of keys does not answer", records_unavailable("The store of keys does not answer.")),
)
"""The problems of every request that may need a key."""
EVERYWHERE = problem_responses(
    "/api/v1/search",
    ("The request is for a name that is not this gateway's", foreign_host("evil.example")),
    ("A fault in the gateway", internal()),
)
"""The problems of every request."""

PAGE: dict[str, Any] = {
    "page_id": _PAGE,
    "url": _URL,
    "title": "Write-Ahead Logging",
    "status": "indexed",
    "state": {"status": "indexed", "detail": "", "statements": 171, "next_step": "none"},
    "says": "Indexed: 171 statements are searchable.",
    "next_step": "Nothing to do: searches find it.",
    "duplicates": [],
    "timeline": [
        {
            "id": "c9a3c3f2-7c43-5a4e-9c55-4a6b3a3e1d10",
            "at": "2026-03-04T05:06:07.000008Z",
            "topic": "pages.indexed",
            "source": "/riffle/index",
            "outcome": "Indexed: 171 statements are searchable",
            "data": {"page_id": _PAGE, "url": _URL, "generation": 1772600767000000, "statements": 171},
        }
    ],
    "older_transitions": 0,
    "statements": [
        {
            "id": "b4a04c7e-4b8c-5f43-8f7a-0a1f3b7f5c11",
            "text": "WAL is significantly faster in most scenarios.",
            "context": ["Overview"],
        }
    ],
    "parts": {"indexed": {"statements": 171, "model": "sbert", "model_version": "1"}},
    "partial": False,
    "missing": [],
}

SUGGEST: dict[str, Any] = {
    "query": "write-a",
    "suggestions": [
        {"text": "write-ahead logging", "language": "en"},
        {"text": "write-ahead log file", "language": "en"},
    ],
}

READY: dict[str, Any] = {"status": "ready", "stores": {"records": "ok", "vectors": "ok", "models": "ok"}}
NOT_READY: dict[str, Any] = {
    "status": "unavailable",
    "stores": {"records": "ok", "vectors": "not reachable", "models": "ok"},
}
METRICS = 'riffle_gateway_requests_total{method="GET",route="/api/v1/search",status="200"} 12.0\n'
