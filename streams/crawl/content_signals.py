"""The wishes of publishers about their content: in robots.txt, tdmrep.json and headers. Pure.

They have a module of their own, since the processes that parse pages read them, too, and load nothing that they don't
need.
"""

import re
from collections.abc import Iterable, Mapping
from datetime import datetime

from streams.crawl.web_dates import parse_any_date

USES = ("search", "ai-input", "ai-train")
"""The uses that Riffle heeds."""
MAX_SIGNALS = 32
"""Maximum number of signals of other uses."""
DIRECTIVES = frozenset([
    "noindex", "nofollow", "noarchive", "nosnippet", "noimageindex", "notranslate", "indexifembedded", "nocache",
    "noai", "noimageai", "none",
])  # fmt: skip
"""The directives for robots that have no value."""
DIRECTIVES_WITH_VALUE = frozenset({"max-snippet", "max-image-preview", "max-video-preview", "unavailable_after"})
_WITHOUT_EFFECT = frozenset({"all", "index", "follow", "archive", "snippet", "noodp", "noydir", "nositelinkssearchbox"})
_SAME_SIGNALS = {"train-ai": "ai-train"}
_SIGNAL = re.compile(r"([a-z][a-z0-9_-]{0,39}) ?= ?\"?(yes|y|no|n)(?![a-z0-9_-])")


def parse_signals(text: str) -> dict[str, bool]:
    """Return the signals of `search=yes, ai-train=no`. Of two answers to one question `no` holds.

    Content-Signal and Content-Usage (IETF, AI preferences) have other names for training: both become `ai-train`.
    Whatever stands between the signals is passed over, so that it hides no refusal.
    """
    found: dict[str, bool] = {}
    for name, says in _SIGNAL.findall(" ".join(text.lower().split())):
        add_signals(found, {_SAME_SIGNALS.get(name, name): says[0] == "y"})
    return found


def add_signals(known: dict[str, bool], more: Mapping[str, bool]) -> None:
    """Add signals to those that are known. Where they differ, `no` holds."""
    for name, allowed in more.items():
        if name in known or name in USES or len(known) < MAX_SIGNALS:
            known[name] = known.get(name, True) and allowed


def robot_of(item: str) -> tuple[str, str]:
    """Return the robot that an item of X-Robots-Tag names, and its first directive. Without a robot: "" and the item.

    Google documents `robot: directive` and `directive: value`, and no way to tell them apart. Here a robot's name is
    followed by a known directive, and is none itself: so a new directive (`foo: 3, noindex`) hides nothing behind it.
    """
    name, colon, rest = (part.strip() for part in item.lower().partition(":"))
    first = rest.replace(";", " ").partition(":")[0].split()
    is_directive = bool(first) and first[0] in DIRECTIVES | DIRECTIVES_WITH_VALUE | _WITHOUT_EFFECT
    is_robot = name == "*" or (is_directive and name not in DIRECTIVES | DIRECTIVES_WITH_VALUE)
    return (name, rest) if colon and is_robot else ("", item)


def format_signals(signals: Mapping[str, bool]) -> str:
    """Return signals as the value of a header, `ai-input=no, search=yes`. Empty without signals."""
    return ", ".join(f"{name}={'yes' if allowed else 'no'}" for name, allowed in sorted(signals.items()))


def with_signals_of_host(headers: Mapping[str, str], of_robots: str, *, tdm_reserved: bool) -> dict[str, str]:
    """Return a page's headers with the signals of its host's robots.txt. Where they differ, `no` holds.

    A reservation in the host's tdmrep.json holds unless the page has a reservation header of its own.
    """
    if tdm_reserved:
        headers = {"tdm-reservation": "1", **headers}
    if not of_robots:
        return dict(headers)
    own = headers.get("content-signal")
    return {**headers, "content-signal": f"{own}, {of_robots}" if own else of_robots}


def continues_date(item: str, following: str) -> bool:
    """Return whether the text behind an item's comma is part of its date, as in `unavailable_after: Aug 25, 2030`."""
    is_dated = "unavailable_after" in item and any(char.isdigit() for char in following.partition(":")[0])
    return is_dated and not robot_of(following)[0]


def is_expired(found: Iterable[str], at: datetime) -> bool:
    """Return whether the page asked not to be shown after a time that is past (`unavailable_after`)."""
    moments = (parse_any_date(each.partition(":")[2]) for each in found if each.startswith("unavailable_after:"))
    return any(moment is not None and moment <= at for moment in moments)
