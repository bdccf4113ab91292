"""The own words of a site, by its owner: texts that mean the same there, and pages that come first for a query. Pure.

They hold only in searches that are limited to the site (`Visible.site`): with a key of the site, and on its own page of
search. So they find and order pages of the site, and no page of another. What is removed, blocked or not visible to
the reader is not in the lists of the index, and a pinned page comes first only if it is there.

A synonym adds the words of the other texts to the list by words: a statement has a word of the query if it has one of
them. Meaning is searched as it was asked.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache

from streams.crawl.domains import is_page_below
from streams.crawl.urls import InvalidUrl, page_urls
from streams.errors import UsageError
from streams.pages.text.normal_forms import nfkc
from streams.pages.text.tokens import index_words
from streams.plain_text import clean_line
from streams.search.ranking.confidence import NamedWord
from streams.search.ranking.context import RankingContext
from streams.stores.protocols import PageHits, Site, SparseVector
from streams.vectors.bm25 import MAX_QUERY_TERMS, make_vector, named_query_words

MAX_GROUPS = 200
"""Maximum groups of synonyms of a site."""
MAX_TEXTS = 10
"""Maximum texts of a group."""
MAX_TEXT_CHARS = 60
MAX_TEXT_WORDS = 4
MAX_PINNED = 200
"""Maximum pinned pages of a site."""
MAX_QUERY_CHARS = 200
MAX_BYTES = 512 * 1024
"""Maximum size of the own words of a site as JSON (bytes): 200 groups of ten texts and 200 long addresses."""
_KEPT_SITES = 64
"""Number of sites whose synonyms are kept in words: at most 2,000 short texts each."""
MAX_USED = 8
"""Maximum groups that one query uses: the first ones of the site."""


@dataclass(frozen=True, slots=True)
class Used:
    """The own words that one query uses."""

    synonyms: tuple[tuple[str, ...], ...] = ()
    """Each text of the query with the texts that mean the same."""
    pinned: str = ""
    """The address of the page that comes first; empty if there is none."""

    @property
    def texts(self) -> str:
        """The texts that were searched beside the query."""
        return " ".join(other for _, *others in self.synonyms for other in others)

    def explained(self) -> dict[str, dict[str, str]]:
        """Return what `explain` says of them, by name."""
        synonyms = {text: ", ".join(others) for text, *others in self.synonyms}
        found = {"synonyms": synonyms, "pinned": {"page": self.pinned} if self.pinned else {}}
        return {name: facts for name, facts in found.items() if facts}


NONE_USED = Used()


def used_by(text: str, asked: str, site: Site | None) -> Used:
    """Return the own words for a query. `text`: without its operators, `asked`: as it was asked."""
    if site is None or not (site.synonyms or site.pinned):
        return NONE_USED
    words = index_words(text)
    found = [
        (own, *(other for other, _ in group if other != own))
        for group in _in_words(site.synonyms)
        if (own := next((each for each, of_text in group if _stands_in(of_text, words)), ""))
    ]
    key = normalize(asked)
    return Used(tuple(found[:MAX_USED]), next((url for query, url in site.pinned if query == key), ""))


@lru_cache(_KEPT_SITES)
def _in_words(synonyms: tuple[tuple[str, ...], ...]) -> list[list[tuple[str, list[str]]]]:
    """Return the groups with the words of each text: each search of the site compares all of them with its query."""
    return [[(text, index_words(text)) for text in group] for group in synonyms]


def _stands_in(part: Sequence[str], words: Sequence[str]) -> bool:
    """Return whether words stand in others, one behind the other."""
    places = range(len(words) - len(part) + 1)
    return bool(part) and any(list(words[at : at + len(part)]) == list(part) for at in places)


def add_synonyms(
    named: Sequence[NamedWord], sparse: SparseVector, used: Used, language: str
) -> tuple[tuple[NamedWord, ...], SparseVector]:
    """Return the words and the vector of a query with the words of its synonyms.

    The other texts weigh together as much as the words of the query that mean the same.
    """
    weights = dict(zip(sparse.indices, sparse.values, strict=True))
    forms = dict(named)
    for own, *others in used.synonyms:
        meant = [word for word, _ in named_query_words(own, language)] or index_words(own)
        for other in others:
            found = named_query_words(other, language)
            terms = tuple(term for _, of_word in found for term in of_word)
            for term in terms:
                if term not in weights and len(weights) < MAX_QUERY_TERMS:
                    weights[term] = min(1.0, len(meant) / len(found))
            forms |= {word: (*forms[word], *terms) for word in meant if word in forms}
    return tuple((text, tuple(dict.fromkeys(forms[text]))) for text, _ in named), make_vector(weights)


def put_pinned_first(context: RankingContext, pages: list[PageHits]) -> list[PageHits]:
    """Apply the pass `pinned`: put the page that the site has pinned for the query first."""
    pinned = [page for page in pages if page.hits[0].payload.url == context.pinned] if context.pinned else []
    if not pinned:
        return pages
    first = pages[0].score
    for page in pinned:
        context.notes.note_part(page.page_id, "pinned", max(first - page.score, 0.0) + 1.0)
    others = [page for page in pages if page not in pinned]
    return [*(replace(page, score=first + 1.0) for page in pinned), *others]


def normalize(query: str) -> str:
    """Return a query as it is compared with others: its words in lower case, without what stands between them."""
    return " ".join(index_words(query)) or " ".join(nfkc(query).casefold().split())


def checked(site: Site, synonyms: Iterable[Sequence[str]], pinned: Iterable[tuple[str, str]]) -> Site:
    """Return the site with these own words, as they are stored. Raises UsageError."""
    groups = tuple(tuple(dict.fromkeys(_text(each) for each in group)) for group in synonyms)
    pages = {_query(query): _page(url, site) for query, url in pinned}
    if len(groups) > MAX_GROUPS or len(pages) > MAX_PINNED:
        raise UsageError(f"a site has at most {MAX_GROUPS} groups of synonyms and {MAX_PINNED} pinned pages")
    if wrong := next((group for group in groups if not 2 <= len(group) <= MAX_TEXTS), None):
        raise UsageError(f"a group of synonyms has 2 to {MAX_TEXTS} texts: {', '.join(wrong)[:200]}")
    return replace(site, synonyms=groups, pinned=tuple(pages.items()))


def _text(text: str) -> str:
    found = clean_line(text).casefold()
    words = index_words(found)
    if len(found) > MAX_TEXT_CHARS or not 1 <= len(words) <= MAX_TEXT_WORDS:
        raise UsageError(
            f"a synonym has 1 to {MAX_TEXT_WORDS} words and at most {MAX_TEXT_CHARS} characters: {found[:80]!r}"
        )
    return found


def _query(query: str) -> str:
    if len(query) > MAX_QUERY_CHARS or not (found := normalize(query)):
        raise UsageError(f"a page is pinned for a query of 1 to {MAX_QUERY_CHARS} characters: {query[:80]!r}")
    return found


def _page(url: str, site: Site) -> str:
    try:
        found = page_urls(url)[0]
    except InvalidUrl as error:
        raise UsageError(f"{url[:200]!r} is no page's address: {error}") from None
    if not is_page_below(found, site.hosts):
        raise UsageError(f"the site {site.name} has no page {found[:200]}: its hosts are {', '.join(site.hosts)}")
    return found
