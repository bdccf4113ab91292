"""Reads a page's directives for robots, from its robots meta elements and the X-Robots-Tag header."""

from collections.abc import Iterable, Mapping

BOT = "rifflebot"
KNOWN = frozenset(
    [
        "noindex",
        "nofollow",
        "noarchive",
        "nosnippet",
        "noimageindex",
        "notranslate",
        "indexifembedded",
        "nocache",
        "noai",
        "noimageai",
        "none",
    ]
)
_WITH_VALUE = frozenset({"max-snippet", "max-image-preview", "max-video-preview", "unavailable_after"})


def directives(metas: Iterable[tuple[str, str]], headers: Mapping[str, str]) -> tuple[str, ...]:
    """Return all directives for Riffle's robot, in lower case, sorted. `metas` are (name, content) of meta elements.

    Directives of both sources are united, so the strictest hold. `none` means noindex and nofollow.
    """
    found: set[str] = set()
    for name, content in metas:
        if name in ("robots", BOT):
            found |= _parse(content)
        elif name == "tdm-reservation" and content.strip() == "1":
            found.add("noai")
    found |= _header(headers.get("x-robots-tag", ""))
    if headers.get("tdm-reservation", "").strip() == "1":
        found.add("noai")
    if "none" in found:
        found |= {"noindex", "nofollow"}
    return tuple(sorted(found - {"none"}))


def _parse(content: str) -> set[str]:
    found = set()
    for item in content.lower().split(","):
        name, _, value = (part.strip() for part in item.partition(":"))
        if name in KNOWN or (name in _WITH_VALUE and value):
            found.add(f"{name}:{value}" if value and name in _WITH_VALUE else name)
    return found


def _header(value: str) -> set[str]:
    """Read `X-Robots-Tag: noindex, otherbot: nofollow, noarchive`. A name with a colon starts another robot's part."""
    found: set[str] = set()
    is_own = True
    for item in value.lower().split(","):
        name, colon, rest = (part.strip() for part in item.partition(":"))
        if colon and name not in _WITH_VALUE:
            is_own = name in (BOT, "*")
            item = rest
        if is_own:
            found |= _parse(item)
    return found
