"""Finds the scripts of a text's letters, and measures texts of any script in letters and words of English.

Scripts are found by Unicode block; their codes are from ISO 15924. A Chinese character has about as much meaning as
three Latin letters, and many scripts have no spaces between words. The content model learned from English texts, and
its lengths are comparable after a conversion. Its factors are rough: they come from the lengths of the Universal
Declaration of Human Rights in these languages.
"""

import re
from collections import Counter
from functools import cache
from typing import NamedTuple

import numpy as np

_BLOCKS = (
    # First code point and script of each block. A block ends where the next one begins. Without a script: no letters.
    "0041 Latn, 005B, 0061 Latn, 007B, 00AA Latn, 00AB, 00B5, 00BA Latn, 00BB, 00C0 Latn, 00D7, 00D8 Latn, 00F7, "
    "00F8 Latn, 02B0, 0370 Grek, 0400 Cyrl, 0530 Armn, 0590 Hebr, 0600 Arab, 0660, 066E Arab, 06F0, 06FA Arab, "
    "0700 Syrc, 0750 Arab, 0780 Thaa, 07C0 Nkoo, 0800 Samr, 0860 Syrc, 0870 Arab, 0900 Deva, 0964, 0971 Deva, "
    "0980 Beng, 0A00 Guru, 0A80 Gujr, 0B00 Orya, 0B80 Taml, 0C00 Telu, 0C80 Knda, 0D00 Mlym, 0D80 Sinh, 0E00 Thai, "
    "0E80 Laoo, 0F00 Tibt, 1000 Mymr, 10A0 Geor, 1100 Hang, 1200 Ethi, 13A0 Cher, 1400 Cans, 1680, 1780 Khmr, "
    "1800 Mong, 18B0 Cans, 1900, 1C50 Olck, 1C80 Cyrl, 1C90 Geor, 1CC0, 1E00 Latn, 1F00 Grek, 2000, 2C00, 2C60 Latn, "
    "2C80, 2D00 Geor, 2D30 Tfng, 2D80 Ethi, 2DE0 Cyrl, 2E00, 2E80 Hani, 2FE0, 3005 Hani, 3008, 3021 Hani, 3030, "
    "3041 Kana, 3100 Bopo, 3130 Hang, 3190, 31A0 Bopo, 31C0, 31F0 Kana, 3200, 3400 Hani, 4DC0, 4E00 Hani, A000 Yiii, "
    "A4D0, A640 Cyrl, A6A0, A720 Latn, A800, A8E0 Deva, A900, A960 Hang, A980, A9E0 Mymr, AA00, AA60 Mymr, AA80, "
    "AB00 Ethi, AB30 Latn, AB70 Cher, ABC0, AC00 Hang, D7B0 Hang, D800, F900 Hani, FB00 Latn, FB13 Armn, FB1D Hebr, "
    "FB50 Arab, FE00, FE70 Arab, FEFF, FF21 Latn, FF3B, FF41 Latn, FF5B, FF66 Kana, FFA0 Hang, FFE0, 20000 Hani, "
    "323B0"
)
FEW_CHARS = 32
"""Maximum length of a text that is read letter by letter (characters). Arrays are faster for longer texts."""
_ENTRIES = [entry.partition(" ") for entry in _BLOCKS.split(", ")]
_FIRST = np.array([int(first, 16) for first, _, _ in _ENTRIES], np.uint32)
_NAMES = sorted({name for _, _, name in _ENTRIES} - {""})
_SCRIPT = np.array([_NAMES.index(name) + 1 if name else 0 for _, _, name in _ENTRIES], np.uint8)


def script_counts(text: str) -> dict[str, int]:
    """Count the letters of each script. Marks count as letters. Digits and punctuation do not count."""
    if len(text) <= FEW_CHARS:
        return {name: count for name, count in Counter(map(script_of, text)).items() if name}
    codes = np.frombuffer(text.encode("utf-32-le", "surrogatepass"), np.uint32)
    blocks = np.searchsorted(_FIRST, codes, side="right")
    counts = np.bincount(np.append(np.uint8(0), _SCRIPT)[blocks], minlength=len(_NAMES) + 1)
    return {name: int(count) for name, count in zip(_NAMES, counts[1:], strict=True) if count}


@cache
def script_of(letter: str) -> str:
    """Return the script of one character; empty if it is not a letter."""
    found = int(np.searchsorted(_FIRST, ord(letter), side="right"))
    return _NAMES[_SCRIPT[found - 1] - 1] if found and _SCRIPT[found - 1] else ""


def dominant_script(counts: dict[str, int]) -> str:
    """Return the script of most of the text; empty without letters.

    A Han character, kana or syllable of Hangul counts as three letters of an alphabet. Han with some kana is Japanese
    (`Kana`), even if kana is the smaller part, because Chinese has none.
    """
    weighted = {name: count * (3 if name in ("Hani", "Kana", "Hang") else 1) for name, count in counts.items()}
    if not weighted:
        return ""
    han, kana = weighted.pop("Hani", 0), weighted.pop("Kana", 0)
    weighted["Kana" if kana * 20 > han else "Hani"] = han + kana
    return max(weighted, key=lambda name: (weighted[name], name))


_HAN = re.compile("[\u3400-\u9fff\U00020000-\U0002ffff]++")
_KANA = re.compile("[\u3040-\u30ff]++")
_HANGUL = re.compile("[\uac00-\ud7bf]++")
_JOINED = re.compile("[\u0e00-\u0eff\u1000-\u10bf\u1780-\u17ff]++")
"""Runs of Thai, Lao, Burmese and Khmer. They have no spaces between words."""
_WEIGHTED = re.compile("|".join(kind.pattern.removesuffix("++") for kind in (_HAN, _KANA, _HANGUL, _JOINED)))
"""A character of any of these."""
_COMMAS = (",", "\uff0c", "\u3001", "\u060c")
_WIDE_STOPS = ("\u3002", "\u0964")


class Weight(NamedTuple):
    """Numbers to add to the characters of a text, and to its words between spaces."""

    chars: int
    words: int


_NOTHING = Weight(0, 0)


def weight_of(text: str) -> Weight:
    """Return the weight of a text.

    Han counts as three letters and three fifths of a word, kana as two letters and two fifths of a word, a syllable of
    Hangul as two letters. Six letters of the scripts without spaces count as a word.
    """
    if text.isascii() or not _WEIGHTED.search(text):
        return _NOTHING
    han, kana, hangul, joined = (_count(kind, text) for kind in (_HAN, _KANA, _HANGUL, _JOINED))
    return Weight(2 * han + kana + hangul, (18 * han + 12 * kana + 5 * joined) // 30)


def commas_in(text: str) -> int:
    """Count the commas of all scripts."""
    return text.count(",") if text.isascii() else sum(map(text.count, _COMMAS))


def stops_in(text: str) -> int:
    """Count the ends of sentences within a text."""
    if text.isascii():
        return text.count(". ")
    return text.count(". ") + sum(map(text.count, _WIDE_STOPS)) - text.removesuffix("\n").endswith(_WIDE_STOPS)


def _count(kind: re.Pattern[str], text: str) -> int:
    return sum(map(len, kind.findall(text)))
