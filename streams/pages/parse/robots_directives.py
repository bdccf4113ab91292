"""Reads a page's directives for robots: from its robots meta elements, the X-Robots-Tag header, and opt-outs of AI.

Opt-outs are the reservation of text and data mining (`TDM-Reservation`), and the signals of `Content-Signal` and
`Content-Usage`. The fetcher adds the signals of robots.txt to the page's own.
"""

from collections.abc import Iterable, Mapping

from streams.crawl.content_signals import parse_signals
from streams.crawl.unavailable_after import without_weekdays

BOT = "rifflebot"
"""The name of Riffle's robot, unless the headers have another one."""
ROBOT_NAME = "riffle-robot-name"
"""A field that is added to a page's headers: the name of this installation's robot, as robots.txt files use it."""
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
_SIGNALS = ("search", "ai-input", "ai-train")
_WITH_VALUE = frozenset({"max-snippet", "max-image-preview", "max-video-preview", "unavailable_after"})


def directives(metas: Iterable[tuple[str, str]], headers: Mapping[str, str]) -> tuple[str, ...]:
    """Return all directives for this robot, in lower case, sorted. `metas` are (name, content) of meta elements.

    Directives of both sources are united, so the strictest hold. `none` means noindex and nofollow.
    """
    robot = headers.get(ROBOT_NAME, BOT).lower()
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
    found |= {f"{name}=no" for name in _SIGNALS if signals.get(name) is False}
    if "search=no" in found:
        found.add("noindex")
    if "none" in found:
        found |= {"noindex", "nofollow"}
    return tuple(sorted(found - {"none"}))


def _items(value: str) -> list[str]:
    """Return the directives of a value in lower case. A date loses its weekday."""
    return without_weekdays(value.lower()).split(",")


def _parse(content: str) -> set[str]:
    found = set()
    for item in _items(content):
        name, _, value = (part.strip() for part in item.partition(":"))
        if name in KNOWN or (name in _WITH_VALUE and value):
            found.add(f"{name}:{value}" if value and name in _WITH_VALUE else name)
    return found


def _header(value: str, robot: str) -> set[str]:
    """Read `X-Robots-Tag: noindex, otherbot: nofollow, noarchive`. A name with a colon starts another robot's part."""
    found: set[str] = set()
    is_own = True
    for item in _items(value):
        name, colon, rest = (part.strip() for part in item.partition(":"))
        if colon and name not in _WITH_VALUE:
            is_own = name in (robot, "*")
            item = rest
        if is_own:
            found |= _parse(item)
    return found
