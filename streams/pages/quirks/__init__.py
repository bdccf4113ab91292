"""Knowledge about the markup of single sites: one module for each site, with its `QUIRKS`.

A site with different parts has several quirks. Rules for all sites are in `content` and `parse`.
"""

from functools import cache
from importlib import import_module
from pkgutil import iter_modules

from streams.pages.quirks.form import Quirk


@cache
def _by_host() -> dict[str, Quirk]:
    found: dict[str, Quirk] = {}
    for module in iter_modules(__path__):
        if module.name != "form":
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


__all__ = ["Quirk", "load_quirks", "quirk_of"]
