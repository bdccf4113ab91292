"""Splits text into words, in the same way for fingerprints, the BM25 index, queries and typeahead.

Word boundaries follow UAX 29 (Unicode text segmentation) for scripts with spaces between words. Letters, digits and
marks stay together. An apostrophe joins letters, a point or comma joins digits, and an underscore joins any of them.
Scripts without spaces (Han, kana, Thai, Lao, Khmer, Burmese), and Hangul, become overlapping character bigrams, as in
Lucene's CJKBigramFilter. The word index takes the words of a dictionary for all but Han and Hangul (`index_words`,
decision 0006). Fingerprints and names that are stored for years have words of their own (`stored_words`).

Words are folded (`normal_forms`). Nothing is stemmed, and no accent is removed. `c++`, `c#` and similar names stay
whole. Any text takes linear time.
"""

import re
import unicodedata
from collections.abc import Callable, Sequence
from functools import cache
from itertools import groupby, pairwise

from streams.pages.text.dictionary_words import cut_words
from streams.pages.text.normal_forms import fold, fold_case, ranges_of

# Underscores begin a word only from the start of their run, and repeats are possessive: matching takes linear time.
_ASCII_WORD = re.compile(
    r"[a-z](?:\+\+|#)(?![+#]|\w)|\d++(?:[.,]\d++)+(?!\w)|(?:(?<!_)_++)?[a-z0-9][a-z0-9_]*+(?:'[a-z0-9_]++)*+"
)
_PLAIN_WORD = re.compile(r"[^\W\d_](?:\+\+|#)(?![+#]|\w)|\d++(?:[.,]\d++)+(?!\w)|(?:(?<!_)_++)?[^\W_]\w*+(?:'\w++)*+")
_MAY_BE_MARKED = re.compile(
    "[\u0300-\u036f\u0483-\u0489\u0591-\u1dff\u20d0-\u20f0\u2cef-\u2cf1\u2d7f-\u2dff\u302a-\u302f\u3099\u309a"
    "\ua66f-\uabff\ufb1e\ufe00-\ufe2f\U000101fd-\U000e01ef]"
)
"""The ranges of all combining marks, and of other characters. A quick check that spares most texts the slower
pattern."""
_HAN = "\u3005-\u3007\u3021-\u3029\u3038-\u303b\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff\U00020000-\U000323af"
_SPACELESS = (
    "\u0e00-\u0e4f\u0e5a-\u0ecf\u0eda-\u0eff"  # Thai, Lao, without their digits
    "\u1000-\u103f\u104a-\u108f\u109a-\u109f\ua9e0-\ua9ef\ua9fa-\ua9ff\uaa60-\uaa7f"  # Myanmar
    "\u1780-\u17df\u17ea-\u17ff"  # Khmer
    f"{_HAN}"
    "\u3041-\u309f\u30a0-\u30ff\u31f0-\u31ff"  # kana
)
_HANGUL = "\u1100-\u11ff\u3130-\u318f\ua960-\ua97f\uac00-\ud7ff"
_SPACELESS_RUN = re.compile(f"([{_SPACELESS}{_HANGUL}]+)")
_HAN_RUN = re.compile(f"[{_HAN}]+")
_HANGUL_LETTER = re.compile(f"[{_HANGUL}]")

