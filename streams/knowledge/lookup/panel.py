"""The contents of a panel, as pydantic models: for the page and for the API. Pure."""

import re
import unicodedata
from collections.abc import Iterable, Iterator, Mapping
from typing import Literal
from urllib.parse import urlsplit

from pydantic import BaseModel, ConfigDict, Field

from streams.crawl import urls
from streams.crawl.domains import has_public_suffix, is_page_below, surely_one_owner
from streams.knowledge.entity import Entity, Fact, Value

MAX_RELATED = 8
MAX_OTHERS = 6
CONTACT_DIGITS = 7
"""Minimum digits of a telephone number or an account."""
NO_YEAR = 2_100
"""The first number that is not read as a year."""
_NUMBER = re.compile("[\\d ()./+\u00a0\u2010\u2011\u2012\u2013-]+")
"""Digits with the marks that stand between the digits of a telephone number."""
_DATE = r"([12]\d{3})(?:-[01]\d-[0-3]\d)?"
_TIME = re.compile(f"{_DATE}(?:[ \u00a0]?[/\u2010\u2011\u2012\u2013-][ \u00a0]?{_DATE})?")
"""A year or an ISO date, or the range between two."""
_WORDS = (re.compile(r"[\w.-]+"), re.compile(r"[\w.-]+", re.ASCII))
"""Words that may be the name of a host. In a script without spaces, a name stands within other letters."""
SOURCES = {
    "wikidata": ("Wikidata", "CC0 1.0", "https://creativecommons.org/publicdomain/zero/1.0/"),
    "wikipedia": ("Wikipedia", "CC BY-SA 4.0", "https://creativecommons.org/licenses/by-sa/4.0/"),
    "own": ("The operator of this search engine", "", ""),
}


class _Model(BaseModel):
    model_config = ConfigDict(frozen=True)


class PanelValue(_Model):
    """One value of a fact."""

    text: str = Field(description="The value in words, with its unit.")
    time: str = Field("", description="A date for programs (ISO 8601).")
    note: str = Field("", description="When the value holds: `since 2009`, `2009–2013`, `2020`.")
    entity: str = Field("", description="The id of the entity that the value is, if it has a panel.")
    url: str = Field("", description="The address that the value is.")
    source: str = Field("", description="The address of the source that the fact's author names.")
    source_host: str = Field("", description="The host of that source.")


class PanelFact(_Model):
    """A fact with its values."""

    label: str
    property: str = Field("", description="Wikidata's id of the property.")
    values: tuple[PanelValue, ...]
    source: str = Field("", description="The address at which the fact stands.")


class PanelImage(_Model):
    """An image. Nobody asks for it before a person wants to see it."""

    url: str
    page: str = Field("", description="The page with the image's author and licence.")
    licence: str = Field("", description="Empty: the page names it.")
    author: str = ""
    host: str = Field("", description="The host that has the image.")


class RelatedEntity(_Model):
    """A related entity, or one of several meanings."""

    id: str
    label: str
    description: str = ""
    has_panel: bool = True


class PanelSource(_Model):
    """A source of the panel."""

    name: str
    url: str = ""
    licence: str = ""
    licence_url: str = ""


class Mention(_Model):
    """A statement of the index that mentions the entity."""

    text: str
    title: str
    url: str


class Panel(_Model):
    """An entity, or the choice between several with one name."""

    kind: Literal["entity", "choice"] = "entity"
    id: str = ""
    label: str
    type: str = ""
    description: str = ""
    summary: str = ""
    summary_url: str = ""
    summary_licence: str = ""
    image: PanelImage | None = None
    facts: tuple[PanelFact, ...] = ()
    website: str = ""
    related: tuple[RelatedEntity, ...] = ()
    others: tuple[RelatedEntity, ...] = Field(
        (), description="Other entities with the same name; the meanings of a choice."
    )
    mentions: tuple[Mention, ...] = Field((), description="Statements of the index that have its name.")
    sources: tuple[PanelSource, ...] = ()
    confidence: float = Field(0.0, description="The probability that it is what the query asks for.")


def ids_to_name(entity: Entity) -> list[str]:
    """Return the entities and articles whose names a panel needs, each once."""
    values = [value for fact in entity.facts for value in fact.values]
    properties = (fact.property for fact in entity.facts)
    ids = (
        *entity.type_ids,
        *properties,
        *(one for value in values for one in (value.entity_id, value.unit_id)),
        *entity.links,
    )
    return list(dict.fromkeys(filter(None, ids)))


def to_panel(entity: Entity, named: Mapping[str, Entity]) -> Panel:
    """Return the panel of an entity. `named`: the records of `ids_to_name`, with the records that redirects lead to."""
    facts = tuple(filter(None, (_fact(fact, named) for fact in entity.facts)))
    image = entity.image
    return Panel(
        id=entity.entity_id,
        label=entity.label,
        type=_type(entity, named),
        description=entity.description,
        summary=entity.summary,
        summary_url=entity.summary_url,
        summary_licence=entity.summary_licence,
        image=PanelImage(
            url=image.url,
            page=image.page_url,
            licence=image.licence,
            author=image.author,
            host=host_of(image.page_url or image.url),
        )
        if image
        else None,
        facts=facts,
        website=entity.website,
        related=tuple(related(named[link] for link in entity.links if link in named))[:MAX_RELATED],
        sources=tuple(_sources(entity)),
    )


