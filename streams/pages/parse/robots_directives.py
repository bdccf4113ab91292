"""Reads a page's directives for robots: from its robots meta elements, the X-Robots-Tag header, and opt-outs of AI.

Opt-outs are the reservation of text and data mining (`TDM-Reservation`), and the signals of `Content-Signal` and
`Content-Usage`. The fetcher adds the signals of robots.txt to the page's own.
"""

from collections.abc import Iterable, Iterator, Mapping

from streams.crawl.content_signals import (
    DIRECTIVES,
    DIRECTIVES_WITH_VALUE,
    USES,
    continues_date,
    parse_signals,
    robot_of,
)
from streams.robot_name import ROBOT, ProductToken

ROBOT_NAME = "riffle-robot-name"
"""A field that is added to a page's headers: the name of this installation's robot, as robots.txt files use it."""
IS_STYLED = ":styled"
"""Name of a field that is added to the headers of a rendered page: our own browser made the marks of its unseen
texts. No server can send a header with a colon in its name."""
_ALL_ROBOTS = ("*", "robots", "all")


def with_robot(headers: Mapping[str, str], robot: ProductToken) -> dict[str, str]:
    """Return a page's headers with the name of this installation's robot."""
    return {**headers, ROBOT_NAME: robot}


def directives(metas: Iterable[tuple[str, str]], headers: Mapping[str, str]) -> tuple[str, ...]:
    """Return all directives for this robot, in lower case, sorted. `metas` are (name, content) of meta elements.

    Directives of both sources are united, so the strictest hold. `none` means noindex and nofollow.
    """
    robot = headers.get(ROBOT_NAME, ROBOT).lower()
    found: set[str] = set()
    for name, content in metas:
        if name in ("robots", robot):
            found |= _parse(content)
        elif name == "tdm-reservation" and content.strip() == "1":
            found.add("noai")
    found |= _header(headers.get("x-robots-tag", ""), robot)
    if headers.get("tdm-reservation", "").strip() == "1":
        found.add("noai")
    signals = parse_signals(f"{headers.get('content-signal', '')}, {headers.get('content-usage', '')}")
    found |= {f"{name}=no" for name in USES if signals.get(name) is False}
    if "search=no" in found:
        found.add("noindex")
    if "none" in found:
        found |= {"noindex", "nofollow"}
    return tuple(sorted(found - {"none"}))


def _items(value: str) -> list[str]:
    """Return the directives of a value in lower case. The commas within a date divide no directives."""
    items: list[str] = []
    for part in value.lower().replace(";", ",").split(","):
        if items and continues_date(items[-1], part):
            items[-1] += f",{part}"
        else:
            items.append(part)
    return items


def _parse(content: str) -> set[str]:
    return {found for item in _items(content) for found in _directives(item)}


def _directives(item: str) -> Iterator[str]:
    """Yield the directives of an item: one with a value, or words of which each known one counts."""
    name, colon, value = (part.strip() for part in item.partition(":"))
    if colon and name in DIRECTIVES_WITH_VALUE:
        if value:
            yield f"{name}:{value}"
    else:
        yield from DIRECTIVES.intersection(name.split())


def _header(value: str, robot: str) -> set[str]:
    """Read `X-Robots-Tag: noindex, otherbot: nofollow, noarchive`. A robot's name with a colon starts its part."""
    found: set[str] = set()
    is_own = True
    for item in _items(value):
        named, rest = robot_of(item)
        if named:
            is_own = named in (robot, *_ALL_ROBOTS)
        if is_own:
            found.update(_directives(rest))
    return found
