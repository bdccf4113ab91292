"""The sums of a build: what the tasks found of each text, added up, and the weight that follows. Pure.

A text is known from pages (title, heading, name) or from queries that enough people asked. The map tasks of a build
make sums of their part, by shard; the reduce task of a shard adds them up.

Anybody may have a page that links lead to, and what is suggested reads like a statement of the search engine. So a text
of pages is suggested if the operator chose one of its sites (`page_texts.is_chosen`), or if MIN_SITES independent ones
have it.
"""

import math
import zlib
from bisect import bisect_left
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

import msgpack

from streams.crawl.domains import witness_of
from streams.queries.suggestions.block_words import BlockedWords
from streams.queries.suggestions.normal_form import key_of
from streams.stores.protocols import StoredSuggestion

SHARDS = 64
"""Number of shards of a build. All texts that begin with the same three characters are in one shard."""
SHARD_CHARS = 3
MIN_NAME_PAGES = 3
"""Minimum number of pages that have a name in their titles or headings."""
MAX_HEADING_PAGES = 8
"""Maximum number of pages of each host that have a heading, unless one has it as its title. What more pages have is a
part of the site's form: `see also`, `parameters`."""
MIN_SITES = 3
"""Minimum number of independent sites of a text that no chosen site has."""
KEPT_HOSTS = MIN_SITES + 1
"""Maximum hosts of a text that are remembered: a text that many have is still suggested when a site becomes private."""
PAGES_OF_A_SITE = 10
"""Maximum pages of such a text that count for each site."""
ONE_HOST = 0.5
"""Factor of the weight of a text that only one host has: no single host decides what people are shown."""
TITLE, HEADING, NAME, ENTITY = 8.0, 2.0, 1.0, 16.0
"""Weight of a page that has the text as its title, as a heading, or in one of them; and weight of an entity."""
COVERED = 0.8
"""Share of the pages of a name that have one and the same longer name: above it, the shorter one is left out."""

Text = tuple[str, str]
"""Language and normal form."""
Hosts = tuple[tuple[int, str], ...]
"""Hosts, each with the hash of the site that it is a part of, in the order of the hashes."""


@dataclass(slots=True)
class Sum:
    """The counts of one text in one language."""

    titles: int = 0
    headings: int = 0
    names: int = 0
    """Number of pages with the text in each place."""
    entities: int = 0
    hosts: Hosts = ()
    """A host of each of KEPT_HOSTS sites with the text."""
    chosen: Hosts = ()
    """The same of sites that the operator chose."""
    count: float = 0.0
    """Number of questions, the older the less."""
    recent: float = 0.0
    """Number of questions of the last two hours."""

    def add(self, other: "Sum") -> None:
        self.titles += other.titles
        self.headings += other.headings
        self.names += other.names
        self.entities += other.entities
        self.hosts = least_hosts(self.hosts, other.hosts, KEPT_HOSTS)
        self.chosen = least_hosts(self.chosen, other.chosen, KEPT_HOSTS)
        self.count += other.count
        self.recent += other.recent

    @property
    def weight(self) -> float:
        """The long-term weight: the questions, and the logarithm of the pages. 0: not suggested."""
        pages = self._pages_weight if self.chosen or len(self.hosts) >= MIN_SITES else 0.0
        of_one = bool(pages) and len(self.hosts) == 1
        of_index = math.log2(1 + pages + ENTITY * self.entities) * (ONE_HOST if of_one else 1.0)
        return self.count + of_index

    @property
    def apart(self) -> float:
        """The part of the weight that has no page as its source."""
        return self.count + math.log2(1 + ENTITY * self.entities)

    @property
    def sources(self) -> tuple[tuple[str, ...], int]:
        """The hosts of the text's pages, and how many of them its readers must see."""
        named, needs = (self.chosen, 1) if self.chosen else (self.hosts, MIN_SITES)
        return tuple(host for _, host in named), needs

    @property
    def _pages_weight(self) -> float:
        if self.headings > MAX_HEADING_PAGES * len(self.hosts) and not self.titles:
            return 0.0
        names = self.names if self.names >= MIN_NAME_PAGES or self.titles or self.headings else 0
        most = math.inf if self.chosen else PAGES_OF_A_SITE * min(len(self.hosts), MIN_SITES)
        return TITLE * min(self.titles, most) + HEADING * min(self.headings, most) + NAME * min(names, most)


