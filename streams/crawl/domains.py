"""Who owns a host: what is sure, what may be, and who is independent, by the public suffix list. Pure.

    question             asked for                                           www.a.example, shop.a.example
    surely_one_owner     own links, sitemaps, budgets, traps, quality        no
    may_be_one_owner     the pace, and what is looked at before it is sure   yes
    surely_independent   authority, spelling words, suggestions, turns       no

Each fails to its safe side. Two names below one registrable domain are mostly one owner's, and on a platform that the
list does not name they are two people's: no name says which. So there are pairs that are neither surely one owner's
nor surely independent of each other.

    www.example.co.uk   example.co.uk   its registrable domain
    me.github.io        me.github.io    platforms have a suffix of their own in the list
    example.co.uk       example.co.uk

The list is the one of the installed package, which has a release every few days.
"""

from collections.abc import Iterable
from functools import cache, lru_cache
from urllib.parse import urlsplit

from publicsuffixlist import PublicSuffixList

MAX_HOSTS = 8_192
"""Maximum number of hosts whose domain is in memory, about 3 MB. A look-up in the list takes some microseconds."""
_FOR_TESTS = frozenset({"example", "test"})
"""Top level domains of documentation and tests (RFC 2606, section 2)."""


@cache
def _suffixes(*, only_registries: bool = False) -> PublicSuffixList:
    """Return the list, read when it is first needed (40 ms): few processes need both forms.

    With `only_registries` a platform that gives names below its own is one name.
    """
    return PublicSuffixList(accept_unknown=False, only_icann=only_registries)


@lru_cache(maxsize=MAX_HOSTS)
def registrable_domain(host: str) -> str:
    """Return the registrable domain of a host in ASCII. A host without a known suffix: its last two labels."""
    return _registered_below(_suffixes(), host)


@lru_cache(maxsize=MAX_HOSTS)
def has_public_suffix(host: str) -> bool:
    """Return whether the host's name can be registered by somebody: its end is a known public suffix."""
    return host.rpartition(".")[2] in _FOR_TESTS or _suffixes().publicsuffix(host) is not None


def owner_of(host: str) -> str:
    """Return a key for the owner of a host: hosts with one key may have one owner. It is the registrable domain.

    Whatever an owner has one of in common asks here, such as budgets and the pace.
    """
    return registrable_domain(host)


@lru_cache(maxsize=MAX_HOSTS)
def witness_of(host: str) -> str:
    """Return the key of a witness: hosts with two keys are `surely_independent` of each other.

    It is the name that somebody registered. All names below a platform are one witness, whether the public suffix list
    has the platform or not: they cost nothing, so one person may have thousands of them. What counts independent sites
    asks here: authority, linking domains, words for spelling, suggestions, and the turns of strangers.
    """
    return _registered_below(_suffixes(only_registries=True), host)


def _registered_below(suffixes: PublicSuffixList, host: str) -> str:
    """Return the name that a host has below a suffix of the list. Without a known suffix: its last two labels.

    An address is itself. A port is no part of a name: who has one has all.
    """
    name = host if host.endswith("]") else host.rpartition(":")[0] or host
    if name[-1:] == "]" or name.rpartition(".")[2].isdecimal():
        return name
    if domain := suffixes.privatesuffix(name):
        return domain
    return name if suffixes.publicsuffix(name) else ".".join(name.split(".")[-2:])


def surely_one_owner(host: str, other: str) -> bool:
    """Return whether two hosts surely have one owner: they are one host, or differ only by `www.`.

    A host itself may name others that speak for it (`streams.crawl.frontier.scheduling.ordering.finder_of`).
    """
    is_of_one = are_twins(host, other) and not _is_suffix(host) and not _is_suffix(other)
    return host == other or (is_of_one and owner_of(host) == owner_of(other))


def may_be_one_owner(host: str, other: str) -> bool:
    """Return whether two hosts may have one owner."""
    return host == other or owner_of(host) == owner_of(other)


def surely_independent(host: str, other: str) -> bool:
    """Return whether two hosts surely have two owners: two people registered their names."""
    return witness_of(host) != witness_of(other)


def _is_suffix(host: str) -> bool:
    """Return whether others register names below the host: `www.pages.dev` may be anybody's."""
    return _suffixes().publicsuffix(host) == host


def is_page_below(url: str, domains: Iterable[str]) -> bool:
    """Return True if the page's host is one of the domains, or a subdomain of one."""
    return is_below(urlsplit(url).hostname or "", domains)


def is_below(host: str, domains: Iterable[str]) -> bool:
    """Return True if the host is one of the domains, or a subdomain of one."""
    return any(host == domain or host.endswith(f".{domain}") for domain in domains)


def are_twins(host: str, other: str) -> bool:
    """Return whether two hosts differ only by `www.`: people take them for one site."""
    return host != other and host.removeprefix("www.") == other.removeprefix("www.") != ""