# Invisible inside words (UAX 29, WB4): soft hyphen, joiners, direction marks. Typographic apostrophes become plain.
_TRANSLATED = dict.fromkeys("\u00ad\u200c\u200d\u200e\u200f\u2060\ufeff", "") | dict.fromkeys("\u2019\u02bc\uff07", "'")
_APOSTROPHES = str.maketrans({char: plain for char, plain in _TRANSLATED.items() if plain})
_INVISIBLE = "".join(char for char, plain in _TRANSLATED.items() if not plain)
_TO_TRANSLATE = re.compile(f"[{''.join(_TRANSLATED)}]")
_MAY_BE_MARKED_OR_INVISIBLE = re.compile(f"{_MAY_BE_MARKED.pattern}|[{_INVISIBLE}]")
_ELISION = re.compile(r"(?:(?:[lmtnsjdc]|qu|jusqu|quoiqu|lorsqu|puisqu|all|dall|dell|nell|sull)')++")
"""Articles that an apostrophe joins to the next word: Lucene's French list and the frequent Italian ones."""
_MARKS = frozenset({"Mn", "Mc"})
"""Unicode categories of combining marks."""
_ELIDING_LANGUAGES = ("", "fr", "it", "ca", "oc")
BOX_LABELS = frozenset(
    label
    for labels in (
        "attention caution danger hint important info information note notes remark tip tips warning warnings",
        "achtung anmerkung gefahr hinweis hinweise tipp vorsicht warnung wichtig",  # German
        "astuce avertissement conseil remarque",  # French
        "advertencia aviso consejo importante nota precaución",  # Spanish
        "attenzione avviso avvertenza suggerimento",  # Italian
        "atenção cuidado dica observação",  # Portuguese
        "opmerking waarschuwing",  # Dutch
    )
    for label in labels.split()
)
"""Labels of boxes: they say what kind of box it is, and not what the box is about. In manuals they are headings, so
they are in the context of thousands of statements: a query for "release notes" found each note about releasing."""
PART_LABELS = frozenset(
    label
    for labels in (
        "abstract, acknowledgments, afterword, appendix, conclusion, conclusions, contents, epilogue",
        "executive summary, foreword, introduction, overview, preface, prologue, summary, table of contents",
        "anhang, einführung, einleitung, fazit, inhalt, nachwort, überblick, übersicht, vorwort, zusammenfassung",
        "annexe, aperçu, avant-propos, préface, résumé, sommaire",
        "conclusiones, conclusión, introducción, prefacio, prólogo, resumen, índice",
        "conclusioni, indice, introduzione, panoramica, prefazione, riassunto",
        "conclusão, introdução, prefácio, resumo, sumário, visão geral",
        "conclusie, inhoud, inleiding, overzicht, samenvatting, voorwoord",
    )
    for label in labels.split(", ")
)
"""Headings that say which part of a document begins, and not what it is about (parts of DPUB-ARIA 1.0), by language as
above. Before a short statement such a heading is half of the text that is embedded."""
_LABELS = BOX_LABELS | PART_LABELS
_MAX_LABEL_CHARS = max(map(len, _LABELS)) + 2


def words(text: str, language: str = "") -> list[str]:
    """Return the words of a text, in order.

    `language` is a BCP 47 tag, or empty if it isn't known. Only apostrophes depend on it: `dog's` is `dog` in English,
    and `l'homme` is `homme` in French, Italian, Catalan and Occitan. Without a language both rules apply. An index must
    use no language, for documents and queries alike.
    """
    return _words(text, language, _bigrams)


def stored_words(text: str) -> list[str]:
    """Return the words of a text for fingerprints and keys that stay stored for years: as `words`, but only case is
    folded, so that a new rule of `fold` changes none of them."""
    return _words(text, "", _bigrams, fold_case)


def index_words(text: str) -> list[str]:
    """Return the words of a text for the word index: as `words`, but kana, Thai, Lao, Khmer and Burmese become words
    of a dictionary. Bigrams of Han find more than its words (docs/decisions/0006)."""
    return _words(text, "", _dictionary_words)


def _words(text: str, language: str, cut: Callable[[str], list[str]], fold: Callable[[str], str] = fold) -> list[str]:
    if text.isascii():
        found = _ASCII_WORD.findall(text.lower())
        return _remove_clitics(found, language) if "'" in text else found
    folded = _translate(fold(_translate(text)))  # folding may bring an apostrophe (\u0149)
    found = _word_of(folded).findall(folded)
    if "'" in folded:
        found = _remove_clitics(found, language)
    if _SPACELESS_RUN.search(folded) is None:
        return found
    parts = [part for word in found for part in _split_spaceless(word, cut)]
    return _remove_clitics(parts, language) if "'" in folded else parts  # a part of a word may end with one


def word_spans(text: str) -> list[tuple[int, int]]:
    """Return the places of the words in an unchanged text: `[start, end)` in characters, in order.

    The words are the same as in `words`, but runs without spaces stay whole and end where a script with spaces begins.
    """
    if text.isascii():  # without apostrophes of other kinds, marks, and scripts without spaces
        return [match.span() for match in _PLAIN_WORD.finditer(text)]
    pattern = _marked_word(_INVISIBLE) if _MAY_BE_MARKED_OR_INVISIBLE.search(text) else _PLAIN_WORD
    spans = (match.span() for match in pattern.finditer(text.translate(_APOSTROPHES)))
    return [part for start, end in spans for part in _parts_by_script(text, start, end)]


