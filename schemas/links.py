"""Events of the link graph. They are keyed by the target, so that one agent collects a page's anchors."""

from typing import ClassVar
from uuid import UUID

from schemas.envelope import Event


class LinkFound(Event):
    """A page links to another page, with an anchor text."""

    topic: ClassVar[str] = "links.found"
    key_field: ClassVar[str] = "target_page_id"

    target_page_id: UUID
    target_url: str
    source_page_id: UUID
    source_url: str
    generation: int
    anchor: str = ""
    nofollow: bool = False

    def subject(self) -> str:
        return str(self.target_page_id)
