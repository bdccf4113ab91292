"""The type of a quirk."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Quirk:
    """Knowledge about one site's markup. The CSS selectors apply to the tree before the walk."""

    hosts: tuple[str, ...]
    """Exact host names, or `*.example.org`."""
    content: str = ""
    """Selector of the element with the main content. If it matches, all text inside is main content, all text
    outside is boilerplate, and the content model is not used."""
    drop: tuple[str, ...] = ()
    """Selectors of elements that are boilerplate, wherever they are."""
    drop_sections: tuple[str, ...] = ()
    """Headings (in lower case) of sections that are dropped, up to the next heading of the same rank."""
    title_endings: tuple[str, ...] = ()
    """Texts that the site appends to its titles."""