def _parts_by_script(text: str, start: int, end: int) -> list[tuple[int, int]]:
    if _SPACELESS_RUN.search(text, start, end) is None:
        return [(start, end)]
    borders = sorted(
        {start, end, *(place for run in _SPACELESS_RUN.finditer(text, start, end) for place in run.span())}
    )
    return list(pairwise(borders))


def is_spaceless(char: str) -> bool:
    """Return whether the character is of a script without spaces between words, or of Hangul (words have endings)."""
    return not char.isascii() and _SPACELESS_RUN.match(char) is not None


def _translate(text: str) -> str:
    """Return the text without invisible characters, and with plain apostrophes."""
    return _TO_TRANSLATE.sub(lambda match: _TRANSLATED[match[0]], text)


def _word_of(folded: str) -> re.Pattern[str]:
    return _marked_word() if _MAY_BE_MARKED.search(folded) else _PLAIN_WORD


@cache
def _marked_word(also: str = "") -> re.Pattern[str]:
    """Return the pattern of words with combining marks. Python's `\\w` would cut Hindi words at their vowels."""
    marks = [
        code for code in (*range(0x300, 0x1F000), *range(0xE0100, 0xE01F0)) if unicodedata.category(chr(code)) in _MARKS
    ]
    return re.compile(_PLAIN_WORD.pattern.replace(r"\w", f"[\\w{ranges_of(marks)}{also}]"))


def _remove_clitics(found: list[str], language: str) -> list[str]:
    primary = language.partition("-")[0].lower()
    return [_remove_clitic(word, primary) if "'" in word else word for word in found]


def _remove_clitic(word: str, language: str) -> str:
    if language in _ELIDING_LANGUAGES:
        word = _ELISION.sub("", word, count=1) if _ELISION.match(word) else word
    if language in ("", "en"):
        end = len(word)
        while word.endswith("'s", 0, end):
            end -= 2
        word = word[:end]
    return word


def _split_spaceless(word: str, cut: Callable[[str], list[str]]) -> list[str]:
    """Split `iphone手机壳` into `iphone` and the parts of the run without spaces."""
    if _SPACELESS_RUN.search(word) is None:
        return [word]
    parts: list[str] = []
    for run in _SPACELESS_RUN.split(word):
        if not run or _SPACELESS_RUN.match(run) is None:
            parts += _word_of(run).findall(run)  # a part by itself may be no word, or begin with an apostrophe
        else:
            parts += cut(run)
    return parts


def _bigrams(run: str) -> list[str]:
    """Split `手机壳` into `手机`, `机壳`. Marks stay with their letter."""
    letters = _clusters(run) if _MAY_BE_MARKED.search(run) else list(run)
    if not letters[0][0].isalnum():  # a mark on a letter of another script
        letters = letters[1:]
    return [one + other for one, other in pairwise(letters)] if len(letters) > 1 else letters


def _dictionary_words(run: str) -> list[str]:
    """Split a run as `cut_run` does, and its Hangul into bigrams: words of Korean have endings."""
    return [word for part in cut_run(run) for word in (_bigrams(part) if is_hangul(part[0]) else [part])]


def cut_run(run: str) -> list[str]:
    """Split a run without spaces: Han into bigrams, all others into words of a dictionary. Hangul stays whole."""
    if _HAN_RUN.fullmatch(run):
        return _bigrams(run)
    groups = groupby(cut_words(run), lambda word: _HAN_RUN.fullmatch(word) is not None)
    cut = [word for is_han, words in groups for word in (_bigrams("".join(words)) if is_han else words)]
    return [word for word in cut if any(map(str.isalnum, word))]


def is_hangul(char: str) -> bool:
    """Return whether the character is Hangul."""
    return _HANGUL_LETTER.match(char) is not None


def _clusters(run: str) -> list[str]:
    """Split a run into letters, each with the marks behind it."""
    starts = [at for at, char in enumerate(run) if not at or unicodedata.category(char) not in _MARKS]
    return [run[start:end] for start, end in pairwise((*starts, len(run)))]


def drop_box_labels(context: Sequence[str]) -> tuple[str, ...]:
    """Return the texts of a context without labels of boxes, such as "Note:".

    The first text stays, since it is the page's title: there is a module `warnings`.
    """
    return (*context[:1], *(part for part in context[1:] if not is_box_label(part)))


def is_box_label(text: str) -> bool:
    """Return whether the whole text is the label of a box."""
    return len(text) <= _MAX_LABEL_CHARS and text.strip(" :!.\n").casefold() in _LABELS
