"""Chooses a page's title, without the name of its site."""

import re
import unicodedata

from streams.pages.metadata.items import Item, texts
from streams.pages.parse.segments import Walk

_UNSPACED = "\u2e80-\u9fff\uac00-\ud7af\uf900-\ufaff\uff66-\uff9f\u0e00-\u0e7f"
"""Letters of scripts that put no spaces around a separator."""
_SEPARATOR = re.compile(rf"\s+[|\-–—:·•»«›‹/~_]+\s+|\s*[|｜]\s*|\s+::\s+|(?<=[{_UNSPACED}])_+|_+(?=[{_UNSPACED}])")
_CLOSE = re.compile(rf"[_｜|:：·–—－]|(?<=[{_UNSPACED}])-|-(?=[{_UNSPACED}])")
"""A separator between a title and a known site name, without a space."""
_ENDS = r"[\s|｜\-–—－:：·•»«›‹/~_]+"
_BEGINNING, _ENDING = re.compile(f"^{_ENDS}"), re.compile(f"{_ENDS}$")
_CLOSED = ("｜", "_")
"""Separators after which only site names follow, even long ones."""
_WORD = re.compile(r"\w+")
MAX_HEADING_CHARS = 250


AGREEMENT = 0.25
"""Minimum similarity (Jaccard, of words) of a heading and a declared title, for the heading to be the title."""


def choose_title(title: str, card_title: str, site_name: str, page: Walk, kept: list[int], written: list[Item]) -> str:
    """Choose the heading that is similar to a declared title; else the declared title without the site's name."""
    carded, named = remove_site_name(card_title, site_name), remove_site_name(title, site_name)
    headline = next((text for item in written for text in texts(item.get("headline"))), "")
    claims = [claim for claim in (carded, named, headline) if claim]
    headings = _headings(page, kept)[:4]
    best = max(headings, key=lambda heading: _similarity(heading, claims), default="")
    if best and (not claims or _similarity(best, claims) >= AGREEMENT):
        return best
    return claims[0] if claims else ""


def remove_site_name(title: str, site_name: str) -> str:
    """Remove the site's name: `Moon landing | The Daily` -> `Moon landing`, if it is known, or the last part short."""
    parts = _SEPARATOR.split(title)
    site = _words(site_name)
    if site and len(parts) > 1:
        for index in (-1, 0):
            own = _words(parts[index])
            if own and (own <= site or site <= own) and len(own) <= len(site) + 2:
                return _remove_part(title, parts, index)
    if site and (rest := _remove_unspaced_name(title.strip(), site_name.strip())):
        return rest
    if len(parts) < 2:
        return title.strip()
    last = parts[-1]
    others = len(title) - len(last)
    is_short = len(last) <= others * 1.5 if title[:others].endswith(_CLOSED) else len(last) * 1.5 < others
    if len(last.split()) <= 4 and is_short:
        return _remove_part(title, parts, -1)
    return title.strip()


def _remove_unspaced_name(title: str, site_name: str) -> str:
    """Remove a known name without a space before the separator: `The Daily: Moon landing` -> `Moon landing`."""
    if title.startswith(site_name) and _CLOSE.match(title, len(site_name)):
        return _BEGINNING.sub("", title[len(site_name) :])
    if title.endswith(site_name):
        before = title.removesuffix(site_name).rstrip()
        if before and _CLOSE.match(title, len(before) - 1):
            return _ENDING.sub("", before)
    return ""


def _remove_part(title: str, parts: list[str], index: int) -> str:
    """Remove the first or last part of a title. Other separators are kept."""
    if index == -1:
        rest = title[: title.rindex(parts[-1])]
        return _ENDING.sub("", rest)
    rest = title[len(parts[0]) :]
    return _BEGINNING.sub("", rest)


def _headings(page: Walk, kept: list[int]) -> list[str]:
    """Return the h1 texts, first the content's; without any, the first h2 of the content."""
    tags, elements = page.tags, page.elements()
    own = frozenset(kept)
    found = [
        (index not in own, page.segments[index].text) for index, element in enumerate(elements) if tags[element] == "h1"
    ]
    if not found:
        seconds = (page.segments[index].text for index in kept if tags[elements[index]] == "h2")
        found = [(False, text) for text in [next(seconds, "")] if text]
    found.sort(key=lambda entry: entry[0])
    return [text for _, text in found if len(text) <= MAX_HEADING_CHARS]


def _similarity(heading: str, claims: list[str]) -> float:
    """Return the best Jaccard index of the heading's words and the words of a claim."""
    own = _words(heading)
    return max((len(own & other) / max(len(own | other), 1) for other in map(_words, claims)), default=0.0)


def _words(text: str) -> frozenset[str]:
    return frozenset(_WORD.findall(unicodedata.normalize("NFKC", text).lower()))
