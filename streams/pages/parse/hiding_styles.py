"""The CSS declarations that hide an element from the readers of a page.

This is no CSS engine: it reads the declarations of one element, in linear time.
"""

import re
from collections.abc import Callable, Mapping

FAR_PIXELS = 900
"""Minimum distance to the left of or above the page, or between a text and its place, that no reader sees (pixels)."""
_PIXELS_OF_UNIT = {"px": 1.0, "": 1.0, "em": 16.0, "rem": 16.0, "%": 10.0, "vw": 10.0, "vh": 10.0, "pt": 1.3}
"""About how many pixels a unit has: enough to tell far from near."""
_SAME_COLOUR = 8
"""Maximum difference of two colours that look the same, in each of red, green and blue (of 255)."""

_COMMENT = re.compile(r"/\*(?:[^*]|\*(?!/))*+(?:\*/)?")
_ESCAPE = re.compile(r"\\(?:([0-9a-fA-F]{1,6})[ \t\n\r\f]?|(.))", re.DOTALL)
_LENGTH = re.compile(r"([+-]?(?:[0-9]{1,9}(?:\.[0-9]{0,9})?|\.[0-9]{1,9}))([a-z%]*+)")
_HEX = re.compile(r"#(?:[0-9a-f]{6}|[0-9a-f]{3})(?![0-9a-z])")
_RGB = re.compile(r"rgba?\( ?([0-9]{1,3}) ?,? ?([0-9]{1,3}) ?,? ?([0-9]{1,3})(?![0-9%.])")
_COLOURS = {"white": (255, 255, 255), "black": (0, 0, 0), "red": (255, 0, 0), "blue": (0, 0, 255)}
_HINT = re.compile(r"none|hidden|collapse|opacity|font|color|-[0-9]|clip|:\s*0", re.IGNORECASE)
"""A part of each block of declarations that hides its element."""

Declarations = Mapping[str, str]


def read_declarations(text: str) -> dict[str, str]:
    """Return the value of each property, both in lower case. Comments and escapes are resolved; the last value wins."""
    if "\\" in text:
        text = _ESCAPE.sub(_unescape, text)
    text = remove_comments(text)
    found: dict[str, str] = {}
    important: set[str] = set()
    for declaration in text.lower().split(";"):
        name, _, value = declaration.partition(":")
        value, mark, _ = value.partition("!")
        name = name.strip()
        if name and (mark or name not in important):
            found[name] = " ".join(value.split())
            if mark:
                important.add(name)
    return found


def remove_comments(text: str) -> str:
    """Return a text of CSS without its comments. A comment without an end reaches to the end of the text."""
    return _COMMENT.sub("", text) if "/*" in text else text


def _unescape(found: re.Match[str]) -> str:
    code, char = found.groups()
    number = int(code, 16) if code else 0
    return chr(number) if 0 < number < 0xD800 else (char or "")


# The ways to hide an element


def _is_not_displayed(declared: Declarations) -> bool:
    return declared.get("display") == "none" or declared.get("content-visibility") == "hidden"


def _is_invisible(declared: Declarations) -> bool:
    return declared.get("visibility") in ("hidden", "collapse")


def _is_transparent(declared: Declarations) -> bool:
    value = _first_length(declared.get("opacity", ""))
    return value is not None and value <= 0.01


def _has_no_letters(declared: Declarations) -> bool:
    size = _first_length(declared.get("font-size", ""))
    return size is not None and size <= 1 and "calc" not in declared["font-size"]


def _is_off_screen(declared: Declarations) -> bool:
    drawn = "background" in declared or "background-color" in declared or "background-image" in declared
    if _is_far(declared.get("margin-left", "")) or (_is_far(declared.get("text-indent", "")) and not drawn):
        return True  # a background is drawn instead of an indented text, which names it
    if "-" in declared.get("transform", "") and any(map(_is_far, _LENGTHS.split(declared["transform"]))):
        return True
    if declared.get("position") not in ("absolute", "fixed"):
        return False
    return any(_is_far(declared.get(side, "")) for side in ("left", "top", "right", "bottom"))


