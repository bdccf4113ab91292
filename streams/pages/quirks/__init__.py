"""What is peculiar to single sites, declared: one module a site, each with its `QUIRKS`, of which there
are more where parts of the site differ. General rules belong elsewhere."""

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


def quirk_of(host: str) -> Quirk | None:
    """The host's quirk; `*.wikipedia.org` stands for all hosts below wikipedia.org."""
    known = _by_host()
    return known.get(host) or known.get("*." + host.partition(".")[2])


__all__ = ["Quirk", "quirk_of"]
