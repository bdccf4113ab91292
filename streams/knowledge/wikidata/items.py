"""An item of Wikidata's JSON dump becomes a part of an entity. Pure: bytes in, values out.

Of the statements of a property the preferred ones are taken, else the normal ones, never the deprecated ones. A
quantity that is measured again (population) is taken with the latest time. A statement about a part of its subject is
left out. `since` is written only where no end is stated, the subject itself has not ended, and the beginning is not
later than the item's last change or the dump.
"""

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any
from urllib.parse import quote

from pydantic import ValidationError

from streams.knowledge.entity import (
    MAX_ADDRESS_CHARS,
    MAX_FACTS,
    MAX_LINKS,
    MAX_NAME_CHARS,
    MAX_NAMES,
    MAX_VALUES,
    Fact,
    Image,
    Part,
    Value,
)
from streams.knowledge.wikidata.languages import translations
from streams.knowledge.wikidata.properties import IMAGE_PROPERTIES, WEBSITE, group_of, labelled
from streams.knowledge.wikidata.values import Json, at, entity_id, time_value, to_value, year_of

WIKIDATA = "https://www.wikidata.org/wiki/"
COMMONS = "https://commons.wikimedia.org/wiki/"
IMAGE_PIXELS = 480
LICENCE = "CC0 1.0"
NO_PANEL = frozenset({
    "Q4167410", "Q22808320", "Q15407973",  # disambiguation pages
    "Q13406463", "Q12139612", "Q21025364",  # lists
    "Q4167836", "Q11266439", "Q11753321", "Q17362920",  # pages of wikis
    "Q14204246", "Q17633526", "Q15184295", "Q4663903",
    "Q13442814",  # scholarly articles: four of ten items
})  # fmt: skip
"""Classes whose items are skipped: nobody looks for their panel, and no fact names them."""
_NAMES_OF_PEOPLE = frozenset({"Q101352", "Q202444", "Q11879590", "Q12308941", "Q3409032"})
"""Family and given names: they are only labels."""
_ENDS = ("P570", "P576", "P582", "P2669", "P3999")
"""Properties that end their subject: death, dissolution, end."""
_START, _END, _AT = "P580", "P582", "P585"
_REPLACED, _OF_PART = "P1366", "P518"
"""Qualifiers: who or what came next, and the part of the subject that a statement is about."""
_NO_ENCYCLOPEDIAS = frozenset({
    "commonswiki", "wikidatawiki", "metawiki", "specieswiki", "mediawikiwiki", "sourceswiki", "outreachwiki",
    "incubatorwiki", "wikimaniawiki", "foundationwiki", "wikifunctionswiki", "testwiki", "test2wiki",
    "testwikidatawiki",
})  # fmt: skip
"""Wikis whose ids end as the ids of Wikipedias do. Their pages are no articles."""
_DAY = re.compile(r"[0-9]{4}-[0-9]{2}-[0-9]{2}(?![0-9])")
_MAX_STATEMENTS = 400
"""Maximum statements of a property that are looked at."""


def to_part(item: Json, language: str, day: str = "") -> Part | None:
    """Return the part of an item, or None for a lexeme, an item without a name or one of no interest.

    A property that facts have is the name of their label.

    `day`: the day of the dump (`2024-05-01`), for an item that has no day of its own. Raises nothing: a malformed
    statement is left out, and a malformed item is None.
    """
    if not item_id(item) or not (label := _in_language(item.get("labels"), language)):
        return None
    labels = translations(item.get("labels"), label)
    if item.get("type") == "property":
        return Part(kind="label", label=label, labels=labels)
    claims = item.get("claims")
    claims = claims if isinstance(claims, Mapping) else {}
    classes = [value.entity_id for _, value in _best(claims, "P31", language) if value.entity_id]
    if not NO_PANEL.isdisjoint(classes):
        return None
    sitelinks = item.get("sitelinks")
    links = sitelinks if isinstance(sitelinks, Mapping) else {}
    sites = [name for name in links if name.endswith("wiki") and name not in _NO_ENCYCLOPEDIAS]
    description = _in_language(item.get("descriptions"), language)
    if not _NAMES_OF_PEOPLE.isdisjoint(classes) or not (description or sites):
        return Part(kind="label", label=label, description=description, labels=labels)
    try:
        whole = _whole_part(item, claims, classes, sites, label, description, language, _changed_on(item) or day)
    except ValidationError:
        return Part(kind="label", label=label, labels=labels)
    descriptions = translations(item.get("descriptions"), description)
    return whole.model_copy(update={"labels": labels, "descriptions": descriptions})


