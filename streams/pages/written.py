"""Reads back what `streams.pages.html` wrote beside the text of a document."""

from collections.abc import Iterable
from typing import Any

import orjson

from streams.pages.document import Link
from streams.pages.facts import DATA_TYPE

_TYPES = {"title": str, "description": str, "language": str, "language_confidence": float, "facts": dict, "links": list}


def written_out(scripts: Iterable[tuple[str, str]]) -> dict[str, Any] | None:
    """The fields of a document that its text does not hold; None when the page holds none of that form.

    Any page may claim to be a document of ours. It gains nothing: its own words are taken for its own words.
    """
    script = next((text for kind, text in scripts if kind == DATA_TYPE), None)
    if script is None:
        return None
    try:
        data = orjson.loads(script)
        if not all(isinstance(data[name], kind) for name, kind in _TYPES.items()):
            return None
        links = tuple(_link(*link) for link in data["links"])
    except (orjson.JSONDecodeError, KeyError, TypeError, ValueError):
        return None
    return {**{name: data[name] for name in _TYPES}, "links": links}


def _link(url: str, text: str, nofollow: bool, in_content: bool) -> Link:
    if not (isinstance(url, str) and isinstance(text, str)):
        raise TypeError
    return Link(url, text, bool(nofollow), bool(in_content))
