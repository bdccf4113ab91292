"""The words of pages that a query may be corrected to: how many pages have each, and of how many sites. Pure.

Only pages in English count: queries in other languages are not corrected. A text is cut as a query is
(`streams.queries.spelling.words`): `l'hôtel` counts for `hôtel`, which a query is corrected to behind its `l'`.

A page counts a word once, and a site is a registrable domain, so that nobody makes a word frequent by repeating it. A
site has a hash with a key that each build draws anew: nobody can choose domains by their hashes.
"""

import zlib
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from hashlib import blake2b

from streams.crawl.domains import witness_of
from streams.pages.text.normal_forms import nfkc
from streams.queries.spelling.words import APOSTROPHES, EDGES, MAX_CHARS, MIN_INDEX_CHARS, elided_chars
from streams.queries.suggestions.sums import SHARDS, Hosts, least_hosts, pack, unpack_values
from streams.statements.statement import PageStatements
from streams.stores.protocols import StoredWord

MAX_STATEMENTS = 200
"""Maximum statements of a page that are read."""
MAX_PAGE_WORDS = 2_000
"""Maximum words of a page that are counted."""
MAX_SITES = 16
"""Maximum sites of a word that are remembered, those with the smallest hashes. More are estimated from them."""
PAGES_OF_A_SITE = 10
"""Maximum pages that a site counts for a word, on average."""
MAX_CHOSEN_WORDS = 200_000
"""Maximum words that gateways get: the words that most pages have."""
MAX_SUMMED = 500_000
"""Number of words of a shard above which words of one site are forgotten, while the shard is added up."""
_HASHES = 1 << 32
_READ_CHARS = 2_000
_EDGES = EDGES + '"`'
"""With what begins a phrase or code in a query: in a text it only marks a word."""


@dataclass(slots=True)
class WordSum:
    """The pages and sites of one word."""

    pages: int
    sites: Hosts
    """A host of each of the sites with the smallest hashes."""

    def add(self, other: "WordSum") -> None:
        self.pages += other.pages
        self.sites = least_hosts(self.sites, other.sites, MAX_SITES)

    @property
    def weight(self) -> int:
        """The number of pages, of which one site counts only some."""
        return min(self.pages, PAGES_OF_A_SITE * self.site_count)

    @property
    def site_count(self) -> int:
        """The number of sites; above MAX_SITES, an estimate from their smallest hashes (within a quarter, mostly)."""
        if len(self.sites) < MAX_SITES:
            return len(self.sites)
        return max(MAX_SITES, (MAX_SITES - 1) * _HASHES // (self.sites[-1][0] + 1))


WordSums = dict[str, WordSum]


def page_words(page: PageStatements) -> set[str]:
    """Return the words of a page's title, headings and sentences, in lower case. Code is left out."""
    texts = [page.title]
    for statement in (each for each in page.statements[:MAX_STATEMENTS] if not each.doubtful):
        if statement.kind != "code":
            texts += (*statement.context, statement.text)
    return text_words(texts)


def text_words(texts: Iterable[str]) -> set[str]:
    """Return the words of the texts of one page, in lower case."""
    found: set[str] = set()
    for text in dict.fromkeys(texts):
        for word in words_of(text):
            if len(found) >= MAX_PAGE_WORDS:
                return found
            found.add(word)
    return found


def words_of(text: str) -> Iterator[str]:
    """Yield the words of a text that consist of letters, in lower case, without elided ones before and `'s` behind."""
    read = text[:_READ_CHARS]
    for token in (read if read.isascii() else nfkc(read)).lower().split():
        for part in token.strip(_EDGES).split("-"):
            word = part
            if not part.isalpha():
                word = part[elided_chars(part) :].translate(APOSTROPHES).removesuffix("'s")
            if MIN_INDEX_CHARS <= len(word) <= MAX_CHARS and word.replace("'", "").isalpha():
                yield word


def site_of(host: str, key: str) -> Hosts:
    """Return a host with the hash of its site, by the key of a build."""
    digest = blake2b(witness_of(host).encode(), digest_size=4, key=key.encode()[:64]).digest()
    return ((int.from_bytes(digest, "big"), host),)


def add_words(sums: WordSums, words: Iterable[str], site: Hosts) -> None:
    found = WordSum(1, site)
    for word in words:
        known = sums.get(word)
        if known is None:
            sums[word] = WordSum(1, found.sites)
        else:
            known.add(found)


def pack_words(sums: WordSums) -> dict[int, bytes]:
    """Return the sums of each shard as MessagePack."""
    rows: defaultdict[int, list[tuple[str, int, Hosts]]] = defaultdict(list)
    for word, own in sums.items():
        rows[zlib.crc32(word.encode("utf-8", "replace")) % SHARDS].append((word, own.pages, own.sites))
    return {shard: pack(found) for shard, found in rows.items()}


def unpack_words(values: Iterable[bytes]) -> WordSums:
    """Return the sums of a shard, added up, in bounded memory."""
    sums: WordSums = {}
    shared: dict[tuple[int, str], tuple[int, str]] = {}
    """Each host of a site once: 16 of each word would be a kilobyte a word."""
    for value in values:
        for word, pages, sites in unpack_values(value):
            found = WordSum(pages, tuple(shared.setdefault(site, site) for site in sites))
            known = sums.setdefault(word, found)
            if known is not found:
                known.add(found)
        if len(sums) > MAX_SUMMED:
            sums = {word: own for word, own in sums.items() if len(own.sites) > 1}
    return sums


def choose_words(
    sums: WordSums, min_sites: int, blocks: Callable[[str], bool], most: int = MAX_CHOSEN_WORDS
) -> list[StoredWord]:
    """Return the heaviest words that enough sites have, none blocked, the heaviest first."""
    rows = [(-own.weight, word) for word, own in sums.items() if own.site_count >= min_sites and not blocks(word)]
    return [
        StoredWord(word, -weight, _named(sums[word].sites[: min_sites + 1]), min(min_sites, MAX_SITES))
        for weight, word in sorted(rows)[:most]
    ]


def _named(sites: Hosts) -> tuple[str, ...]:
    return tuple(host for _, host in sites)


def weights_of(words: Iterable[StoredWord]) -> dict[str, int]:
    return {word.text: word.weight for word in words}
