"""What is peculiar to single sites, declared: one module a site, each with a `QUIRK`. General rules belong
elsewhere."""

from functools import cache
from importlib import import_module
from pkgutil import iter_modules

from streams.pages.quirks.form import Quirk


@cache
def _by_host() -> dict[str, Quirk]:
    found: dict[str, Quirk] = {}
    for module in iter_modules(__path__):
        if module.name != "form":
            quirk: Quirk = import_module(f"{__name__}.{module.name}").QUIRK
            found.update(dict.fromkeys(quirk.hosts, quirk))
    return found


def quirk_of(host: str) -> Quirk | None:
    """The host's quirk; `*.wikipedia.org` stands for all hosts below wikipedia.org."""
    known = _by_host()
    return known.get(host) or known.get("*." + host.partition(".")[2])


__all__ = ["Quirk", "quirk_of"]
