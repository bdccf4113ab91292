"""The CSS properties that can hide a text, and which of their values may do so. Pure.

What surely hides is known by `styles`. Here a value is a risk unless it surely hides nothing.
"""

import re
from collections.abc import Callable, Mapping

from streams.pages.parse.hiding.styles import PIXELS_OF_UNIT, Declarations, is_drawn_otherwise, length_of, read_once

_FAR_PIXELS, _FAR_SHARE = 500.0, 90.0
_SMALL_SHARE, _SMALL_LETTERS, _SMALL_BOX = 0.2, 5.0, 2.0
"""Share of the size or opacity, height of letters, and size of a box (pixels) that can be too small to see."""
INITIAL = frozenset({"", "none", "auto", "normal", "initial", "inherit", "unset", "revert", "visible", "currentcolor"})
_PLACED = ("absolute", "fixed", "relative", "sticky")
_OFFSET = re.compile(r"(-?(?:[0-9]{1,9}(?:\.[0-9]{0,9})?|\.[0-9]{1,9})(?:e[+-]?[0-9]{1,3})?)([a-z]{1,5}|%)?")


def may_hide(declared: Declarations) -> bool:
    """Return whether any of these declarations can hide a text, or move it out of sight."""
    return any(name in _RISKS and _RISKS[name](value, declared) for name, value in declared.items())


def _is_other_than(*harmless: str) -> Callable[[str, Declarations], bool]:
    allowed = INITIAL.union(harmless)
    return lambda value, declared: value not in allowed


def _is_none(value: str, declared: Declarations) -> bool:
    return value == "none" or "var(" in value


def _is_low(value: str, declared: Declarations) -> bool:
    """Return whether a share is small, or not known."""
    if value in INITIAL:
        return False
    number = length_of(value.removesuffix("%"))
    return number is None or (number / 100 if value.endswith("%") else number) < _SMALL_SHARE


def _has_low_part(value: str, declared: Declarations) -> bool:
    return value not in INITIAL and any(_is_low(part, declared) for part in value.split()[:2])


def _is_turned(value: str, declared: Declarations) -> bool:
    """Return whether a transformation may leave nothing to see: by its size, its distance, or an edge to the reader."""
    if value in INITIAL:
        return False
    if "(" not in value or "var(" in value:
        return True
    for name, _, written in (part.strip().partition("(") for part in value.split(")")):
        if name.startswith("translate") and _is_away(written, declared):
            return True
        if name.startswith("scale") and any(_is_low(part.strip(), declared) for part in written.split(",")[:2]):
            return True
        if name.startswith(("rotatex", "rotatey", "rotate3d", "matrix")):
            return True
    return False


def _is_away(value: str, declared: Declarations) -> bool:
    """Return whether a distance may be out of sight."""
    if "var(" in value:
        return False
    if "calc(" in value:
        return _may_be_far(value)
    for number, unit in _OFFSET.findall(value):
        size = abs(float(number))
        if unit == "%" or "v" in unit:
            if (size >= _FAR_SHARE and unit != "%") or size > 100 or float(number) <= -_FAR_SHARE:
                return True
        elif size * PIXELS_OF_UNIT.get(unit, 16.0) >= _FAR_PIXELS:
            return True
    return False


def _may_be_far(value: str) -> bool:
    """Return whether a sum or product may be a distance out of sight, whatever its signs are."""
    pixels, share, factor = 0.0, 0.0, 1.0
    for number, unit in _OFFSET.findall(value):
        size = abs(float(number))
        if unit == "%" or "v" in unit:
            share += size
        elif unit:
            pixels += size * PIXELS_OF_UNIT.get(unit, 16.0)
        elif size:
            factor *= max(size, 1 / size)
    return pixels * factor >= _FAR_PIXELS or share * factor > 100


def _is_far_back(value: str, declared: Declarations) -> bool:
    return (value.startswith("-") or "calc(" in value) and _is_away(value, declared)


def _is_indented_away(value: str, declared: Declarations) -> bool:
    return _is_away(value, declared) or (value.endswith("%") and (length_of(value) or 0) >= 10 * _FAR_SHARE)


def _is_placed_away(value: str, declared: Declarations) -> bool:
    """Return whether an offset may be out of sight. Another rule may say that the element has an offset."""
    position = declared.get("position", "absolute")
    if "var(" in value:
        return position in ("absolute", "fixed")
    return position in _PLACED and _is_away(value, declared)


