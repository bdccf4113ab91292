"""Copies among results: near-duplicates that are shown as one result. Pure.

Near-duplicates are found by the statements that matched. They are copies only if their whole texts are, by the
fingerprints of the dedup stage, or if a URL rule maps the address of one to the other. Otherwise anyone could hide a
page by quoting it, also on one site: a forge, a forum or a host of blogs has many owners.

Among copies, the page whose text was seen first is the result. Near-duplicates of different sites that are no copies
are shown in the order in which their texts were seen. A date, links and all else that a page says of itself, or can
buy, never choose between them. Near-duplicates of one site that are no copies are often versions of a page. They keep
their order, by how well they match the query.
"""

import math
from collections.abc import Mapping, Sequence
from dataclasses import replace
from uuid import UUID

from streams.dedup.election import are_variants
from streams.dedup.first_sight import SIMILARITY, own_sight, site_sight
from streams.search.ranking.near_duplicates import is_of_one_site
from streams.sketches.minhash import sketch_similarity
from streams.stores.protocols import MIN_NEAR_WORDS, Fingerprint, PageHits

Near = Mapping[UUID, Sequence[UUID]]
"""The earlier results that a result nearly repeats, the best first."""
Texts = Mapping[UUID, Fingerprint]
"""The fingerprints of pages, as far as they are known."""


def group_copies(pages: Sequence[PageHits], near: Near, texts: Texts, ordered: int) -> list[list[PageHits]]:
    """Return the pages in groups of copies, in the order of the groups' best pages.

    The first page of a group is the result. It has the place and the score of the group's best page. Among the first
    `ordered` groups, groups that nearly repeat each other at different sites are put in the order of their first sight.
    Later groups stay where they are, so that longer lists of results begin as shorter ones do.
    """
    by_id = {page.page_id: page for page in pages}
    groups: dict[UUID, list[PageHits]] = {}
    alike: dict[UUID, list[int]] = {}
    """The places of groups that nearly repeat each other at different sites, by their pages. They share a list."""
    for page in pages:
        earlier = [by_id[each] for each in near.get(page.page_id, ()) if each in groups]
        original = next((other for other in earlier if _are_copies(page, other, texts)), None)
        if original is None:
            elsewhere = next((other for other in earlier if not is_of_one_site(page, other)), None)
            places = alike[elsewhere.page_id] if elsewhere else []
            places.append(len(groups))
            alike[page.page_id] = places
        groups.setdefault((original or page).page_id, []).append(page)
    found = [_put_oldest_first(group, texts) for group in groups.values()]
    for places in {places[0]: places for places in alike.values()}.values():
        _order_places(found, [place for place in places if place < ordered], texts)
    return found


def _order_places(groups: list[list[PageHits]], places: Sequence[int], texts: Texts) -> None:
    """Put the groups at these places in the order of their first sight. The scores stay with the places."""
    chosen = [groups[place] for place in places]
    scores = [group[0].score for group in chosen]
    oldest_first = sorted(chosen, key=lambda group: _age(group[0], texts))
    for place, score, group in zip(places, scores, oldest_first, strict=True):
        groups[place] = [replace(group[0], score=score), *group[1:]]


def pages_to_compare(pages: Sequence[PageHits], near: Near) -> list[UUID]:
    """Return the pages that are near-duplicates of each other: their texts decide. The best come first."""
    found: dict[UUID, None] = {}
    for page in pages:
        for each in near.get(page.page_id, ()):
            found |= {each: None, page.page_id: None}
    return list(found)


def have_one_text(one: Fingerprint, other: Fingerprint) -> bool:
    """Return True if the whole texts of both pages are the same, or similar by their sketches."""
    if one.content_hash == other.content_hash:
        return one.words > 0
    is_long = min(one.words, other.words) >= MIN_NEAR_WORDS
    return is_long and sketch_similarity(one.sketch, other.sketch) >= SIMILARITY


def _are_copies(page: PageHits, other: PageHits, texts: Texts) -> bool:
    one, another = texts.get(page.page_id), texts.get(other.page_id)
    if one is None or another is None:
        return False
    return have_one_text(one, another) or are_variants(one, another)


def _put_oldest_first(group: list[PageHits], texts: Texts) -> list[PageHits]:
    best = group[0]
    oldest = min(group, key=lambda page: _age(page, texts))
    others = [page for page in group if page.page_id != oldest.page_id]
    return [replace(oldest, score=best.score), *others]


def _age(page: PageHits, texts: Texts) -> tuple[float, float]:
    """Return when the page's text was seen first: at its site, and at the page. A page without fingerprint is last."""
    text = texts.get(page.page_id)
    return (math.inf, math.inf) if text is None else (site_sight(text).at, own_sight(text).at)
