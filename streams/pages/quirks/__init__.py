"""Knowledge about the markup of single sites: one module for each site, with its `QUIRKS`.

A site with different parts has several quirks. Rules for all sites are in `content` and `parse`.
"""

from dataclasses import dataclass
from functools import cache
from importlib import import_module
from pkgutil import iter_modules


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


@cache
def _by_host() -> dict[str, Quirk]:
    found: dict[str, Quirk] = {}
    for module in iter_modules(__path__):
        quirks: tuple[Quirk, ...] = import_module(f"{__name__}.{module.name}").QUIRKS
        found.update((host, quirk) for quirk in quirks for host in quirk.hosts)
    return found


def load_quirks() -> None:
    """Import the modules of all sites, for a process that opens no file later."""
    _by_host()


def quirk_of(host: str) -> Quirk | None:
    """Return the quirk of a host. `*.wikipedia.org` means all hosts below wikipedia.org."""
    known = _by_host()
    return known.get(host) or known.get("*." + host.partition(".")[2])
