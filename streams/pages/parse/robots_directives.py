"""Reads a page's directives for robots: from its robots meta elements, the X-Robots-Tag header, and opt-outs of AI.

Opt-outs are the reservation of text and data mining (`TDM-Reservation`), and the signals of `Content-Signal` and
`Content-Usage`. The fetcher adds the signals of robots.txt to the page's own.
"""

import re
from collections.abc import Iterable, Mapping
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime

from streams.crawl.content_signals import parse_signals

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
_ISO_DATE = re.compile(r"[0-9]{4}-[0-9]{2}-[0-9]{2}(?:[t ][0-9:.+z-]{1,20})?")
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


def is_expired(found: Iterable[str], at: datetime) -> bool:
    """Return whether the page asked not to be shown after a time that is past (`unavailable_after`)."""
    moments = (_moment(each.partition(":")[2]) for each in found if each.startswith("unavailable_after:"))
    return any(moment is not None and moment <= at for moment in moments)


def _moment(text: str) -> datetime | None:
    """Return the time of a date by ISO 8601, RFC 822 or RFC 850; None for other forms."""
    try:
        moment = datetime.fromisoformat(text.upper()) if _ISO_DATE.fullmatch(text) else parsedate_to_datetime(text)
    except (ValueError, OverflowError):
        return None
    return moment if moment.tzinfo else moment.replace(tzinfo=UTC)


def _parse(content: str) -> set[str]:
    found = set()
    for item in content.lower().split(","):
        name, _, value = (part.strip() for part in item.partition(":"))
        if name in KNOWN or (name in _WITH_VALUE and value):
            found.add(f"{name}:{value}" if value and name in _WITH_VALUE else name)
    return found


def _header(value: str, robot: str) -> set[str]:
    """Read `X-Robots-Tag: noindex, otherbot: nofollow, noarchive`. A name with a colon starts another robot's part."""
    found: set[str] = set()
    is_own = True
    for item in value.lower().split(","):
        name, colon, rest = (part.strip() for part in item.partition(":"))
        if colon and name not in _WITH_VALUE:
            is_own = name in (robot, "*")
            item = rest
        if is_own:
            found |= _parse(item)
    return found
