"""The text of a page whose scripts show it: the body that its structured data states (schema.org's `articleBody`)."""

from collections.abc import Iterator
from typing import Any

from streams.pages.metadata.script_json import parse_json
from streams.pages.parse.head import Head, is_json_ld

MIN_TIMES = 2
"""Minimum length of a stated body, as a multiple of the words of the page."""
MAX_DEPTH = 6
MAX_VALUES = 5_000
"""Maximum depth, and number of values, of structured data that are looked at."""


def stated_body(head: Head, shown_words: int) -> list[str]:
    """Return the paragraphs of the stated body, if it is the text of a page with this number of words; else none."""
    bodies = (
        value for kind, text in head.scripts if is_json_ld(kind) for value in _bodies(parse_json(text), [MAX_VALUES])
    )
    body = max(bodies, key=len, default="")
    if len(body.split()) <= MIN_TIMES * shown_words:
        return []
    return [" ".join(part.split()) for part in body.split("\n") if part.strip()]


def _bodies(value: Any, left: list[int], depth: int = 0) -> Iterator[str]:
    """Yield the bodies in a value of JSON. `left`: the number of values that may still be looked at."""
    left[0] -= 1
    if depth > MAX_DEPTH or left[0] < 0:
        return
    if isinstance(value, dict):
        body = value.get("articleBody")
        if isinstance(body, str):
            yield body
        for inner in value.values():
            if isinstance(inner, dict | list):
                yield from _bodies(inner, left, depth + 1)
    elif isinstance(value, list):
        for inner in value:
            yield from _bodies(inner, left, depth + 1)
