"""The thing that a page is about, by the structured data of its document: an item whose name other sites use. Pure.

What is taken is what the page itself states, so it is shown as such, and each fact leads to the page. Names that only
the page gives itself are left out: with them it could appear under the name of something else.
"""

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from streams.knowledge.entity import (
    MAX_ADDRESS_CHARS,
    MAX_FACTS,
    MAX_NAME_CHARS,
    MAX_SUMMARY_CHARS,
    MAX_VALUES,
    Fact,
    Image,
    Part,
    Value,
)
from streams.knowledge.found.names import named_so
from streams.knowledge.found.properties import DATES, GROUPS
from streams.knowledge.wikidata.values import DAY, MONTH, YEAR, time_value
from streams.pages.document.consent import Consent
from streams.pages.metadata.items import Item, add_main_entities, kinds, texts
from streams.plain_text import clean_line, read_date

MAX_ITEMS = 50
MAX_VALUE_CHARS = 200
_ADDRESS = re.compile(r"https?://[^\s\x00-\x1f]+")
_ADDRESS_PARTS = ("streetAddress", "postalCode", "addressLocality", "addressRegion", "addressCountry")
_CAMEL = re.compile("(?<=[a-z])(?=[A-Z])")
_SELF = ("name", "alternateName", "legalName")


def read_subject(
    items: Sequence[Item], names: Mapping[str, int], url: str, consent: Consent, image: str = ""
) -> Part | None:
    """Return what a page says about its subject, or None if none of its items has one of the names.

    `names` are the keys of the names that other sites use, with the number of their domains. Of several items the one
    with the most facts is the subject. A page that allows no quotation has no part.
    """
    if consent.max_snippet == 0:
        return None
    made = (_part(item, names, url, consent, image) for item in add_main_entities(list(items[:MAX_ITEMS])))
    parts = [part for part in made if part]
    return max(parts, key=lambda part: (len(part.facts), len(part.summary)), default=None)


def _part(item: Item, names: Mapping[str, int], url: str, consent: Consent, image: str) -> Part | None:
    kind = next((name for name in kinds(item) if name in GROUPS), "")
    own = list(dict.fromkeys(_names_of(item)))
    used = [name for name in own if named_so(name, names)]
    if not kind or not used:
        return None
    group, _ = GROUPS[kind]
    summary = _summary(item, consent)
    found = Part(
        label=used[0],
        type=_CAMEL.sub(" ", kind).lower(),
        group=group,
        summary=summary,
        image=_image(item, url, image),
        facts=tuple(_facts(item, kind, url))[:MAX_FACTS],
        aliases=tuple(used[1:]),
        url=url,
        website=url,
        linking_domains=max(names.values()),
    )
    return found if found.facts or found.summary else None


def _names_of(item: Item) -> Iterator[str]:
    for name in _SELF:
        for text in texts(item.get(name))[:MAX_VALUES]:
            if (cleaned := clean_line(text)) and len(cleaned) <= MAX_NAME_CHARS:
                yield cleaned


def _summary(item: Item, consent: Consent) -> str:
    """Return the description; empty if there is none, or if the publisher allows only shorter quotations."""
    text = clean_line(next(iter(texts(item.get("description"))), ""))
    if len(text) > MAX_SUMMARY_CHARS:
        text = text[: MAX_SUMMARY_CHARS - 1].rpartition(" ")[0] + "…"
    return text if consent.allows_quoting(len(text)) else ""


def _facts(item: Item, kind: str, url: str) -> Iterator[Fact]:
    """Yield the facts in the order of the group, each label once."""
    done: set[str] = set()
    for name, label in GROUPS[kind][1]:
        values = tuple(dict.fromkeys(_values(item.get(name), name)))[:MAX_VALUES]
        if values and label not in done:
            done.add(label)
            yield Fact(label=label, values=values, source_url=url)


def _values(value: Any, name: str) -> Iterator[Value]:
    for inner in value if isinstance(value, list) else [value]:
        text = _address(inner) if isinstance(inner, dict) else ""
        for line in (clean_line(one) for one in ([text] if text else texts(inner))):
            if name in DATES:
                if (date := _date(line)) is not None:
                    yield date
            elif line and len(line) <= MAX_VALUE_CHARS and not _ADDRESS.match(line):
                yield Value(text=line)


def _date(text: str) -> Value | None:
    """Return a date in words, as exact as it is written; None for a text that is no date."""
    iso = read_date(text[:10] if text[10:11] in ("", "T", " ") else text)
    year, month, day = (*iso.split("-"), "00", "00")[:3]
    precision = DAY if day != "00" else MONTH if month != "00" else YEAR
    return time_value({"time": f"+{year}-{month}-{day}T", "precision": precision}) if iso else None


def _address(item: Item) -> str:
    """Return the words of a postal address, or of the address inside a place; empty without one."""
    inner = item.get("address")
    if isinstance(inner, dict) and not texts(item.get("name")):
        item = inner
    return ", ".join(text for name in _ADDRESS_PARTS for text in texts(item.get(name))[:1])


def _image(item: Item, url: str, image: str) -> Image | None:
    """Return the address of the item's image, else of the page's. Its page is the page itself."""
    given = [text for name in ("image", "logo") for text in _urls(item.get(name))]
    for address in (*given, image):
        if _ADDRESS.fullmatch(address) and len(address) <= MAX_ADDRESS_CHARS:
            return Image(url=address, page_url=url)
    return None


def _urls(value: Any) -> Iterator[str]:
    for inner in value if isinstance(value, list) else [value]:
        if isinstance(inner, dict):
            inner = inner.get("url") or inner.get("contentUrl")
        if isinstance(inner, str):
            yield inner
