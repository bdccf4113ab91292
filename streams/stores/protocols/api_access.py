"""The keys of programs that use the API, their webhooks, and the sites that have a search of their own."""

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Protocol

from streams.stores.rows import Row


@dataclass(frozen=True, slots=True)
class ApiKey:
    """A key of the API, without its secret. Times are in microseconds since 1970 UTC."""

    id: str
    name: str
    """Name that the operator gave it."""
    digest: bytes
    """SHA-256 of the secret."""
    scopes: tuple[str, ...] = ()
    created: int = 0
    expires: int = 0
    """0: never."""
    revoked: int = 0
    """0: it was not revoked."""
    per_minute: int = 0
    """Work units that are added to the key's bucket in a minute. 0: as the settings say."""
    per_day: int = 0
    """Maximum work units of a day (UTC). 0: as the settings say."""
    site: str = ""
    """The site whose pages the key may search and read. Empty: all pages."""
    hosts: tuple[str, ...] = ()
    """Domains, with their subdomains, whose pages the key may crawl, write and remove; `*`: every one. Empty: the
    domains of its site."""
    writes_per_day: int = 0
    """Maximum pages that the key may write or have crawled in a day (UTC). 0: the default."""
    stored: Row | None = field(default=None, repr=False, compare=False)


@dataclass(frozen=True, slots=True)
class Site:
    """A group of hosts with a search of its own."""

    name: str
    title: str
    hosts: tuple[str, ...]
    """Domains, with their subdomains."""
    is_private: bool = False
    """True: its pages are found only by its own search, with a key of the site."""
    synonyms: tuple[tuple[str, ...], ...] = ()
    """Groups of texts that mean the same in searches of the site (`streams.search.own_words`)."""
    pinned: tuple[tuple[str, str], ...] = ()
    """Queries, normalized, each with the address of the page that comes first."""
    stored: Row | None = field(default=None, repr=False, compare=False)


@dataclass(frozen=True, slots=True)
class HookSecret:
    """A secret with which the events of a hook are signed."""

    secret: str
    until: int = 0
    """Time until which it signs, microseconds since 1970 UTC. 0: until it is replaced."""


@dataclass(frozen=True, slots=True)
class Hook:
    """A webhook: the address of a program that hears of pages. Times are in microseconds since 1970 UTC."""

    id: str
    key: str
    """Id of the key that made it. The hook hears only of pages that this key may see."""
    url: str
    events: tuple[str, ...]
    """Topics of the events that it hears."""
    secrets: tuple[HookSecret, ...]
    """The newest first. Two of them, while one is exchanged."""
    prefix: str = ""
    """The beginning of the addresses of the pages that it hears of. Empty: all that its key may see."""
    note: str = ""
    created: int = 0
    stored: Row | None = field(default=None, repr=False, compare=False)


def private_hosts(sites: Iterable[Site]) -> tuple[str, ...]:
    """Return the domains of the private sites, in order."""
    return tuple(sorted({host for site in sites if site.is_private for host in site.hosts}))


class ApiKeys(Protocol):
    """The keys of the API, and the sites."""

    async def put(self, key: ApiKey, at: int) -> None:
        """Store a key. An older write never replaces a newer one."""

    async def get(self, key_id: str) -> ApiKey | None: ...

    async def all(self) -> list[ApiKey]:
        """Return all keys, by their ids."""

    async def put_hook(self, hook: Hook, at: int) -> None: ...

    async def remove_hook(self, hook_id: str, at: int) -> None: ...

    async def hooks(self) -> list[Hook]:
        """Return all webhooks, by their ids."""

    async def put_site(self, site: Site, at: int) -> None: ...

    async def remove_site(self, name: str, at: int) -> None: ...

    async def sites(self) -> list[Site]:
        """Return all sites, by their names."""