def _whole_part(
    item: Json,
    claims: Json,
    classes: Sequence[str],
    sites: Sequence[str],
    label: str,
    description: str,
    language: str,
    day: str,
) -> Part:
    identity = str(item.get("id"))
    group = group_of(classes, claims)
    facts = list(_facts(claims, group.facts, identity, language, day))[:MAX_FACTS]
    website = next((value.url for _, value in _best(claims, WEBSITE, language) if value.url), "")
    return Part(
        label=label,
        description=description,
        type_ids=tuple(classes[:3]),
        group=group.name,
        image=_image(claims, language),
        facts=tuple(facts),
        aliases=tuple(_aliases(item, claims, language)),
        links=tuple(dict.fromkeys(value.entity_id for fact in facts for value in fact.values if value.entity_id))[
            :MAX_LINKS
        ],
        article=_article(item, language),
        url=f"{WIKIDATA}{identity}",
        website=website,
        sitelinks=len(sites),
        licence=LICENCE,
    )


def _in_language(texts: Any, language: str) -> str:
    """Return the text in this language, or else the one that Wikidata has for all languages (`mul`)."""
    for one in (language, "mul"):
        value = at(texts, one, "value")
        if isinstance(value, str) and value.strip():
            return " ".join(value.split())[:MAX_NAME_CHARS]
    return ""


def _aliases(item: Json, claims: Json, language: str) -> list[str]:
    """Return further names: aliases, and the native, official and short names."""
    rows = [row for one in (language, "mul") for row in _listed(at(item, "aliases", one), MAX_NAMES)]
    found = [at(row, "value") for row in rows]
    found += [value.text for one in ("P1448", "P1813", "P1477") for _, value in _best(claims, one, language)]
    names = [" ".join(name.split())[:MAX_NAME_CHARS] for name in found if isinstance(name, str)]
    return list(dict.fromkeys(filter(None, names)))[:MAX_NAMES]


def _listed(value: Any, count: int) -> Sequence[Any]:
    """Return the first items of a list; nothing of something else."""
    return value[:count] if isinstance(value, list) else ()


def _article(item: Json, language: str) -> str:
    title = at(item, "sitelinks", f"{language}wiki", "title")
    return f"{language}wiki:{title}" if isinstance(title, str) and title and len(title) <= MAX_NAME_CHARS else ""


def _image(claims: Json, language: str) -> Image | None:
    for one in IMAGE_PROPERTIES:
        for _, value in _best(claims, one, language):
            if value.text and not value.url:
                name = quote(value.text.replace(" ", "_"), safe="()',!")
                return Image(
                    url=f"{COMMONS}Special:FilePath/{name}?width={IMAGE_PIXELS}", page_url=f"{COMMONS}File:{name}"
                )
    return None


def _changed_on(item: Json) -> str:
    """Return the day on which the item was changed last (`2024-05-01`); empty if it has none."""
    found = item.get("modified")
    return found[:10] if isinstance(found, str) and _DAY.match(found) else ""


def _facts(claims: Json, wanted: Sequence[tuple[str, str]], identity: str, language: str, day: str) -> Iterator[Fact]:
    has_ended = any(_is_stated(each.get("mainsnak")) for one in _ENDS for each in _ranked(claims, one))
    for one, label in wanted:
        values = [
            value.model_copy(update={"note": _note(statement, has_ended, day), "source_url": _source(statement)})
            for statement, value in _best(claims, one, language)
        ]
        unique = list({(value.text, value.entity_id, value.note): value for value in values}.values())
        if unique:
            yield Fact(
                property=one, label=label, values=tuple(unique[:MAX_VALUES]), source_url=f"{WIKIDATA}{identity}#{one}"
            )