Sums = dict[Text, Sum]


def add_to(sums: Sums, text: Text, found: Sum) -> None:
    known = sums.get(text)
    if known is None:
        sums[text] = found
    else:
        known.add(found)


def of_host(host: str) -> Hosts:
    """Return a host with the hash of its site: names below one domain are one site."""
    return ((zlib.crc32(witness_of(host).encode()), host),)


def own_host(host: str) -> Hosts:
    """Return a host as a site of its own: each host of a chosen site has the operator's choice."""
    return ((zlib.crc32(host.encode()), host),)


def least_hosts(known: Hosts, others: Hosts, most: int) -> Hosts:
    """Return one host of each site, of the sites with the smallest hashes: the same in whatever order they come."""
    if known == others:
        return known
    for other in others:
        if len(known) >= most and other >= known[-1]:
            break
        place = bisect_left(known, (other[0],))
        if place == len(known) or known[place][0] != other[0]:
            known = (*known[:place], other, *known[place:])[:most]
        elif other < known[place]:
            known = (*known[:place], other, *known[place + 1 :])
    return known


def shard_of(text: str) -> int:
    """Return the shard of a text, by the beginning of its key."""
    return zlib.crc32(key_of(text)[:SHARD_CHARS].encode("utf-8", "replace")) % SHARDS


def pack_sums(sums: Mapping[Text, Sum]) -> dict[int, bytes]:
    """Return the sums of each shard as MessagePack."""
    rows: dict[int, list[Any]] = {}
    for (language, text), own in sums.items():
        places = (own.titles, own.headings, own.names, own.entities)
        row = (language, text, *places, own.hosts, own.chosen, own.count, own.recent)
        rows.setdefault(shard_of(text), []).append(row)
    return {shard: pack(found) for shard, found in rows.items()}


def unpack_sums(values: Iterable[bytes]) -> Sums:
    """Return the sums of a shard, added up."""
    sums: Sums = {}
    for value in values:
        for language, text, titles, headings, names, entities, hosts, chosen, *counts in unpack_values(value):
            add_to(sums, (language, text), Sum(titles, headings, names, entities, hosts, chosen, *counts))
    return sums


def suggestions_of(sums: Sums, quarter: int, blocked: BlockedWords) -> list[StoredSuggestion]:
    """Return the suggestions that follow from the sums of a shard, the heaviest first. The sums are changed."""
    _forget_covered(sums)
    found = []
    for (language, text), own in sums.items():
        weight = own.weight
        if weight <= 0 or blocked.blocks(text):
            continue
        recent, apart = round(own.recent, 3), round(own.apart, 3)
        found.append(StoredSuggestion(text, language, round(weight, 3), recent, quarter, *own.sources, apart))
    return sorted(found, key=lambda each: (-each.weight, each.text, each.language))


def _forget_covered(sums: Sums) -> None:
    """Forget the names of which nearly all pages have one longer name: `file` in `file system`."""
    for (language, text), own in list(sums.items()):
        shorter = text.rpartition(" ")[0]
        known = sums.get((language, shorter))
        if known and own.names >= COVERED * known.names and not _is_whole(known):
            known.names = 0


def _is_whole(own: Sum) -> bool:
    """Return True if the text is more than a part of titles and headings."""
    return bool(own.titles or own.entities or own.count or own.headings)


def unpack_values(value: bytes) -> Any:
    """Return what `pack` was given, with tuples in place of lists."""
    return msgpack.unpackb(value, use_list=False)


def pack(value: object) -> bytes:
    packed = msgpack.packb(value)
    assert isinstance(packed, bytes)
    return packed
