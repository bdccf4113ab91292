"""The parts of an entity become its record. Pure: the same parts give the same record, in any order of their arrival.

from                what
Wikidata            label, description, type, facts, image, website, aliases, rank
Wikipedia           summary and links; all the rest where Wikidata has nothing
an own file         everything, before all other sources
"""

from collections.abc import Iterable, Mapping, Sequence
from typing import TypeVar

from streams.knowledge.entity import MAX_LINKS, MAX_NAMES, Entity, Part

Item = TypeVar("Item")
ABOUT_FACTS = ("own", "wikidata")
"""Sources of facts and websites. Wrong ones rob people: a telephone number, an address, opening hours, an account."""
ORDER = ("own", "wikidata", "wikipedia")
"""Sources: the first that has something decides."""
ARTICLE_RANK = 1
"""The rank of an article without an item: one wiki has it."""
OWN_RANK = 1_000
"""The rank of own entities: an operator who names a thing means it. More wikis than there are."""


def merge_parts(entity_id: str, parts: Mapping[str, Part], aliases: Sequence[str] = ()) -> Entity:
    """Return the record of an entity. `aliases`: titles of redirects, in any order. Without a part, it is a `label`
    without a name."""
    known = [(source, parts[source]) for source in ORDER if source in parts]
    if not known:
        return Entity(entity_id=entity_id, kind="label")
    of_panel = [part for _, part in known if part.kind != "label"]
    summarized = next((part for _, part in known if part.summary), None)
    named, described = (
        next((part for _, part in known if getattr(part, text)), known[0][1]) for text in ("label", "description")
    )
    label = named.label
    names = [label, *(name for _, part in known for name in (part.label, *part.aliases)), *sorted(aliases)]
    return Entity(
        entity_id=entity_id,
        kind=of_panel[0].kind if of_panel else "label",
        label=label,
        description=described.description,
        labels=named.labels,
        descriptions=described.descriptions,
        type=_first(part.type for source, part in known if source != "wikipedia"),
        type_ids=_first_tuple(part.type_ids for _, part in known),
        group=_first(part.group for _, part in known),
        summary=summarized.summary if summarized else "",
        summary_url=summarized.url if summarized else "",
        summary_licence=summarized.licence if summarized else "",
        image=next((part.image for _, part in known if part.image), None),
        facts=_first_tuple(part.facts for source, part in known if source in ABOUT_FACTS),
        names=tuple(dict.fromkeys(filter(None, names)))[:MAX_NAMES],
        links=tuple(dict.fromkeys(link for _, part in known for link in part.links if link != entity_id))[:MAX_LINKS],
        options=_first_tuple(part.options for _, part in known),
        article=_first(part.article for _, part in known),
        url=_first(part.url for _, part in known),
        website=_first(part.website for source, part in known if source in ABOUT_FACTS),
        rank=max(_rank(source, part) for source, part in known),
        sources=tuple(source for source, _ in known),
        source_urls=tuple(part.url for _, part in known),
    )


def _rank(source: str, part: Part) -> int:
    if source == "own":
        return OWN_RANK
    return max(part.sitelinks, ARTICLE_RANK if source == "wikipedia" else 0)


def _first(texts: Iterable[str]) -> str:
    return next(filter(None, texts), "")


def _first_tuple(tuples: Iterable[tuple[Item, ...]]) -> tuple[Item, ...]:
    return next(filter(None, tuples), ())
