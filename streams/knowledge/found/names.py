"""The entities that the index names: their ids, and the names under which other sites link to their pages. Pure.

A page does not choose its name: only names count that many registrable domains use as the text of a link. One owner can
make any number of pages and subdomains, so a domain counts once.
"""

from collections import Counter
from collections.abc import Collection, Iterable
from uuid import UUID

from streams.knowledge.names import name_key
from streams.links.page_links import group_by_domain
from streams.stores.protocols import PageLink

MIN_DOMAINS = 5
"""Minimum number of registrable domains that link to a page under one name."""
MIN_SHARE = 0.3
"""Minimum share of the first name in all domains that link with a text."""
MAX_NAMES = 5
_GENERIC_NAMES = (
    "here|click here|this|this page|link|home|homepage|home page|website|site|official website|official site|web|www|"
    "source|read more|more|learn more|details|page|start|about|about us|contact|login|download"
)
GENERIC = frozenset(_GENERIC_NAMES.split("|"))
"""Texts of links that name nothing."""


def agreed_names(links: Iterable[PageLink], min_domains: int = MIN_DOMAINS) -> dict[str, int]:
    """Return the keys of the names that at least `min_domains` domains use, each with their number, the most first.

    Empty if no name is used by enough domains, or if the first one has too small a share. Links marked nofollow don't
    count.
    """
    counts: Counter[str] = Counter()
    naming = 0
    for domain in group_by_domain(link for link in links if not link.nofollow):
        keys = {name_key(link.anchor) for link in domain.links} - {""}
        naming += bool(keys)
        counts.update(key for key in keys if key not in GENERIC and not key.isdecimal())
    agreed = sorted(((key, count) for key, count in counts.items() if count >= min_domains), key=_first)[:MAX_NAMES]
    return dict(agreed) if agreed and agreed[0][1] >= MIN_SHARE * naming else {}


def _first(row: tuple[str, int]) -> tuple[int, str]:
    return -row[1], row[0]


def named_so(name: str, names: Collection[str]) -> bool:
    """Return whether a name is one of these keys."""
    return name_key(name) in names


SOURCE = "index"
PREFIX = "page:"


def entity_id_of(page_id: UUID) -> str:
    """Return the id of the entity that a page is about."""
    return f"{PREFIX}{page_id}"


def page_of(entity_id: str) -> UUID | None:
    """Return the page of an entity that was found in the index; None for another entity."""
    try:
        return UUID(entity_id.removeprefix(PREFIX)) if entity_id.startswith(PREFIX) else None
    except ValueError:
        return None
