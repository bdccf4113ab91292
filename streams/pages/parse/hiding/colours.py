"""Colours as CSS and attributes write them: enough of them to tell a text that looks like what is behind it."""

import colorsys
import re
from dataclasses import dataclass

MAX_CHARS = 200
"""Maximum length of a value that is read (characters)."""
_SAME = 8
"""Maximum difference of two colours that look the same, in each of red, green and blue (of 255)."""
_FUNCTION = re.compile(r"(rgb|hsl)a?\(([^()]*)\)")
_HEX = re.compile(r"#(?:[0-9a-f]{8}|[0-9a-f]{6}|[0-9a-f]{4}|[0-9a-f]{3})(?![0-9a-z])")
_BARE_HEX = re.compile(r"[0-9a-f]{6}")
_NUMBER = re.compile(r"([+-]?(?:[0-9]{1,9}(?:\.[0-9]{0,9})?|\.[0-9]{1,9}))(%?)")
_NAMED = {
    "black": "#000000", "silver": "#c0c0c0", "gray": "#808080", "grey": "#808080", "lightgray": "#d3d3d3",
    "lightgrey": "#d3d3d3", "whitesmoke": "#f5f5f5", "snow": "#fffafa", "ivory": "#fffff0", "white": "#ffffff",
    "maroon": "#800000", "red": "#ff0000", "purple": "#800080", "fuchsia": "#ff00ff", "magenta": "#ff00ff",
    "green": "#008000", "lime": "#00ff00", "olive": "#808000", "yellow": "#ffff00", "orange": "#ffa500",
    "navy": "#000080", "blue": "#0000ff", "teal": "#008080", "aqua": "#00ffff", "cyan": "#00ffff",
    "transparent": "#00000000",
}  # fmt: skip


@dataclass(frozen=True, slots=True)
class Colour:
    """A colour: red, green and blue from 0 to 255, and how much it covers (0: nothing, 1: all that is behind it)."""

    red: float
    green: float
    blue: float
    cover: float = 1.0

    @property
    def is_invisible(self) -> bool:
        return self.cover <= 0.01

    @property
    def is_opaque(self) -> bool:
        return self.cover >= 0.98

    def is_lost_on(self, behind: "Colour") -> bool:
        """Return whether letters of this colour can't be told from an opaque one behind them."""
        pairs = ((self.red, behind.red), (self.green, behind.green), (self.blue, behind.blue))
        return all(self.cover * abs(one - other) <= _SAME for one, other in pairs)


def read_colour(value: str) -> Colour | None:
    """Return the first colour in a value in lower case; None if it has none, or one that is not known."""
    value = value[:MAX_CHARS]
    if found := _FUNCTION.search(value):
        return _of_function(found[1], found[2])
    if found := _HEX.search(value):
        return _of_digits(found[0][1:])
    return next((_of_digits(_NAMED[name][1:]) for name in value.split() if name in _NAMED), None)


def read_attribute(value: str) -> Colour | None:
    """Return the colour of an attribute such as `bgcolor`, which may have the digits only."""
    value = value.strip().lower()
    return _of_digits(value) if _BARE_HEX.fullmatch(value) else read_colour(value)


def _of_digits(digits: str) -> Colour:
    if len(digits) < 6:
        digits = "".join(2 * digit for digit in digits)
    red, green, blue, *cover = (int(digits[start : start + 2], 16) for start in range(0, len(digits), 2))
    return Colour(red, green, blue, cover[0] / 255 if cover else 1.0)


def _of_function(name: str, written: str) -> Colour | None:
    numbers = [(float(number), unit == "%") for number, unit in _NUMBER.findall(written)]
    if len(numbers) not in (3, 4):
        return None
    (first, is_share), (second, _), (third, _), *cover = numbers
    alpha = cover[0][0] / (100 if cover[0][1] else 1) if cover else 1.0
    if name == "rgb":
        scale = 2.55 if is_share else 1.0
        return Colour(first * scale, second * scale, third * scale, alpha)
    red, green, blue = colorsys.hls_to_rgb(first % 360 / 360, third / 100, second / 100)
    return Colour(255 * red, 255 * green, 255 * blue, alpha)


def contrast(one: Colour, other: Colour) -> float:
    """Return the contrast of two colours (WCAG 2.2: 1 to 21). A transparent one lets the other through."""
    first, second = sorted((_luminance(one, other), _luminance(other, other)))
    return (second + 0.05) / (first + 0.05)


def _luminance(colour: Colour, behind: Colour) -> float:
    pairs = ((colour.red, behind.red), (colour.green, behind.green), (colour.blue, behind.blue))
    mixed = [(colour.cover * own + (1 - colour.cover) * other) / 255 for own, other in pairs]
    red, green, blue = (part / 12.92 if part <= 0.04045 else ((part + 0.055) / 1.055) ** 2.4 for part in mixed)
    return 0.2126 * red + 0.7152 * green + 0.0722 * blue
