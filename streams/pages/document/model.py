"""The semantic document: what is left of a page when everything but meaning is gone.

Two flat tuples, so that any text is reached without walking a tree: `blocks` holds all text, in reading order, and
`containers` holds the structure around it. A block or container names its parent by index into `containers`. The
parts are named tuples, because a page has hundreds of them, and these are made in a third of a frozen dataclass's time.
"""

from dataclasses import dataclass, field
from typing import Any, NamedTuple

TEXT_TAGS = ("h1", "h2", "h3", "h4", "h5", "h6", "p", "pre")
"""Tags of blocks: the only ones that hold text."""
CONTAINER_TAGS = (
    "blockquote",
    "ul",
    "ol",
    "li",
    "dl",
    "dt",
    "dd",
    "table",
    "caption",
    "thead",
    "tbody",
    "tfoot",
    "tr",
    "th",
    "td",
    "figure",
    "figcaption",
)


class Container(NamedTuple):
    """A structural element. Its parent is an earlier container, or -1 for the document itself."""

    tag: str
    parent: int = -1


class Span(NamedTuple):
    """A part of a block's text that has a meaning of its own: `text[start:end]`."""

    start: int
    end: int
    kind: str
    """link, code, em, strong, math, image or footnote."""
    target: str = ""
    """A link's absolute URL, an image's source, a footnote's text."""
    label: str = ""
    """An image's alternative text. Images and footnotes take no room in the text: their start is their end."""


class Block(NamedTuple):
    """A run of text: trimmed and collapsed, except in `pre`, which keeps its lines."""

    tag: str
    text: str
    parent: int = -1
    spans: tuple[Span, ...] = ()
    language: str = ""
    """Of the code, in a `pre`; otherwise BCP 47 where it differs from the page's."""
    confidence: float = 0.0
    """How sure `language` is by the text (0..1); 0 where markup alone says it, and where it is empty."""
    script: str = ""
    """ISO 15924, where most of the text isn't in the page's."""


class Identified(NamedTuple):
    """A language as BCP 47 (empty: not known), how sure that is (0..1), and the script as ISO 15924."""

    language: str = ""
    confidence: float = 0.0
    script: str = ""


class Link(NamedTuple):
    """An out-link of the page, from content and chrome alike, in order, absolute and not yet canonical."""

    url: str
    text: str = ""
    nofollow: bool = False
    in_content: bool = True


@dataclass(frozen=True, slots=True)
class Document:
    """A page's meaning."""

    url: str
    title: str = ""
    description: str = ""
    language: str = ""
    language_confidence: float = 0.0
    script: str = ""
    """That of most of its text, ISO 15924."""
    containers: tuple[Container, ...] = ()
    blocks: tuple[Block, ...] = ()
    links: tuple[Link, ...] = ()
    facts: dict[str, Any] = field(default_factory=dict)
    """author, published, modified, site_name, image, canonical, feeds, breadcrumbs, licence, structured data."""

    @property
    def text(self) -> str:
        """All text, a block a line."""
        return "\n".join([block.text for block in self.blocks])

    def identified(self, block: Block) -> Identified:
        """The language of one of its blocks: the page's, unless the block says another, or is in another script."""
        script = block.script or self.script
        if block.tag == "pre":
            return Identified(script=script)
        if block.language or block.script:
            return Identified(block.language, block.confidence, script)
        return Identified(self.language, self.language_confidence, script)

    def ancestors(self, block: Block) -> list[int]:
        """Indices of the containers around a block, the innermost first."""
        chain: list[int] = []
        index = block.parent
        while index >= 0:
            chain.append(index)
            index = self.containers[index].parent
        return chain
