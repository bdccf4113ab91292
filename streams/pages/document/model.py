"""The document: the text and structure of a page, without its markup and boilerplate.

A document is two flat tuples, so that texts are read without walking a tree. `blocks` has all text in reading order.
`containers` has the structure around it. A block or container names its parent by index in `containers`. The parts are
named tuples, because a page has hundreds of them, and a frozen dataclass takes three times as long to make.
"""

from bisect import bisect_right
from dataclasses import dataclass, field
from typing import Any, Literal, NamedTuple

CLEAN_GENERATOR = "Riffle document 2"
"""Generator name of a page that `to_html` wrote."""
DATA_TYPE = "application/vnd.riffle.document+json"
"""Type of the script with the fields that are not part of the text, written by `to_html`."""
TEXT_TAGS = ("h1", "h2", "h3", "h4", "h5", "h6", "p", "pre")
"""Tags of blocks. Only blocks have text."""
CONTAINER_TAGS = (
    "blockquote", "ul", "ol", "li", "dl", "dt", "dd", "table", "caption", "thead", "tbody", "tfoot", "tr", "th", "td",
    "figure", "figcaption",
)  # fmt: skip


SignIn = Literal["", "beside", "form"]
"""The place of a field to sign in with: none, beside the content, or the page is little more than the form."""


class Container(NamedTuple):
    """A structural element. Its parent is an earlier container, or -1 for the document itself."""

    tag: str
    parent: int = -1
    spanned_by: int = -1
    """An earlier cell of several rows or columns, for an empty cell that it takes the place of; else -1."""


class Span(NamedTuple):
    """A marked part of a block: `text[start:end]`."""

    start: int
    end: int
    kind: str
    """One of link, code, em, strong, math, image and footnote."""
    target: str = ""
    """A link's absolute URL, an image's source, a footnote's text."""
    label: str = ""
    """An image's alternative text. The start of an image or footnote is also its end."""


class Block(NamedTuple):
    """One text of a document. Its spaces are collapsed, and line breaks (`<br>`) are line feeds. `pre` keeps both."""

    tag: str
    text: str
    parent: int = -1
    spans: tuple[Span, ...] = ()
    language: str = ""
    """The language of the code in a `pre`. In other blocks the BCP 47 tag, if it differs from the page's."""
    confidence: float = 0.0
    """Probability of `language` by the text (0..1); 0 if only markup declares it, or if it is empty."""
    script: str = ""
    """The script of most of the text (ISO 15924), if it differs from the page's."""


class Identified(NamedTuple):
    """A language (BCP 47; empty if it is not known), its probability (0..1), and the script (ISO 15924)."""

    language: str = ""
    confidence: float = 0.0
    script: str = ""


class Link(NamedTuple):
    """A link of the page, from main content or boilerplate. Its URL is absolute and not yet canonical."""

    url: str
    text: str = ""
    nofollow: bool = False
    in_content: bool = True


@dataclass(frozen=True, slots=True)
class Document:
    """A page's text, structure, links and facts."""

    url: str
    title: str = ""
    description: str = ""
    language: str = ""
    language_confidence: float = 0.0
    script: str = ""
    """The script of most of the text (ISO 15924)."""
    containers: tuple[Container, ...] = ()
    blocks: tuple[Block, ...] = ()
    links: tuple[Link, ...] = ()
    facts: dict[str, Any] = field(default_factory=dict)
    """Facts that the page declares about itself, by name: docs/reference/document.md lists them."""

    version: int = 0
    """Version of the stage that made it (`topology`). 0: it was made outside of the stage, or before versions."""

    def page_of(self, block: int) -> int:
        """Return the number of the page of a file that a block is on, from 1; 0 for a document without pages."""
        return bisect_right(self.facts.get("pages") or (), block)

    @property
    def unread_chars(self) -> int:
        """Number of characters of a file that were not read, since it is longer than what is read of a file."""
        return int(self.facts.get("unread_chars") or 0)

    def anchors(self) -> dict[int, str]:
        """Return the anchor of each heading and term that an address leads to, by its block."""
        return dict(self.facts.get("anchors") or ())

    def doubtful(self) -> frozenset[int]:
        """Return the blocks whose text may be hidden from readers (`parse.hiding.doubts`)."""
        return frozenset(self.facts.get("doubtful") or ())

    @property
    def text(self) -> str:
        """All text, with one line for each block."""
        return "\n".join([block.text for block in self.blocks])

    def identified(self, block: Block) -> Identified:
        """Return the language of a block: the page's, unless the block has another language or script."""
        script = block.script or self.script
        if block.tag == "pre":
            return Identified(script=script)
        if block.language or block.script:
            return Identified(block.language, block.confidence, script)
        return Identified(self.language, self.language_confidence, script)

    def ancestors(self, block: Block) -> list[int]:
        """Return the indices of the containers around a block, the innermost first."""
        chain: list[int] = []
        index = block.parent
        while index >= 0:
            chain.append(index)
            index = self.containers[index].parent
        return chain
