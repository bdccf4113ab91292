"""The items of a source, whatever its markup: the readers of this folder make one for each page."""

from dataclasses import dataclass, field


@dataclass(slots=True)
class Source:
    """The items of a source in its order, without markup."""

    title: str = ""
    names: list[str] = field(default_factory=list)
    """Headings, terms, header cells, first cells, captions, signatures."""
    values: list[str] = field(default_factory=list)
    """Cells, definitions, list items."""
    code: list[str] = field(default_factory=list)
    """Listings."""
    texts: list[str] = field(default_factory=list)
    """Everything else: paragraphs."""
    is_index: bool = False
    """True if the generator puts a list of other pages into this one: its links are content."""

    @property
    def text(self) -> str:
        return "\n".join([self.title, *self.names, *self.values, *self.code, *self.texts])
