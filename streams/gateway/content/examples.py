"""An example of each answer about the content of a page, for the OpenAPI document."""

from typing import Any

from streams.gateway.http.problems import Problem

_PAGE, _URL, _REF = "0d8a1b5e-53c4-5be2-a0de-3c4c4ba1f6ab", "https://sqlite.org/wal.html", "5f" * 32
_PATH = f"/api/v1/pages/{_PAGE}/document"
_CONTENT: dict[str, Any] = {
    "title": "Write-Ahead Logging",
    "language": "en",
    "blocks": [{"tag": "p", "text": "WAL is significantly faster in most scenarios.", "parent": -1}],
    "links": [{"url": "https://sqlite.org/", "text": "Home", "in_content": False}],
    "facts": {},
    "is_cut": False,
}
_STATEMENT: dict[str, Any] = {
    "id": "b4a04c7e-4b8c-5f43-8f7a-0a1f3b7f5c11",
    "ordinal": 0,
    "text": "WAL is significantly faster in most scenarios.",
    "context": ["Write-Ahead Logging"],
    "kind": "sentence",
    "block": 0,
    "start": 0,
    "end": 46,
}
_HEAD: dict[str, Any] = {"page_id": _PAGE, "url": _URL, "ref": _REF}
DOCUMENT = {**_HEAD, "document": _CONTENT, "untrusted": True}
STATEMENTS = {**_HEAD, "total": 283, "statements": [_STATEMENT], "next": 200, "untrusted": True}
VECTORS = {
    **_HEAD,
    "statements_ref": "6a" * 32,
    "model": "all-minilm-l6-v2/int8-openvino-2",
    "dimensions": 3,
    "total": 283,
    "vectors": [[0.80007, 0.0, -0.59998]],
    "next": 200,
}
EXTRACT = {
    "source": "index",
    "url": _URL,
    "page_id": _PAGE,
    "document": _CONTENT,
    "statements": [_STATEMENT],
    "statement_count": 283,
    "directives": [],
    "untrusted": True,
}
PROBLEM_NO_CONTENT = Problem(404, "no-content", "There is no such content of this page").to_json(_PATH)
PROBLEM_CHANGED = Problem(409, "content-changed", "The page has other content by now", parameter="ref").to_json(_PATH)
PROBLEM_NOT_FETCHED = Problem(
    502, "not-fetched", "The page could not be fetched", "robots.txt of the host does not allow it."
).to_json("/api/v1/extract")
