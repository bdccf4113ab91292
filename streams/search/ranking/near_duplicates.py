"""Near-duplicates among results, and copies, which are shown as one result. Pure.

Near-duplicates are pages whose shown texts, the statements that matched, have nearly the same trigrams. They are copies
only if their whole texts are, by the fingerprints of the dedup stage, or if a URL rule maps the address of
one to the other. Otherwise anyone could hide a page by quoting it, also on one site: a forge, a forum or a host of
blogs has many owners.

Among copies, the page whose text was seen first is the result. Near-duplicates of different sites that are no copies
are shown in the order in which their texts were seen. A date, links and all else that a page says of itself, or can
buy, never choose between them. Near-duplicates of one site that are no copies are often versions of a page. They keep
their order, by how well they match the query.

Pages that name each other as versions in other languages (`hreflang`) are versions of one page, and so are pages of one
host whose addresses differ only in the tags of their languages: `/de/log.html` and `/log.html`. They are one result, in
the language that the reader knows best.
"""

import math
import re
from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import replace
from uuid import UUID

import numpy as np
import numpy.typing as npt

from streams.dedup.election import are_variants
from streams.dedup.first_sight import SIMILARITY, own_sight, site_sight
from streams.pages.text.language import primary
from streams.search.query_language.matching import fold
from streams.sketches import sketch_similarity
from streams.stores.protocols import MIN_NEAR_WORDS, Fingerprint, PageHits

DUPLICATE_SIMILARITY = 0.8
"""Minimum Jaccard similarity of the trigrams of two results' texts that makes them near-duplicates."""
MIN_DUPLICATE_CHARS = 40
"""Minimum length of a text that is compared (characters). Shorter texts are alike by chance."""
MAX_CHARS = 2_000
"""Maximum length of a result's text that is compared (characters): three statements of usual length."""
SKETCH_SIZE = 16
"""Number of trigrams in a page's sketch: the ones with the lowest hashes (Broder, "On the Resemblance and Containment
of Documents", 1997)."""
MIN_COMMON = 4
"""Minimum common trigrams of two sketches whose pages are compared. Of two pages with a similarity of .8, the 16 lowest
hashes of both together are common ones, each with a probability of .8: fewer than 4 are common in one of 4,000,000
pairs. Pages of one site with a similarity of .15 are compared once in five pairs."""
MAX_COMPARED = 20
"""Maximum earlier pages that a page is compared with: the ones with the most common trigrams in their sketches. So
pages that were written to have one sketch cost a bounded time."""
MAX_ALIKE = 8
"""Maximum pages of one site that nearly repeat each other and are compared with later pages. So the pages of a site
that are all alike cost a bounded time."""
_CODE_BITS, _TWO_CODES_BITS = np.uint64(21), np.uint64(42)
_HASH = np.uint64(0x9E3779B97F4A7C15)
"""The odd multiplier of Fibonacci hashing (Knuth, "The Art of Computer Programming", 6.4): it orders trigrams as if at
random."""


class ComparedPages:
    """The first pages of a list, to find their near-duplicates among the later pages."""

    def __init__(self) -> None:
        self._kept: list[tuple[PageHits, frozenset[int]]] = []
        """Each page with its trigrams."""
        self._places: defaultdict[int, list[int]] = defaultdict(list)
        """By a trigram of a sketch, the places of the kept pages with this sketch."""

    def find_near(self, page: PageHits) -> list[UUID]:
        """Return the earlier pages that this page nearly repeats, the best first.

        Later pages are compared with this page, too, unless it nearly repeats MAX_ALIKE earlier pages of its own site.
        """
        codes = np.unique(trigrams(_shown_text(page)))
        own, sketch = frozenset(codes.tolist()), _sketch(codes)
        common = Counter(place for each in sketch for place in self._places.get(each, ()))
        # By the place among the kept pages where the numbers are equal: the better page comes first.
        least = min(MIN_COMMON, len(sketch))
        alike = [place for place, number in common.items() if number >= least]
        nearest = sorted(alike, key=lambda place: (-common[place], place))[:MAX_COMPARED]
        compared = [self._kept[place] for place in sorted(nearest)]
        near = [other for other, theirs in compared if similarity(own, theirs) >= DUPLICATE_SIMILARITY]
        if sum(is_of_one_site(page, other) for other in near) < MAX_ALIKE:
            for each in sketch:
                self._places[each].append(len(self._kept))
            self._kept.append((page, own))
        return [other.page_id for other in near]


