"""Rights of keys that write: each may write the addresses of its domains. Pure."""

from collections.abc import Collection
from dataclasses import dataclass

from streams.allowed_origins import EVERY_ORIGIN, AllowedOrigins, is_public, origin_of
from streams.crawl.domains import is_page_below
from streams.crawl.urls import InvalidUrl, with_scheme
from streams.errors import UsageError

EVERY_HOST = "*"
"""In the place of a key's domains: every one."""


class NotWritable(UsageError):
    """An address is none of those that the key may write."""


@dataclass(frozen=True, slots=True)
class Writer:
    """A key, as far as it writes."""

    key: str
    """Its id."""
    name: str
    hosts: tuple[str, ...]
    """Domains, or EVERY_HOST."""

    @property
    def is_bound(self) -> bool:
        """True if the key may write only the pages of some domains."""
        return EVERY_HOST not in self.hosts

    def address_of(self, text: str, origins: AllowedOrigins) -> str:
        """Return the canonical URL of an address that the key may write. Raises UsageError, or NotWritable.

        An address that is not public (a port, http, a name of one label) must be at a domain that the key names, or at
        an origin that the operator allowed.
        """
        try:
            url = origins.place(with_scheme(text, EVERY_ORIGIN))
            if not is_public(url) and not self.is_bound and not origins.allows(origin_of(url)):
                url = origins.place(with_scheme(text, origins))
        except InvalidUrl as error:
            raise UsageError(f"{text[:200]!r} is no address of a page: {error}") from None
        if self.is_bound and not is_page_below(url, self.hosts):
            raise NotWritable(f"{url[:200]} is of no domain of the key. Its domains are {', '.join(self.hosts)}")
        return url


def hosts_of(key_hosts: Collection[str], site_hosts: Collection[str]) -> tuple[str, ...]:
    """Return the domains that a key may write: its own, or the domains of its site."""
    return tuple(key_hosts or site_hosts)
