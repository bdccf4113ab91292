"""Chooses the encoding of a text that declares none: East Asian, Cyrillic, or of Latin letters.

A text is decoded by each table. The language model says how probable the languages of that table are, and the tables
themselves which characters are common: each standard puts them first. A wrong table gives rare characters in an order
that no language has, so a few words are enough: the names of columns, a menu. Before that, a text that is natural in
Latin letters is taken as such.
"""

import itertools
import re
import unicodedata
from collections.abc import Iterator, Mapping, Sequence

from streams.charset import is_western
from streams.pages.text.language import probabilities
from streams.pages.text.latin_encodings import WESTERN, choose_latin_encoding

_CYRILLIC = dict.fromkeys(("ru", "uk", "be", "bg", "sr", "mk"), 1.0)
_JAPANESE = {"ja": 1.0, "zh": 0.5}
_CHINESE = {"zh": 1.0, "yue": 1.0, "wuu": 1.0, "ja": 0.5}
"""The languages share characters: a heading in one of them often looks like the other one."""
LANGUAGES: Mapping[str, Mapping[str, float]] = {
    "cp932": _JAPANESE, "euc_jis_2004": _JAPANESE, "gb18030": _CHINESE, "big5hkscs": _CHINESE, "cp949": {"ko": 1.0},
    "cp1251": _CYRILLIC, "koi8-r": _CYRILLIC,
}  # fmt: skip
"""Python's codecs of the tables, and how much each of the model's labels says for them."""
_COMMON: Mapping[str, tuple[str, int, int]] = {
    "cp932": ("euc_jp", 0xB0, 0xCF), "euc_jis_2004": ("euc_jp", 0xB0, 0xCF), "gb18030": ("gb2312", 0xB0, 0xD7),
    "big5hkscs": ("big5", 0xA4, 0xC6), "cp949": ("euc_kr", 0xB0, 0xC8),
}  # fmt: skip
"""The first bytes of common characters: level 1 of JIS X 0208, GB 2312 and Big5, the syllables of KS X 1001."""
_KANA = frozenset({"cp932", "euc_jis_2004"})
MIN_SCORE = 0.35
"""Minimum score of a table, of 1."""
MODEL_WEIGHT = 0.6
"""Share of the score that the model gives. The common characters give the rest."""
_VOICED = re.compile("[ﾞﾟ]")
_VOICED_KANA = re.compile("[ｳｶ-ﾄﾊ-ﾎ][ﾞﾟ]")
"""Half-width kana with the marks of voiced sounds, which are characters of their own."""
MARKED = 0.3
"""Share that a text of half-width kana loses if such marks stand behind kana that take them."""
HALF_WIDTH = 0.58
"""Share that other texts of half-width kana lose: any bytes of other tables look like it."""
MAX_CHARS = 400
"""Maximum length of the text that is judged (characters)."""
MAX_LATIN_RUN = 3
"""Maximum number of letters beyond ASCII in a row in a word of Latin letters."""
_WORD = re.compile(r"[^\W\d_]+")
_BEYOND = re.compile(r"[^\x00-\x7f\s]+")
_TORN = re.compile(r"\w[^\x00-\x7f\s\w’–—/]{1,4}\w")
"""Signs between two letters, where no word has them."""
MAX_SIGNS = 2
"""Maximum number of different signs beyond ASCII between two spaces in a text of Latin letters."""
_NEVER_WRITTEN = frozenset({"Co", "Cn", "Cc", "Cs"})
"""Unicode's categories of private use, of no character, of controls, and of halves of characters."""


def choose_encoding(sample: bytes) -> str:
    """Return Python's name of the encoding of a text; empty if it is of another alphabet, but unclear of which.

    `sample` are the first texts beyond ASCII of a page that declares no encoding.
    """
    if _is_latin(sample.decode(WESTERN, "replace")[:MAX_CHARS]):
        return choose_latin_encoding(sample)
    scores = dict(_scores(sample))
    best = max(scores, key=lambda codec: scores[codec], default="")
    if best and scores[best] >= MIN_SCORE:
        return best
    return choose_latin_encoding(sample) if is_western(sample) else ""


def _is_latin(text: str) -> bool:
    """Return whether a text is natural in Latin letters: few signs, capitals only where words begin."""
    words = [word for word in _WORD.findall(text) if not word.isascii()]
    if _TORN.search(text.replace("l·l", "ll")) or any(
        char == "\ufffd" or unicodedata.category(char) == "Lm" for char in text
    ):
        return False
    if any(
        len({char for char in part if not char.isascii() and not char.isalpha()}) > MAX_SIGNS for part in text.split()
    ):
        return False
    odd = sum(len(run) > MAX_LATIN_RUN for word in words for run in _BEYOND.findall(word))
    return not odd and not any(map(_has_inner_capital, words))


def _has_inner_capital(word: str) -> bool:
    return any(one.islower() and other.isupper() for one, other in itertools.pairwise(word))


def _scores(sample: bytes) -> Iterator[tuple[str, float]]:
    """Yield the tables that have all characters of a text, with their scores."""
    for codec, languages in LANGUAGES.items():
        try:
            text = sample.decode(codec)[:MAX_CHARS]
        except UnicodeDecodeError:
            continue
        foreign = [char for char in text if char.isalpha() and not char.isascii()]
        if len(foreign) < 2 or not _is_written(text) or (languages is _CYRILLIC and not _is_cyrillic(text, foreign)):
            continue
        found = probabilities(unicodedata.normalize("NFKC", text))
        score = MODEL_WEIGHT * sum(weight * found.get(label, 0.0) for label, weight in languages.items())
        common = sum(_is_common(char, codec) for char in foreign) / len(foreign)
        score += (1 - MODEL_WEIGHT) * common
        yield codec, score * (1 - _loss_of_half_width(text, foreign))


def _loss_of_half_width(text: str, foreign: Sequence[str]) -> float:
    """Return the share of its score that a text loses for half-width kana, less if marks stand behind their kana."""
    share = sum("\uff61" <= char <= "\uff9f" for char in foreign) / len(foreign)
    if not share:
        return 0.0
    marks, right = len(_VOICED.findall(text)), len(_VOICED_KANA.findall(text))
    return share * (1.0 if marks > right else MARKED if marks else HALF_WIDTH)


def _is_written(text: str) -> bool:
    """Return whether a text has no character that nobody writes, and two letters beyond ASCII in a row."""
    if any(unicodedata.category(char) in _NEVER_WRITTEN and not char.isspace() for char in text):
        return False
    words = [word for word in _WORD.findall(text) if not word.isascii()]
    return not any(map(_has_inner_capital, words)) and any(
        len(run) > 1 for word in words for run in _BEYOND.findall(word)
    )


def _is_cyrillic(text: str, foreign: Sequence[str]) -> bool:
    return not _TORN.search(text) and all("\u0400" <= char <= "\u04ff" for char in foreign)


def _is_common(char: str, codec: str) -> bool:
    """Return whether a character is one of the common ones of a table."""
    if codec not in _COMMON:
        return True
    if "\u3041" <= char <= "\u30ff" or "\uff61" <= char <= "\uff9f":
        return codec in _KANA
    standard, first, last = _COMMON[codec]
    encoded = char.encode(standard, "ignore")
    return len(encoded) == 2 and first <= encoded[0] <= last
