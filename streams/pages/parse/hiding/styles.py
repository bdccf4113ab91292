"""The CSS declarations that hide an element from the readers of a page.

This is no CSS engine: it reads the declarations of one element, in linear time.
"""

import re
from collections.abc import Callable, Mapping
from functools import lru_cache, wraps
from typing import TypeVar

from streams.pages.parse.hiding.colours import Colour, read_colour

MAX_CACHED = 2_000
"""Maximum number of declarations that are read once."""
MAX_CACHED_CHARS = 300
"""Maximum length (characters) of declarations that are read once: pages repeat short ones."""
FAR_PIXELS = 900
"""Minimum distance to the left of or above the page, or between a text and its place, that no reader sees (pixels)."""
PIXELS_OF_UNIT = {
    **{"px": 1.0, "": 1.0, "em": 16.0, "rem": 16.0, "%": 10.0, "vw": 10.0, "vh": 10.0, "pt": 1.3, "pc": 16.0},
    **{"cm": 37.8, "mm": 3.8, "q": 0.9, "in": 96.0},
}
"""About how many pixels a unit has: enough to tell far from near."""

_LITERAL = re.compile(
    r"""\\.|/\*(?:[^*]|\*(?!/))*+(?:\*/)?|"(?:[^"\\\n]|\\.)*+"?|'(?:[^'\\\n]|\\.)*+'?|u[rR][lL]\(\s*+(?!["'\s])[^)]*+\)?"""
    r"""|U[rR][lL]\(\s*+(?!["'\s])[^)]*+\)?""",
    re.DOTALL,
)
"""The parts of a text of CSS that are no syntax: an escaped character, a comment, a string, an address. Each begins
with a letter, not a set of them, so that the search skips all other letters."""
_NO_WORD = re.compile(r"[^\w-]")
_MAX_SPACES = 8
"""Maximum number of spaces between an attribute's sign and its value."""
_ESCAPE = re.compile(r"\\(?:([0-9a-fA-F]{1,6})[ \t\n\r\f]?|(.))", re.DOTALL)
_LENGTH = re.compile(r"([+-]?(?:[0-9]{1,9}(?:\.[0-9]{0,9})?|\.[0-9]{1,9})(?:e[+-]?[0-9]{1,3})?)([a-z%]*+)")
_TRANSFORM = re.compile(r"(scale3d|scalex|scaley|scale|matrix)\(([^()]*)\)")
_HINTS = ("visibility", "clip", "scale", "matrix")
_NAMES = ("display", "opacity", "font-size")
_HINT = re.compile(r"display\s*:\s*none|opacity\s*[:(]\s*(?:-|\+?\.?0)|font-size\s*:\s*(?:[-+.0]|1(?:\.0|(?![0-9.])))")
_FAR_BACK = re.compile(r"-[0-9]{2}")
_NO_ROOM = re.compile(r"(?<!line-)(?:height|width)\s*:\s*[-+.01]")
_LETTERS = re.compile(r"color(?<!-color)\s*:|text-fill-color")
_BEHIND = re.compile(r"background|transparent|[(]|#(?:[0-9a-f]{3}|[0-9a-f]{6})0")
"""Parts of which each block of declarations that hides its element has one of the first; or else _NO_ROOM beside
`overflow`, or both others. A word is looked for before a pattern: most blocks have none."""

Declarations = Mapping[str, str]
_T = TypeVar("_T")


def read_once(judge: Callable[[str], _T]) -> Callable[[str], _T]:
    """Keep what a function returns for short declarations: pages, and the pages of a host, repeat them."""
    judge_again = lru_cache(maxsize=MAX_CACHED)(judge)

    @wraps(judge)
    def read(text: str) -> _T:
        return judge_again(text) if len(text) <= MAX_CACHED_CHARS else judge(text)

    return read


@read_once
def read_declarations(text: str) -> Declarations:
    """Return the value of each property, both in lower case. Comments and escapes are resolved; the last value wins."""
    text = unescape(remove_literals(text))
    found: dict[str, str] = {}
    important: set[str] = set()
    for declaration in text.lower().split(";"):
        name, _, value = declaration.partition(":")
        name = name.strip()
        if not name:
            continue
        if "!" in value:
            value = value.partition("!")[0]
            important.add(name)
        elif name in important:
            continue
        found[name] = " ".join(value.split())
    return found


