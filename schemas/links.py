"""Events of links. They are keyed by the target's host: one agent collects the anchors of a page, and one frontier
agent owns the linked URLs."""

from collections.abc import Iterator
from typing import ClassVar
from uuid import UUID

from pydantic import BaseModel, ConfigDict, Field

from schemas.crawl import PageDiscovered
from schemas.envelope import Event
from schemas.ids import page_id


class MoreLink(BaseModel):
    """One further link of a LinkFound."""

    model_config = ConfigDict(frozen=True, extra="ignore", use_attribute_docstrings=True)

    target_url: str
    anchor: str = ""
    nofollow: bool = False
    in_content: bool = True
    """True if the link is in the main content of a page that may be indexed: an edge of the link graph."""
    follow: bool = False
    """True if the crawl may follow the link. The frontier decides whether, and when."""


class LinkFound(Event):
    """A page links to one or more pages of a host, each with an anchor text. The frontier may follow some of them."""

    topic: ClassVar[str] = "links.found"
    key_field: ClassVar[str] = "target_host"

    target_page_id: UUID
    target_url: str
    target_host: str = ""
    """Host of all targets. Empty in events of earlier versions, which have one target and its page id as key."""
    source_page_id: UUID
    source_url: str
    generation: int
    anchor: str = ""
    nofollow: bool = False
    in_content: bool = True
    """True if the link is in the main content of a page that may be indexed: an edge of the link graph."""
    follow: bool = False
    """True if the crawl may follow the link. The frontier decides whether, and when."""
    more: tuple[MoreLink, ...] = ()
    """Further links of the same page to the same host. `target_url` to `follow` above describe the first one."""
    is_recorded: bool = False
    """True if the edges are stored with the record of the linking page, and found there when the page is gone."""
    lost: bool = False
    """True if the page has these links no more. `generation` is the removal's, or the last one before the page was read
    without them: links that were found later stay."""
    depth: int = Field(ge=0, default=0)
    """Number of hops from the seed to the targets, as in `pages.discovered`."""
    max_depth: int | None = None
    """As in `pages.discovered`, like the next four."""
    max_pages: int | None = None
    same_host: bool = False
    patterns: tuple[str, ...] = Field((), max_length=64)
    crawl_id: str = ""

    def key(self) -> str:
        return self.target_host or str(self.target_page_id)

    def subject(self) -> str:
        return str(self.target_page_id)

    def links(self) -> Iterator[MoreLink]:
        """Yield all links, in their order."""
        yield MoreLink.model_construct(**{name: getattr(self, name) for name in MoreLink.model_fields})
        yield from self.more

    def with_links(self, links: list[MoreLink]) -> "LinkFound | None":
        """Return the event with these links to the same host instead of its own. None without any."""
        if not links:
            return None
        first, *more = links
        target = {name: getattr(first, name) for name in MoreLink.model_fields}
        return self.model_copy(update={**target, "target_page_id": page_id(first.target_url), "more": tuple(more)})

    def edges(self) -> "LinkFound | None":
        """Return the event with only the edges of the link graph. None if it has none."""
        if self.in_content and all(link.in_content for link in self.more):
            return self
        return self.with_links([link for link in self.links() if link.in_content])

    def followed(self) -> PageDiscovered | None:
        """Return the links that the crawl may follow, as the frontier discovers them. None if there is none."""
        urls = [link.target_url for link in self.links() if link.follow]
        if not urls:
            return None
        return PageDiscovered(
            page_id=page_id(urls[0]),
            url=urls[0],
            more_urls=tuple(urls[1:]),
            host=self.target_host,
            why="link",
            depth=self.depth,
            max_depth=self.max_depth,
            max_pages=self.max_pages,
            same_host=self.same_host,
            patterns=self.patterns,
            crawl_id=self.crawl_id,
            referrer=self.source_url,
        )

    def each(self) -> Iterator["LinkFound"]:
        """Yield an event with one link for each link, in their order."""
        if not self.more:
            yield self
            return
        yield self.model_copy(update={"more": ()})
        for link in self.more:
            target = {"target_page_id": page_id(link.target_url), **link.model_dump()}
            yield self.model_copy(update={**target, "more": ()})
