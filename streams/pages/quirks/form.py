"""The form in which a site's peculiarities are declared."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Quirk:
    """All fields are optional; selectors are CSS, and apply to the tree before anything else reads it."""

    hosts: tuple[str, ...]
    """Exact host names, or `*.example.org`."""
    content: str = ""
    """Selector of the element that holds the page's own text. Where it matches, everything outside is chrome,
    everything inside is content, and the model isn't asked."""
    drop: tuple[str, ...] = ()
    """Selectors of what is not content, wherever it stands."""
    drop_sections: tuple[str, ...] = ()
    """Headings, in lower case, that are dropped with all that follows up to the next heading of their rank."""
    title_endings: tuple[str, ...] = ()
    """What the site adds to its titles."""
