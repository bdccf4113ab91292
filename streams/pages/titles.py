"""A page's title: what it is called, without the name of its site."""

import re

from streams.pages.structured import Item, texts
from streams.pages.walk import Walk

_SEPARATOR = re.compile(r"\s+[|\-–—:·•»«›‹/~]+\s+|\s*\|\s*|\s+::\s+")
_WORD = re.compile(r"\w+")
MAX_HEADING_CHARS = 250


AGREEMENT = 0.25
"""Least likeness (Jaccard, of words) of a heading and what the page calls itself, for the heading to be its title."""


def choose_title(title: str, card_title: str, site_name: str, page: Walk, kept: list[int], written: list[Item]) -> str:
    """The heading that is like the page's own title; else that title itself, without the site's name."""
    carded, named = without_site(card_title, site_name), without_site(title, site_name)
    headline = next((text for item in written for text in texts(item.get("headline"))), "")
    claims = [claim for claim in (carded, named, headline) if claim]
    headings = _headings(page, kept)[:4]
    best = max(headings, key=lambda heading: _likeness(heading, claims), default="")
    if best and (not claims or _likeness(best, claims) >= AGREEMENT):
        return best
    return claims[0] if claims else ""


def without_site(title: str, site_name: str) -> str:
    """`Moon landing | The Daily` -> `Moon landing`, when the site's name says so or it is plainly the short end."""
    parts = _SEPARATOR.split(title)
    if len(parts) < 2:
        return title.strip()
    site = _words(site_name)
    if site:
        for index in (-1, 0):
            own = _words(parts[index])
            if own and (own <= site or site <= own) and len(own) <= len(site) + 2:
                return _cut(title, parts, index)
    last = parts[-1]
    if len(last.split()) <= 4 and len(last) * 1.5 < len(title) - len(last):
        return _cut(title, parts, -1)
    return title.strip()


def _cut(title: str, parts: list[str], index: int) -> str:
    """The title without its first or last part, with the separators that stay as they are."""
    if index == -1:
        rest = title[: title.rindex(parts[-1])]
        return re.sub(r"[\s|\-–—:·•»«›‹/~]+$", "", rest)
    rest = title[len(parts[0]) :]
    return re.sub(r"^[\s|\-–—:·•»«›‹/~]+", "", rest)


def _headings(page: Walk, kept: list[int]) -> list[str]:
    """The h1 texts, those of the content first; without any, the first h2 of the content."""
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


def _likeness(heading: str, claims: list[str]) -> float:
    """The best Jaccard index of the heading's words and a claim's."""
    own = _words(heading)
    return max((len(own & other) / max(len(own | other), 1) for other in map(_words, claims)), default=0.0)


def _words(text: str) -> frozenset[str]:
    return frozenset(_WORD.findall(text.lower()))
