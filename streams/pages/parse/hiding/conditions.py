"""The conditions around rules of a style sheet: those that hold on every screen, and those that never hold on one."""

import re

SMALLEST_PIXELS, LARGEST_PIXELS = 320.0, 3_840.0
"""Sizes that each screen has at least, and that none has more of (pixels)."""
MAX_CHARS = 500
"""Maximum length of a condition that is read (characters). A longer one is not known to hold."""
_FEATURE = re.compile(
    r"\( ?(?:color|(?P<bound>min|max)-(?:device-)?(?:width|height) ?: ?"
    r"(?P<number>[0-9]{1,6}(?:\.[0-9]{1,6})?)(?P<unit>px|em|rem)?) ?\)"
)
_MEDIA = frozenset({"all", "screen", "only all", "only screen", "not print"})
_SUPPORTED = re.compile(r"\( ?[a-z][a-z-]*+ ?:[^()]*+(?:\([^()]*+\)[^()]*+)?\)")


def holds_on_each_screen(begin: str) -> bool:
    """Return whether an at-rule's block is used on every screen, in each browser of today."""
    name, _, condition = " ".join(begin[:MAX_CHARS].lower().split()).partition(" ")
    if "(" in name:
        name, _, condition = f"{name} {condition}".partition("(")
        condition = f"({condition.strip()}"
    if len(begin) > MAX_CHARS:
        return False
    if name == "@layer":
        return True
    if name == "@supports":
        return all(map(_SUPPORTED.fullmatch, condition.replace(" or ", " and ").split(" and ")))
    return name == "@media" and any(map(_is_each_screen, condition.split(",")))


def _is_each_screen(query: str) -> bool:
    first, *others = query.strip().split(" and ")
    return all(map(_always_holds, others)) and (first in _MEDIA or _always_holds(first))


def _always_holds(feature: str) -> bool:
    found = _FEATURE.fullmatch(feature)
    if not found or found["bound"] is None:
        return bool(found)
    pixels = float(found["number"]) * (1 if found["unit"] in (None, "px") else 16)
    return pixels <= SMALLEST_PIXELS if found["bound"] == "min" else pixels >= LARGEST_PIXELS


def is_never_on_screen(begin: str) -> bool:
    """Return whether an at-rule's block is for paper, or has the steps of an animation."""
    begin = begin.lower()
    return "keyframes" in begin[:MAX_CHARS] or begin.split() == ["@media", "print"]