def related(records: Iterable[Entity]) -> list[RelatedEntity]:
    """Return the entities that have a panel, each once."""
    unique = {record.entity_id: record for record in records if record.kind == "entity"}
    return [RelatedEntity(id=one.entity_id, label=one.label, description=one.description) for one in unique.values()]


def _type(entity: Entity, named: Mapping[str, Entity]) -> str:
    labels = (named[one].label for one in entity.type_ids if one in named)
    return entity.type or next(filter(None, labels), "") or (entity.group if entity.group != "thing" else "")


def _fact(fact: Fact, named: Mapping[str, Entity]) -> PanelFact | None:
    """Return a fact without the values that have no name, or None if none is left."""
    values = tuple(filter(None, (_value(value, named) for value in fact.values)))
    if not values:
        return None
    name = named.get(fact.property)
    label = name.label if name and name.stored_label else fact.label  # the reader's, else the short one in English
    return PanelFact(label=label, property=fact.property, values=values, source=fact.source_url)


def _value(value: Value, named: Mapping[str, Entity]) -> PanelValue | None:
    meant = named.get(value.entity_id)
    text = value.text or (meant.label if meant else "")
    if value.unit_id:
        if not (unit := named.get(value.unit_id)) or not unit.label:
            return None  # a number without its unit says something else
        text = f"{text} {unit.label}"
    if not text:
        return None
    return PanelValue(
        text=text,
        time=value.time,
        note=value.note,
        entity=meant.entity_id if meant and meant.kind == "entity" else "",
        url=value.url,
        source=value.source_url,
        source_host=host_of(value.source_url),
    )


def _sources(entity: Entity) -> Iterator[PanelSource]:
    """Yield each source with its own page."""
    for name, url in zip(entity.sources, entity.source_urls, strict=False):
        if name in SOURCES:
            title, licence, licence_url = SOURCES[name]
            yield PanelSource(name=title, url=url, licence=licence, licence_url=licence_url)


def may_quote(text: str, url: str, website: str) -> bool:
    """Return whether a panel may quote a statement of a page. Nobody calls a number that a stranger put into a panel.

    A statement with a telephone number, an account or another's address of the web must be of the entity's own website.
    """
    read = unicodedata.normalize("NFKC", text).replace("\u3002", ".")  # as browsers read a name (UTS 46)
    if not _has_contact(read) and all(_is_of_website(one, website) for one in _addresses_in(read)):
        return True
    return _is_of_website(url, website)


def _is_of_website(url: str, website: str) -> bool:
    """Return whether a page is of a website: of its host and the names below it, or of its path if it has one.

    Other people have other paths of the same host. A query or a fragment may be a person's, too.
    """
    try:
        site = urls.possible_urls(website)[-1]
    except urls.InvalidUrl:
        return False
    page, own = urlsplit(url), urlsplit(site)
    if own.path == "/" and not own.query and "#" not in website:
        return is_page_below(url, [host_of(site)])
    if "#" in website or not surely_one_owner(urls.host_of(url), urls.host_of(site)):
        return False
    if own.query:
        return (page.path, page.query) == (own.path, own.query)
    return f"{page.path}/".startswith(f"{own.path.rstrip('/')}/")


def _has_contact(text: str) -> bool:
    """Return whether a text has an address with its marks, or many digits in a row that are no years or dates."""
    if "@" in text or "://" in text or "www." in text.lower():
        return True
    return any(
        sum(map(str.isdecimal, number)) >= CONTACT_DIGITS and not _is_time(number) for number in _NUMBER.findall(text)
    )


def _is_time(number: str) -> bool:
    """Return whether a number is a year or an ISO date of our time, or a range from an earlier to a later one."""
    around = "".join(char for char in number if not char.isdecimal())
    found = _TIME.fullmatch(number.strip(around))
    years = [int(year) for year in found.groups() if year] if found else []
    return bool(years) and "+" not in around and years == sorted(years) and years[-1] < NO_YEAR


def _addresses_in(text: str) -> Iterator[str]:
    """Yield the addresses of the words that are names of hosts: their end is a known public suffix."""
    for word in {word.strip("_-.") for words in _WORDS for word in words.findall(text)}:
        if "." in word:
            try:
                address = urls.with_scheme(word)
            except urls.InvalidUrl:
                continue
            if has_public_suffix(urls.host_of(address)):
                yield address


def host_of(url: str) -> str:
    """Return the host of an address, without `www.`; an empty text for an address that can't be read."""
    try:
        return (urlsplit(url).hostname or "").removeprefix("www.")
    except ValueError:
        return ""