def is_of_one_site(page: PageHits, other: PageHits) -> bool:
    """Return True if both pages are of one host."""
    return page.hits[0].payload.host == other.hits[0].payload.host


def _sketch(codes: npt.NDArray[np.uint64]) -> list[int]:
    """Return the trigrams with the lowest hashes."""
    hashes = codes * _HASH
    lowest = np.partition(hashes, SKETCH_SIZE)[:SKETCH_SIZE] if len(hashes) > SKETCH_SIZE else hashes
    found: list[int] = lowest.tolist()
    return found


def trigrams(text: str) -> npt.NDArray[np.uint64]:
    """Return a number for each run of three characters; no numbers for a short text."""
    folded = fold(text)[:MAX_CHARS]  # one character can become 18
    if len(folded) < MIN_DUPLICATE_CHARS:
        return np.empty(0, dtype=np.uint64)
    # A code point has 21 bits. NumPy makes the numbers in a third of the time that slices of the text take.
    codes = np.frombuffer(folded.encode("utf-32-le", "surrogatepass"), dtype="<u4").astype(np.uint64)
    runs: npt.NDArray[np.uint64] = codes[:-2] | codes[1:-1] << _CODE_BITS | codes[2:] << _TWO_CODES_BITS
    return runs


def similarity(first: frozenset[int], second: frozenset[int]) -> float:
    """Return the Jaccard similarity: the share of the common trigrams in all trigrams. 0 without trigrams."""
    small, large = (first, second) if len(first) < len(second) else (second, first)
    if len(small) < DUPLICATE_SIMILARITY * len(large) or not small:  # DUPLICATE_SIMILARITY can't be reached
        return 0.0
    common = len(first & second)
    return common / (len(first) + len(second) - common)


def _shown_text(page: PageHits) -> str:
    payload = page.hits[0].payload
    return " ".join([payload.title, *(hit.payload.text for hit in page.hits[:3])])[:MAX_CHARS]


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


def group_versions(groups: Sequence[list[PageHits]], reader: Sequence[str]) -> list[list[PageHits]]:
    """Return the groups of copies; the versions of one page in several languages are one group.

    Its first page is the version in the language that the reader prefers, or the best one. It has the place and the
    score of the group's best page. `reader`: primary subtags, the preferred one first.
    """
    found: list[dict[str, list[PageHits]]] = []
    of_key: dict[tuple[str, str], dict[str, list[PageHits]]] = {}
    for group in groups:
        payload = group[0].hits[0].payload
        language = primary(payload.language)
        keys = [("", payload.family)] if payload.family else []
        keys += [_version_key(group[0])] if language else []
        # Two pages of one language are no versions of each other.
        versions = next((of_key[key] for key in keys if language not in of_key.get(key, {language: []})), None)
        if versions is None:
            found.append(versions := {})
        versions[language] = group
        for key in keys:
            of_key.setdefault(key, versions)
    return [_in_language_of(versions, reader) for versions in found]


def _in_language_of(versions: Mapping[str, list[PageHits]], reader: Sequence[str]) -> list[PageHits]:
    best, *others = versions.values()
    chosen = next((versions[language] for language in reader if language in versions), best)
    if not others:
        return best
    first = replace(chosen[0], score=best[0].score)
    return [first, *chosen[1:], *(page for group in versions.values() if group is not chosen for page in group)]


def _version_key(page: PageHits) -> tuple[str, str]:
    """Return the host of a page, and its address without the tag of the page's own language."""
    payload = page.hits[0].payload
    own, kept, region_may_follow = primary(payload.language), list[str](), False
    parts = _SEPARATORS.split(payload.url)
    for separator, part in zip(("", *parts[1::2]), parts[::2], strict=True):
        is_region = region_may_follow and separator in ("-", "_") and part.isalpha() and 2 <= len(part) <= 4
        region_may_follow = bool(own) and part.lower() == own
        if part and not region_may_follow and not is_region:
            kept.append(separator + part)
    return payload.host, "".join(kept)


_SEPARATORS = re.compile(r"([/._?&=-])")


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
