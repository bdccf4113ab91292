"""Reads the header `Link` (RFC 8288): `<https://a.example/doc>; rel="canonical", </2>; rel=next`. Pure and linear."""

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field

MAX_LINKS = 100
"""Maximum number of links of a header that are read."""
_SEPARATORS = re.compile(r"[\s,]*+")
_TARGET = re.compile(r"<([^>]*+)>")
_PARAMETER = re.compile(r"""\s*+;\s*+(?:([^\s;,=]++)\s*+(?:=\s*+(?:"((?:[^"\\]|\\.)*+)"|([^\s;,"]*+)))?)?""", re.DOTALL)
_QUOTED_PAIR = re.compile(r"\\(.)", re.DOTALL)


@dataclass(frozen=True, slots=True)
class HeaderLink:
    """A link of the header. It says something about the answer itself, unless it has an `anchor`."""

    target: str
    """The address, perhaps relative to the address of the page."""
    parameters: Mapping[str, str] = field(default_factory=dict)
    """The first value of each parameter, by its name in lower case (3.3: later ones are ignored)."""

    @property
    def relations(self) -> list[str]:
        return self.parameters.get("rel", "").lower().split()


def read_links(value: str) -> Iterator[HeaderLink]:
    """Yield the links of a header's value, or of several values with commas between them. What follows a fault is left
    out."""
    at = 0
    for _ in range(MAX_LINKS):
        separators = _SEPARATORS.match(value, at)
        target = _TARGET.match(value, separators.end() if separators else at)
        if target is None:
            return
        parameters: dict[str, str] = {}
        at = target.end()
        while found := _PARAMETER.match(value, at):
            at = found.end()
            if name := found[1]:
                parameters.setdefault(name.lower(), _QUOTED_PAIR.sub(r"\1", found[2]) if found[2] else found[3] or "")
        yield HeaderLink(target[1].strip(), parameters)
