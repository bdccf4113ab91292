"""The links between hosts, and the links to pages."""

from collections.abc import Collection, Mapping
from dataclasses import dataclass
from typing import Protocol, Self
from uuid import UUID

from schemas import LinkFound


@dataclass(frozen=True, slots=True)
class HostRank:
    """The in-links and the rank of a host, as far as they are known."""

    in_links: int = 0
    """Number of hosts that link to the host, rounded down."""
    rank: float | None = None
    """The PageRank of the host: 1 without in-links. None: not computed yet."""


@dataclass(frozen=True, slots=True)
class PageLink:
    """A link to a page from a page of another registrable domain."""

    host: str
    """Host of the linked page."""
    page_id: UUID
    """The linked page."""
    place: int
    """The place of the row among the links of the page."""
    source_url: str
    anchor: str = ""
    nofollow: bool = False


@dataclass(frozen=True, slots=True)
class LinkGroup:
    """Links of a page to pages of one host, as one event had them."""

    urls: tuple[str, ...]
    generation: int
    """The last generation of the linking page with this group."""
    followed: bool = True
    """False if all links of the group are marked nofollow."""

    @classmethod
    def of(cls, event: LinkFound) -> Self:
        """Return the group of all links of an event."""
        links = list(event.links())
        is_followed = not all(link.nofollow for link in links)
        return cls(tuple(link.target_url for link in links), event.generation, is_followed)


class HostLinks(Protocol):
    """The graph of hosts: which hosts link to a host, and its rank.

    `at` is the write time: the generation of the linking page. A later write or deletion of the same row holds, in
    whatever order they come.
    """

    async def sources(self, host: str, limit: int) -> dict[str, str]:
        """Return hosts that link to this host, at most `limit`, each with the URL of a page that has the link."""

    async def source_page(self, host: str, source: str) -> tuple[str, int] | None:
        """Return the page behind the link of `source` to `host`, and the write time of the row."""

    async def add(
        self,
        host: str,
        source: str,
        source_url: str,
        at: int,
        in_links: int | None = None,
        links: Collection[PageLink] = (),
    ) -> None:
        """Store a link from a page of the host `source` to `host`. The last page of a source stays.

        `in_links`: the number of hosts that link to `host`, which is stored with the link: both or none. `links`: links
        to pages of `host`, as in `put_page_links`: they are stored by the same write, or before it.
        """

    async def remove(self, host: str, source: str, at: int) -> None:
        """Delete the link of `source` to `host`."""

    async def put_in_links(self, host: str, in_links: int) -> None: ...

    async def put_ranks(self, ranks: Mapping[str, float]) -> None: ...

    async def ranks(self, hosts: Collection[str]) -> dict[str, HostRank]:
        """Return the in-links and ranks of some hosts. Hosts without either are left out."""

    async def scan(self, after: int, upto: int, limit: int) -> list[tuple[int, str, tuple[str, ...]]]:
        """Return the next linked hosts with a token above `after` and at most `upto`, by token, each with its sources.

        Tokens are hashes of hosts, from -2^63 to 2^63 - 1.
        """

    async def put_page_links(self, links: Collection[PageLink], at: int) -> None:
        """Store links to pages of one host. A row with the same page and place is replaced."""

    async def page_links(self, host: str, page_id: UUID, limit: int, first_place: int = 0) -> list[PageLink]:
        """Return the links to a page of this host by place, from a place on, at most `limit`."""

    async def remove_page_link(self, link: PageLink, at: int) -> None:
        """Delete the row of a link."""

    async def put_links_of(self, source: UUID, group: LinkGroup) -> None:
        """Store a group of links of the page `source`, at its generation. The same group is replaced.

        The groups of a page that is read are stored with its record (`Pages.put`).
        """

    async def links_of(self, source: UUID) -> list[LinkGroup]:
        """Return the groups of links of a page."""

    async def remove_links_of(self, source: UUID, group: LinkGroup) -> None:
        """Delete a group of links of a page, at the generation of `group`: with the same URLs, and followed or not."""
