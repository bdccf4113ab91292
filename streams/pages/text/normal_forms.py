"""Unicode normal forms of foreign text, and its invisible characters, in linear time.

Normalizing sorts each run of combining marks, and Python's time for it grows with the square of the run's length: a
megabyte of marks would take a quarter of an hour. No language puts more than a few marks on one letter, so longer runs
are cut first. The bound is the one of the Stream-Safe Text Format (UAX 15, section 13).
"""

import re
import unicodedata
from functools import cache

MAX_MARKS = 30
"""Maximum number of combining marks in a row. Further marks are removed."""
_MAY_BE_COMBINING = re.compile(
    "[\u0300-\u036f\u0483-\u0489\u0591-\u1dff\u20d0-\u20f0\u2cef-\u2cf1\u2d7f-\u2dff\u302a-\u302f\u3099\u309a"
    "\ua66f-\uabff\ufb1e\ufe00-\ufe2f\uff9e\uff9f\U000101fd-\U0001e94a]"
)
"""The ranges of all combining marks, and of other characters. A quick check that rules out most texts."""
_DECOMPOSED_TO_MARKS = "\u0f73\u0f75\u0f81\uff9e\uff9f"
"""Characters that aren't combining marks, but decompose into them."""


def nfkc(text: str) -> str:
    """Return the text in normal form KC."""
    return unicodedata.normalize("NFKC", stream_safe(text))


def stream_safe(text: str) -> str:
    """Return the text with at most MAX_MARKS combining marks in a row."""
    if text.isascii() or _MAY_BE_COMBINING.search(text) is None:
        return text
    return _long_runs().sub(lambda run: run[0][:MAX_MARKS], text)


_INVISIBLE = re.compile(
    "[\u00ad\u034f\u115f\u1160\u17b4\u17b5\u180e\u200b\u2060-\u2064\ufeff\ue000-\uf8ff\U000f0000-\U0010fffd]+"
)
"""Characters that no reader sees, or that have no meaning: hints for line breaks, fillers, and private-use characters,
which are the pictures of icon fonts. Joiners are kept: scripts and emoji are read by them."""


def remove_invisible(text: str) -> str:
    """Return the text without characters that show nothing, and without the characters of icon fonts."""
    return text if text.isascii() else _INVISIBLE.sub("", text)


def fold_case(text: str) -> str:
    """Return the text in NFKC case folding (Unicode, D146). Case folding may break the normal form, so the text is
    normalized again."""
    return nfkc(nfkc(text).casefold())


def fold(text: str) -> str:
    """Return the text in the form for comparisons: in NFKC case folding, and with what `_sign_of` folds.

    `cafe` and `café` stay two words.
    """
    folded = fold_case(text)
    if folded.isascii() or _MAY_BE_SIGN.search(folded) is None:
        return folded
    return nfkc(_MAY_BE_SIGN.sub(_fold_sign, folded))  # marks on both sides of a sign may belong together


_OPTIONAL = "[\u0591-\u05c7\u0610-\u061a\u0640\u064b-\u065f\u0670\u06d6-\u06ed\u08ca-\u08ff]"
"""Ranges with all signs that writers of Hebrew and Arabic leave out: points, accents, vowel signs, and the line that
makes a word longer (tatweel). Few texts have them, and the same word has them in one text and not in another."""
_MAY_BE_SIGN = re.compile(rf"(?![0-9])\d|{_OPTIONAL}|[\u0622\u0623\u0625\u0219\u021b]|(?<=i)\u0307")
_SAME = dict.fromkeys("\u0622\u0623\u0625", "\u0627") | {"\u0219": "\u015f", "\u021b": "\u0163"}
"""Letters that are written as another one as often: alef with a hamza or a madda, and Romanian letters with a comma,
which old character sets write with a cedilla. The dot of a Turkish capital I is left behind by case folding."""


def _fold_sign(found: re.Match[str]) -> str:
    return _sign_of(found[0])


@cache
def _sign_of(char: str) -> str:
    """Return a digit of any script as an ASCII digit, one of letters that are the same, and nothing for a sign that may
    be left out."""
    if char in _SAME:
        return _SAME[char]
    digit = unicodedata.decimal(char, None)
    if digit is not None:
        return str(digit)
    return "" if char == "\u0640" or unicodedata.category(char) == "Mn" else char


@cache
def _long_runs() -> re.Pattern[str]:
    """Return the pattern of runs with more than MAX_MARKS combining marks."""
    marks = [code for code in (*range(0x300, 0x1F000), *range(0xE0100, 0xE01F0)) if unicodedata.combining(chr(code))]
    return re.compile(f"[{ranges_of(marks)}{_DECOMPOSED_TO_MARKS}]{{{MAX_MARKS + 1},}}+")


def ranges_of(codes: list[int]) -> str:
    """Return ascending code points as the ranges of a character class."""
    ranges: list[list[int]] = []
    for code in codes:
        if ranges and ranges[-1][1] == code - 1:
            ranges[-1][1] = code
        else:
            ranges.append([code, code])
    return "".join(f"{chr(first)}-{chr(last)}" for first, last in ranges)
