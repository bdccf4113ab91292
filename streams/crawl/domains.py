"""The registrable domain of a host, by the public suffix list, and the owner of a host. Pure.

    www.example.co.uk   example.co.uk
    me.github.io        me.github.io    platforms have a suffix of their own in the list
    example.co.uk       example.co.uk

The list is the one of the installed package, which has a release every few days.
"""

from collections.abc import Iterable
from functools import lru_cache
from urllib.parse import urlsplit

from publicsuffixlist import PublicSuffixList

_SUFFIXES = PublicSuffixList(accept_unknown=False)
MAX_HOSTS = 8_192
"""Maximum number of hosts whose domain is in memory, about 3 MB. A look-up in the list takes some microseconds."""
_FOR_TESTS = frozenset({"example", "test"})
"""Top level domains of documentation and tests (RFC 2606, section 2)."""


@lru_cache(maxsize=MAX_HOSTS)
def registrable_domain(host: str) -> str:
    """Return the registrable domain of a host in ASCII. A host without a known suffix: its last two labels."""
    if domain := _SUFFIXES.privatesuffix(host):
        return domain
    labels = host.split(".")
    return host if _SUFFIXES.publicsuffix(host) else ".".join(labels[-2:])


@lru_cache(maxsize=MAX_HOSTS)
def has_public_suffix(host: str) -> bool:
    """Return whether the host's name can be registered by somebody: its end is a known public suffix."""
    return host.rpartition(".")[2] in _FOR_TESTS or _SUFFIXES.publicsuffix(host) is not None


def owner_of(host: str) -> str:
    """Return a key for the owner of a host: hosts with one key may have one owner. It is the registrable domain.

    Whatever an owner has one of in common asks here: budgets, the pace, turns, links that count once.
    """
    return registrable_domain(host)


def may_be_one_owner(host: str, other: str) -> bool:
    """Return whether two hosts may have one owner."""
    return host == other or owner_of(host) == owner_of(other)


def is_page_below(url: str, domains: Iterable[str]) -> bool:
    """Return True if the page's host is one of the domains, or a subdomain of one."""
    return is_below(urlsplit(url).hostname or "", domains)


def is_below(host: str, domains: Iterable[str]) -> bool:
    """Return True if the host is one of the domains, or a subdomain of one."""
    return any(host == domain or host.endswith(f".{domain}") for domain in domains)


def are_twins(host: str, other: str) -> bool:
    """Return whether two hosts differ only by `www.`: people take them for one site."""
    return host != other and host.removeprefix("www.") == other.removeprefix("www.") != ""