def remove_literals(text: str) -> str:
    """Return a text of CSS without comments, with empty strings and addresses: their braces and marks are no syntax.

    A comment without an end reaches to the end of the text, and a string to the end of its line.
    """
    if "/*" not in text and '"' not in text and "'" not in text and "(" not in text:
        return text
    return _LITERAL.sub(_empty, text)


def remove_syntax(sheet: str) -> str:
    """Return a style sheet as `remove_literals` does, but with the values of attributes in selectors.

    All that could be syntax in them is escaped, so that `[href="a.b, c{"]` is one selector without a class.
    """
    return _LITERAL.sub(_empty_or_escape, sheet) if "=" in sheet else remove_literals(sheet)


def _empty_or_escape(found: re.Match[str]) -> str:
    literal, begin = found[0], found.start()
    is_value = literal[0] in "\"'" and literal[-1] == literal[0] and len(literal) > 1
    if not is_value or not found.string[max(0, begin - _MAX_SPACES) : begin].rstrip().endswith("="):
        return _empty(found)
    return f"{literal[0]}{_NO_WORD.sub(_escape, unescape(literal[1:-1]))}{literal[0]}"


def _escape(found: re.Match[str]) -> str:
    return f"\\{ord(found[0]):06x}"


def _empty(found: re.Match[str]) -> str:
    literal = found[0]
    if literal.startswith("\\"):
        return literal
    return "" if literal.startswith("/*") else "url()" if literal[0] in "uU" else '""'


def unescape(text: str) -> str:
    """Return a text of CSS with its escapes resolved."""
    return _ESCAPE.sub(_unescape, text) if "\\" in text else text


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
    value = length_of(declared.get("opacity", ""))
    if value is None and (written := declared.get("filter", "")).startswith("opacity("):
        value = length_of(written[8:])
    return value is not None and value <= 0.01


def _has_no_letters(declared: Declarations) -> bool:
    size = length_of(declared.get("font-size", ""))
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
        inset = length_of(path[6:])
        return inset is not None and "%" in path and inset >= 500  # 50 % from each side
    if path.startswith("circle("):
        return length_of(path[7:]) == 0
    if not area.startswith("rect(") or declared.get("position") not in ("absolute", "fixed"):
        return False
    return all((length_of(side) or 0) <= 1 for side in _LENGTHS.split(area[5:].strip(") ")))


def _is_scaled_away(declared: Declarations) -> bool:
    if (scale := declared.get("scale", "")) and any(_is_zero(number) for number in scale.split()[:2]):
        return True
    for name, written in _TRANSFORM.findall(declared.get("transform", "")):
        numbers = written.split(",")
        if name != "matrix" and any(map(_is_zero, numbers[:2])):
            return True
        if name == "matrix" and len(numbers) == 6 and all(map(_is_zero, (numbers[0], numbers[3]))):
            return _is_zero(numbers[1]) or _is_zero(numbers[2])
    return False


def _is_zero(number: str) -> bool:
    return length_of(number) == 0


def _has_no_room(declared: Declarations) -> bool:
    if not {declared.get("overflow"), declared.get("overflow-x"), declared.get("overflow-y")} & {"hidden", "clip"}:
        return False
    if any(declared[name] not in ("0", "0px") for name in declared if name.startswith("padding")):
        return False  # a box with the shape of a video has no height, and its padding gives the room
    sizes = (length_of(declared.get(name, "")) for name in ("height", "max-height", "width", "max-width"))
    return any(size is not None and size <= 1 for size in sizes)


def _has_no_colour(declared: Declarations) -> bool:
    """Return whether the letters have no colour, or the one that the same declarations give their background."""
    own = text_colour(declared)
    if own is None or is_drawn_otherwise(declared):
        return False
    return own.is_invisible or (isinstance(behind := background(declared), Colour) and own.is_lost_on(behind))


def text_colour(declared: Declarations) -> Colour | None:
    """Return the colour of the letters; None if it is not declared, or not known."""
    written = written_colour(declared)
    return read_colour(written) if written else None


def written_colour(declared: Declarations) -> str:
    """Return the colour of the letters as it is declared; empty if it is not."""
    return declared.get("-webkit-text-fill-color") or declared.get("color") or ""


def background(declared: Declarations) -> Colour | bool:
    """Return the colour of the background; True if something else is behind the text, False if nothing is declared.

    A colour that covers only in part is something else.
    """
    written = " ".join(declared.get(name, "") for name in ("background-color", "background-image", "background"))
    if not written.strip() or written.split() == ["none"]:
        return False
    if "url(" in written or "gradient" in written or "image" in written or "var(" in written:
        return True
    colour = read_colour(declared.get("background-color") or declared.get("background", ""))
    if colour is None or not (colour.is_opaque or colour.is_invisible):
        return True
    return colour if colour.is_opaque else False


