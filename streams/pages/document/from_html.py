"""Reads the fields that `document.to_html` wrote beside the text of a document.

The page is a stranger's text like any other, so the type and size of each field are checked.
"""

import re
from collections.abc import Callable, Iterable
from typing import Any

import orjson

from streams.pages.document.model import DATA_TYPE, Block, Container, Link

MAX_CHARS = 50_000
"""Maximum length of one text (characters): a URL of 4,096 characters that are all escaped."""
MAX_LINKS = 5_000
"""Maximum number of links."""
MAX_DEPTH = 20
"""Maximum depth of structured data."""
_CELLS = ("td", "th")
_SCRIPT = re.compile("(?:[A-Z][a-z]{3})?")
_DATE = re.compile(r"\d{4}-\d\d-\d\d(?:T[\d:.+-]{5,30})?")


def read_written_fields(scripts: Iterable[tuple[str, str]]) -> dict[str, Any] | None:
    """Return the fields of a document that are not part of its text; None if the page has no valid fields.

    Any page may contain such a script. It gains nothing, because a page may declare the same fields in other ways.
    """
    script = next((text for kind, text in scripts if kind == DATA_TYPE), None)
    if script is None:
        return None
    try:
        data = orjson.loads(script)
    except orjson.JSONDecodeError:
        return None
    if not isinstance(data, dict) or not all(name in data and fits(data[name]) for name, fits in _FIELDS.items()):
        return None
    return {**{name: data[name] for name in _FIELDS}, "links": tuple(Link(*link) for link in data["links"])}


def apply_written_fields(
    written: dict[str, Any], containers: tuple[Container, ...], blocks: tuple[Block, ...]
) -> dict[str, Any]:
    """Return the fields of a document, with the languages of its blocks, and its containers with the spans of cells."""
    known = {index: (sure, script) for index, sure, script in written["spoken"]}
    spoken = tuple(
        block._replace(confidence=known[index][0] if block.language else 0.0, script=known[index][1])
        if index in known
        else block
        for index, block in enumerate(blocks)
    )
    fields = {name: value for name, value in written.items() if name not in ("spoken", "spanned")}
    return {**fields, "blocks": spoken, "containers": _with_spans(containers, written["spanned"])}


def _with_spans(containers: tuple[Container, ...], spanned: list[list[int]]) -> tuple[Container, ...]:
    """Return the containers, with the earlier cells that span other cells."""
    found = list(containers)
    for index, by in spanned:
        if by < index < len(found) and found[index].tag in _CELLS and found[by].tag in _CELLS:
            found[index] = found[index]._replace(spanned_by=by)
    return tuple(found)


def _is_text(value: Any) -> bool:
    return isinstance(value, str) and len(value) <= MAX_CHARS


def _is_address(value: Any) -> bool:
    return _is_text(value) and value.startswith(("https://", "http://"))


def _is_date(value: Any) -> bool:
    return isinstance(value, str) and _DATE.fullmatch(value) is not None


def _is_share(value: Any) -> bool:
    return isinstance(value, float) and 0 <= value <= 1


def _is_list_of(fits: Callable[[Any], bool]) -> Callable[[Any], bool]:
    return lambda value: isinstance(value, list) and all(map(fits, value))


def _is_card(value: Any) -> bool:
    if not isinstance(value, dict):
        return False
    return all(_is_text(inner) or _are_texts(inner) for inner in value.values())


def _is_item(value: Any) -> bool:
    return isinstance(value, dict) and _is_text(value.get("type")) and bool(value["type"]) and _is_plain(value, 0)


def _is_plain(value: Any, depth: int) -> bool:
    if isinstance(value, dict | list):
        inner = value.values() if isinstance(value, dict) else value
        return depth < MAX_DEPTH and all(_is_plain(part, depth + 1) for part in inner)
    return not isinstance(value, str) or _is_text(value)


def _is_link(value: Any) -> bool:
    if not isinstance(value, list) or len(value) != 4:
        return False
    url, text, nofollow, in_content = value
    return _is_address(url) and isinstance(text, str) and isinstance(nofollow, bool) and isinstance(in_content, bool)


def _is_script(value: Any) -> bool:
    return isinstance(value, str) and _SCRIPT.fullmatch(value) is not None


def _is_spoken(value: Any) -> bool:
    if not isinstance(value, list) or len(value) != 3:
        return False
    index, sure, script = value
    return type(index) is int and _is_share(sure) and _is_script(script)


def _is_spanned(value: Any) -> bool:
    return isinstance(value, list) and len(value) == 2 and all(type(each) is int and each >= 0 for each in value)


def _are_facts(value: Any) -> bool:
    return isinstance(value, dict) and all(name in _FACTS and _FACTS[name](fact) for name, fact in value.items())


def _are_links(value: Any) -> bool:
    return isinstance(value, list) and len(value) <= MAX_LINKS and all(map(_is_link, value))


def _are_page_starts(value: Any) -> bool:
    """Return whether a value lists the first block of each page: numbers that never become smaller."""
    if not isinstance(value, list) or len(value) > MAX_LINKS or not all(type(start) is int for start in value):
        return False
    return value == sorted(value) and (not value or value[0] >= 0)


def _are_anchors(value: Any) -> bool:
    """Return whether a value lists blocks, each once and in their order, with an anchor."""
    if not isinstance(value, list) or not all(isinstance(each, list) and len(each) == 2 for each in value):
        return False
    blocks = [block for block, _ in value]
    is_in_order = all(type(block) is int for block in blocks) and blocks == sorted(set(blocks))
    return is_in_order and all(map(_is_text, (anchor for _, anchor in value)))


def _are_blocks(value: Any) -> bool:
    """Return whether a value lists blocks, each once and in their order."""
    return _is_list_of(lambda each: type(each) is int and each >= 0)(value) and value == sorted(set(value))


_are_texts = _is_list_of(_is_text)
_FACTS: dict[str, Callable[[Any], bool]] = {
    "author": _is_text,
    "published": _is_date,
    "modified": _is_date,
    "site_name": _is_text,
    "image": _is_address,
    "canonical": _is_address,
    "feeds": _is_list_of(_is_address),
    "breadcrumbs": _are_texts,
    "licence": _is_text,
    "type": _is_text,
    "format": _is_text,
    "pages": _are_page_starts,
    "anchors": _are_anchors,
    "doubtful": _are_blocks,
    "unread_chars": lambda value: type(value) is int and value >= 0,
    "structured": _is_list_of(_is_item),
    "opengraph": _is_card,
    "twitter": _is_card,
}
_FIELDS: dict[str, Callable[[Any], bool]] = {
    "title": _is_text,
    "description": _is_text,
    "language": _is_text,
    "language_confidence": _is_share,
    "script": _is_script,
    "spoken": _is_list_of(_is_spoken),
    "spanned": _is_list_of(_is_spanned),
    "facts": _are_facts,
    "links": _are_links,
}