def _best(claims: Json, one: str, language: str) -> list[tuple[Json, Value]]:
    """Return the statements of a property that count, with their values, in the order of a panel.

    Quantities with a point in time are one value that was measured again: only the latest is returned. Awards and
    winners have such times too, and all of them count.
    """
    found: list[tuple[Json, Value]] = []
    dated: list[tuple[Value, tuple[Json, Value]]] = []
    for each in _ranked(claims, one):
        datavalue = at(each, "mainsnak", "datavalue")
        if value := to_value(datavalue, language):
            found.append((each, value))
            if at(datavalue, "type") == "quantity" and (when := _time(each, _AT)):
                dated.append((when, found[-1]))
    return [max(dated, key=lambda each: _sortable(each[0]))[1]] if dated else found


def _ranked(claims: Json, one: str) -> list[Json]:
    """Return the statements of a property that have the best rank and are about the whole subject."""
    statements = _listed(claims.get(one), _MAX_STATEMENTS)
    known = [each for each in statements if isinstance(each, Mapping) and not _has(each, _OF_PART)]
    preferred = [each for each in known if each.get("rank") == "preferred"]
    return preferred or [each for each in known if each.get("rank", "normal") == "normal"]


def _is_stated(snak: Any) -> bool:
    """Return whether something has a value, be it an unknown one. `novalue` says that there is none: no death."""
    return isinstance(snak, Mapping) and snak.get("snaktype", "value") != "novalue"


def _has(statement: Json, qualifier: str) -> bool:
    snaks = at(statement, "qualifiers", qualifier)
    return isinstance(snaks, list) and any(map(_is_stated, snaks))


def _time(statement: Json, qualifier: str) -> Value | None:
    [first] = _listed(at(statement, "qualifiers", qualifier), 1) or [None]
    value = at(first, "datavalue", "value")
    return time_value(value) if isinstance(value, Mapping) else None


def _sortable(value: Value) -> tuple[int, str]:
    """Return a key that orders dates. A date without a year at least is the earliest."""
    if not value.time:
        return -(10**12), ""
    year, _, rest = value.time.removeprefix("-").partition("-")
    return (-int(year) if value.time.startswith("-") else int(year)), rest


def _note(statement: Json, has_ended: bool, day: str) -> str:
    """Return when a value holds, in words.

    An end that is stated as unknown is no "since". Nor is a beginning that was still to come on the day of the
    statement, or a statement without a day: it is not known that the value holds.
    """
    start, end, at = (_time(statement, one) for one in (_START, _END, _AT))
    states_end = _has(statement, _END) or _has(statement, _REPLACED)
    if start and end:
        first, last = year_of(start), year_of(end)
        return first if first == last else f"{first}–{last}"
    if end:
        return f"until {year_of(end)}"
    if start:
        has_begun = bool(day) and _sortable(start) <= _sortable(Value(time=day))
        return f"since {year_of(start)}" if has_begun and not states_end and not has_ended else f"from {year_of(start)}"
    return year_of(at) if at else ""


def _source(statement: Json) -> str:
    """Return the address of the first source that has one."""
    for reference in _listed(statement.get("references"), 20):
        for snak in _listed(at(reference, "snaks", "P854"), 3):
            value = to_value(at(snak, "datavalue"), "")
            if value and value.url and len(value.url) <= MAX_ADDRESS_CHARS:
                return value.url
    return ""


def item_id(item: Json) -> str:
    """Return the id of an item, or of a property that facts have; else an empty text."""
    identity = entity_id(item)
    is_known = identity.startswith("Q") if item.get("type") == "item" else identity in labelled()
    return identity if is_known else ""