def is_drawn_otherwise(declared: Declarations) -> bool:
    """Return whether letters are seen without their colour: by the background inside them, a shadow, their outlines."""
    clips = (declared.get(name, "") for name in ("background-clip", "-webkit-background-clip", "background"))
    others = (declared.get(name, "none") for name in ("text-shadow", "-webkit-text-stroke", "mix-blend-mode"))
    return any("text" in value for value in clips) or any(value not in ("none", "normal", "") for value in others)


HIDING: Mapping[str, Callable[[Declarations], bool]] = {
    "display": _is_not_displayed,
    "visibility": _is_invisible,
    "opacity": _is_transparent,
    "position": _is_off_screen,
    "clip": _is_clipped,
    "height": _has_no_room,
    "font-size": _has_no_letters,
    "transform": _is_scaled_away,
    "color": _has_no_colour,
}
"""The ways to hide an element, by the property that names the way. `how_hidden` returns the first that holds."""
COLOURS = (
    *("color", "-webkit-text-fill-color", "background", "background-color", "background-image", "background-clip"),
    *("-webkit-background-clip", "text-shadow", "-webkit-text-stroke", "mix-blend-mode"),
)
"""The properties that decide whether letters can be told from what is behind them."""
INHERITED = frozenset({"visibility", "font-size", "color"})
"""The ways that an element inside undoes for itself."""
_DECIDING = frozenset(
    {
        *("display", "content-visibility", "visibility", "opacity", "filter", "position", "margin-left", "text-indent"),
        *("transform", "scale", "clip", "clip-path", "overflow", "overflow-x", "overflow-y", "font-size", "color"),
        "-webkit-text-fill-color",
    }
)
"""Properties of which each style that hides has one: a quick test."""
_MOVING = frozenset({"transition", "transition-property", "animation", "animation-name", "will-change"})
"""Properties of an element that appears by a movement, when the reader gets there or opens it."""
_PROPERTIES: Mapping[str, tuple[str, ...]] = {
    "position": ("position", "left", "top", "right", "bottom", "text-indent", "margin-left", "transform"),
    "clip": ("clip", "clip-path", "position"),
    "height": ("height", "max-height", "width", "max-width", "overflow"),
    "opacity": ("opacity", "filter"),
    "transform": ("transform", "scale"),
    "color": COLOURS,
}
"""The properties of each way, if it is not only its own name."""
_LENGTHS = re.compile(r"[\s,(]++")


def how_hidden(declared: Declarations) -> str:
    """Return how these declarations hide their element: a key of HIDING, or empty if they don't.

    An element that is to appear by a movement is not hidden.
    """
    if _DECIDING.isdisjoint(declared):
        return ""
    if not _MOVING.isdisjoint(declared) and any(declared.get(name, "none") != "none" for name in _MOVING):
        return ""
    if "transform" in declared and _is_transparent(declared):
        return ""
    return next((way for way, hides in HIDING.items() if hides(declared)), "")


def declares(declared: Declarations, way: str) -> bool:
    """Return whether the declarations have a property of this way to hide."""
    return any(name in declared for name in _PROPERTIES.get(way, (way,)))


@read_once
def may_hide(style: str) -> bool:
    """Return False for a text that surely hides nothing: a quick test."""
    if "\\" in style or "/*" in style:
        return True
    text = style.lower()
    for hint in _HINTS:
        if hint in text:
            return True
    for name in _NAMES:
        if name in text and _HINT.search(text):
            return True
    if _FAR_BACK.search(text) or ("overflow" in text and _NO_ROOM.search(text)):
        return True
    return _LETTERS.search(text) is not None and _BEHIND.search(text) is not None


def may_colour(style: str) -> bool:
    """Return False for a text that surely gives no colour: a quick test."""
    text = style.lower()
    return "color" in text or "background" in text


def length_of(value: str) -> float | None:
    """Return the value's first number in pixels, if the value begins with one."""
    found = _LENGTH.match(value.strip())
    if found is None:
        return None
    return float(found[1]) * PIXELS_OF_UNIT.get(found[2], 16.0)


def _is_far(value: str) -> bool:
    length = length_of(value)
    return length is not None and length <= -FAR_PIXELS