def cuts(declared: Declarations) -> bool:
    """Return whether what is outside of a box is not drawn."""
    overflows = (declared.get(name, "").split() for name in ("overflow", "overflow-x", "overflow-y"))
    return any(overflow in ("hidden", "clip", "scroll", "auto") for each in overflows for overflow in each)


def _has_no_place(value: str, declared: Declarations) -> bool:
    """Return whether a box may be too small for its text, which is not shown beside it."""
    if not cuts(declared):
        return False
    size = length_of(value)
    paddings = (part for name in declared if name.startswith("padding") for part in declared[name].split())
    is_padded = any((room := length_of(padding)) is None or room > _SMALL_BOX for padding in paddings)
    return size is not None and size <= _SMALL_BOX and not is_padded


def _are_small(value: str, declared: Declarations) -> bool:
    if value in INITIAL or "calc" in value or "var" in value or "clamp" in value:
        return False
    written = next((part.partition("/")[0] for part in value.split() if part[:1] in "0123456789."), "")
    size = length_of(f"{written[:-1]}em") if written.endswith("%") else length_of(written)
    return size is not None and size / (100 if written.endswith("%") else 1) < _SMALL_LETTERS


def _are_closed_up(value: str, declared: Declarations) -> bool:
    size = length_of(value)
    return size is not None and size <= -_SMALL_LETTERS


def _is_behind(value: str, declared: Declarations) -> bool:
    return value.startswith("-") and declared.get("position", "absolute") in _PLACED


_RISKS: Mapping[str, Callable[[str, Declarations], bool]] = {
    "display": _is_none,
    "content-visibility": _is_other_than(),
    "visibility": _is_other_than(),
    "opacity": _is_low,
    "filter": lambda value, declared: "opacity" in value or "brightness(" in value or "url(" in value,
    "-webkit-text-fill-color": lambda value, declared: not is_drawn_otherwise(declared) and value not in INITIAL,
    "transform": _is_turned,
    "translate": _is_away,
    "rotate": lambda value, declared: value[:1] in ("x", "y") or len(value.split()) > 1,
    "scale": _has_low_part,
    "zoom": _is_low,
    **dict.fromkeys(("mask", "mask-image", "-webkit-mask", "-webkit-mask-image"), _is_other_than()),
    **dict.fromkeys(("clip", "clip-path", "offset-path", "shape-inside"), _is_other_than()),
    **dict.fromkeys(("left", "top", "right", "bottom", "inset"), _is_placed_away),
    **dict.fromkeys(("inset-inline", "inset-block", "inset-inline-start", "inset-block-start"), _is_placed_away),
    **dict.fromkeys(("margin", "margin-left", "margin-top", "margin-inline-start"), _is_far_back),
    "text-indent": _is_indented_away,
    **dict.fromkeys(("height", "max-height", "width", "max-width", "block-size", "inline-size"), _has_no_place),
    **dict.fromkeys(("max-block-size", "max-inline-size"), _has_no_place),
    **dict.fromkeys(("font-size", "font"), _are_small),
    **dict.fromkeys(("letter-spacing", "word-spacing"), _are_closed_up),
    "z-index": _is_behind,
}
"""The properties that can hide a text, each with the test whether a value may do so."""
_WORDS = (
    *(
        "visibility",
        "opacity",
        "filter",
        "fill-color",
        "rotate",
        "translate",
        "scale",
        "matrix",
        "zoom",
        "mask",
        "clip",
    ),
    *("-path", "shape-inside", "position", "inset", "text-indent", "calc(", ":-", ": -", " -"),
)
_SMALL_NUMBER = re.compile(r"[:\s](?:\.[0-9]|[0-4](?![0-9])|[0-9.]{1,9}(?:%|e[-+0-9]))")
_FAR = re.compile(r"(?:left|top|right|bottom|start)\s*:\s*(?:[0-9]{3}|[0-9.]{1,9}(?!px|[0-9.%;])[a-z]|var)")
_SMALL = re.compile(r"(?:height|width|size)\s*:\s*[-+.012](?![0-9])")


def may_need_room(text: str) -> bool:
    """Return False for declarations that surely leave a box its room: a quick test."""
    return _SMALL.search(text.lower()) is not None


@read_once
def has_risks(text: str) -> bool:
    """Return False for declarations that surely hide nothing: a quick test of what each value that hides has."""
    text = text.lower()
    for word in _WORDS:
        if word in text:
            return True
    if "display" in text and ("none" in text or "var(" in text):
        return True
    if "font" in text and _SMALL_NUMBER.search(text):
        return True
    if _FAR.search(text):
        return True
    return "\\" in text or ("overflow" in text and _SMALL.search(text) is not None)
