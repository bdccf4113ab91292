"""The statement: one sentence that can be found, read and understood alone."""

from dataclasses import dataclass
from uuid import UUID

from streams.pages.text.box_labels import drop_box_labels


@dataclass(frozen=True, slots=True)
class Statement:
    """A sentence (or row, or item) with its context."""

    id: UUID
    ordinal: int
    """Position in the page, from 0."""
    text: str
    context: tuple[str, ...] = ()
    """Texts that a reader needs before it, the widest first: title, headings, lead-in, column headings, antecedents."""
    kind: str = "sentence"
    """sentence, item, link (an item that is only links), list, row, code or heading."""
    block: int = 0
    """Index of the statement's block in the document."""
    start: int = 0
    end: int = 0
    """Place in the block: its text is `document.blocks[block].text[start:end]`, except in a row."""
    chain: tuple[int, ...] = ()
    """Ordinals of its antecedents, the earliest first. Their texts are the last ones of the context."""
    need: float = 0.0
    """Probability that the statement needs an earlier sentence, by the chain model."""
    leaf: float = 1.0
    """Probability that the statement can be matched alone, by the chain model."""

    page: int = 0
    """Number of the page of the file (as in `#page=3`), from 1; 0 for a document without pages."""

    @property
    def in_context(self) -> str:
        """The embedding text: the context without labels of boxes, and the statement, each on one line.

        A listing of several lines is one line here: an encoder without room for the whole text leaves out lines before
        the last one.
        """
        return "\n".join(" ".join(part.split("\n")) for part in (*drop_box_labels(self.context), self.text))