def _is_clipped(declared: Declarations) -> bool:
    path, area = declared.get("clip-path", ""), declared.get("clip", "")
    if path.startswith("inset("):
        inset = _first_length(path[6:])
        return inset is not None and "%" in path and inset >= 500  # 50 % from each side
    if path.startswith("circle("):
        return _first_length(path[7:]) == 0
    if not area.startswith("rect(") or declared.get("position") not in ("absolute", "fixed"):
        return False
    return all((_first_length(side) or 0) <= 1 for side in _LENGTHS.split(area[5:].strip(") ")))


def _has_no_room(declared: Declarations) -> bool:
    if not {declared.get("overflow"), declared.get("overflow-x"), declared.get("overflow-y")} & {"hidden", "clip"}:
        return False
    if any(declared[name] not in ("0", "0px") for name in declared if name.startswith("padding")):
        return False  # a box with the shape of a video has no height, and its padding gives the room
    sizes = (_first_length(declared.get(name, "")) for name in ("height", "max-height", "width", "max-width"))
    return any(size is not None and size <= 1 for size in sizes)


def _has_colour_of_background(declared: Declarations) -> bool:
    background = declared.get("background-color") or declared.get("background", "")
    if "url(" in background or "gradient" in background or "color" not in declared:
        return False
    own, behind = _colour(declared["color"]), _colour(background)
    if own is None or behind is None:
        return False
    return all(abs(one - other) <= _SAME_COLOUR for one, other in zip(own, behind, strict=True))


HIDING: Mapping[str, Callable[[Declarations], bool]] = {
    "display": _is_not_displayed,
    "visibility": _is_invisible,
    "opacity": _is_transparent,
    "position": _is_off_screen,
    "clip": _is_clipped,
    "height": _has_no_room,
    "font-size": _has_no_letters,
    "color": _has_colour_of_background,
}
"""The ways to hide an element, by the property that names the way. `how_hidden` returns the first that holds."""
INHERITED = frozenset({"visibility", "font-size", "color"})
"""The ways that an element inside undoes for itself."""
_MOVING = ("transition", "transition-property", "animation", "animation-name", "will-change")
"""Properties of an element that appears by a movement, when the reader gets there or opens it."""
_PROPERTIES: Mapping[str, tuple[str, ...]] = {
    "position": ("position", "left", "top", "right", "bottom", "text-indent", "margin-left", "transform"),
    "clip": ("clip", "clip-path", "position"),
    "height": ("height", "max-height", "width", "max-width", "overflow"),
    "color": ("color", "background", "background-color"),
}
"""The properties of each way, if it is not only its own name."""
_LENGTHS = re.compile(r"[\s,(]++")


def how_hidden(declared: Declarations) -> str:
    """Return how these declarations hide their element: a key of HIDING, or empty if they don't.

    An element that is to appear by a movement is not hidden.
    """
    if any(declared.get(name, "none") != "none" for name in _MOVING):
        return ""
    if "transform" in declared and _is_transparent(declared):
        return ""
    return next((way for way, hides in HIDING.items() if hides(declared)), "")


def declares(declared: Declarations, way: str) -> bool:
    """Return whether the declarations have a property of this way to hide."""
    return any(name in declared for name in _PROPERTIES.get(way, (way,)))


def may_hide(style: str) -> bool:
    """Return False for a text that surely hides nothing: a quick test."""
    return "\\" in style or "/*" in style or _HINT.search(style) is not None


def _first_length(value: str) -> float | None:
    """Return the value's first number in pixels, if the value begins with one."""
    found = _LENGTH.match(value.strip())
    if found is None:
        return None
    return float(found[1]) * _PIXELS_OF_UNIT.get(found[2], 16.0)


def _is_far(value: str) -> bool:
    length = _first_length(value)
    return length is not None and length <= -FAR_PIXELS


def _colour(value: str) -> tuple[int, int, int] | None:
    """Return a colour's red, green and blue; None for a colour that is not known."""
    if found := _RGB.search(value):
        red, green, blue = map(int, found.groups())
        return red, green, blue
    if written := _HEX.search(value):
        digits = written[0][1:]
        digits = digits if len(digits) == 6 else "".join(2 * digit for digit in digits)
        return int(digits[:2], 16), int(digits[2:4], 16), int(digits[4:], 16)
    return next((colour for name, colour in _COLOURS.items() if name in value.split()), None)
