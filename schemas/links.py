"""Events of the link graph. They are keyed by the target's host, so that one agent collects the anchors of a page."""

from collections.abc import Iterator
from typing import ClassVar
from uuid import UUID

from pydantic import BaseModel, ConfigDict

from schemas.envelope import Event
from schemas.ids import page_id


class MoreLink(BaseModel):
    """One further link of a LinkFound."""

    model_config = ConfigDict(frozen=True, extra="ignore", use_attribute_docstrings=True)

    target_url: str
    anchor: str = ""
    nofollow: bool = False


class LinkFound(Event):
    """A page links to one or more pages of a host, each with an anchor text."""

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
    more: tuple[MoreLink, ...] = ()
    """Further links of the same page to the same host. The fields above are the first one."""
    lost: bool = False
    """True if the page has these links no more. `generation` is the removal's, or the last one before the page was read
    without them: links that were found later stay."""

    def key(self) -> str:
        return self.target_host or str(self.target_page_id)

    def subject(self) -> str:
        return str(self.target_page_id)

    def each(self) -> Iterator["LinkFound"]:
        """Yield an event with one link for each link, in their order."""
        if not self.more:
            yield self
            return
        yield self.model_copy(update={"more": ()})
        for link in self.more:
            target = {"target_page_id": page_id(link.target_url), **link.model_dump()}
            yield self.model_copy(update={**target, "more": ()})
