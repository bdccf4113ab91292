"""The words of a query in a text: which are marked, and where. Pure.

It makes no HTML: highlights are positions, and the templates escape every piece of text. Words are split as in the word
index (`streams.pages.text.tokens`), so versions, names and words with combining marks stay whole.
"""

import re
import unicodedata
from collections.abc import Collection, Iterable, Iterator

from streams.pages.text.language import primary
from streams.pages.text.tokens import is_spaceless, word_spans
from streams.vectors.bm25 import FUNCTION_WORDS
from streams.vectors.stemming import LANGUAGES, stems

Range = tuple[int, int]

_POSSESSIVE = re.compile(r"['’]s$")
_ACCENT = re.compile("[\u0300-\u036f]+")
"""Marks of Latin, Greek and Cyrillic letters. In other scripts a mark makes another letter."""
_SPACELESS_PIECE = re.compile("[\u30a0-\u30ff\u31f0-\u31ff]+|[\u3041-\u309f]+|[^\u3041-\u30ff\u31f0-\u31ff]+")
"""Katakana, hiragana, and all others: a change of script ends a word in Japanese."""
_MAX_ENDING = 2
"""Maximum letters of hiragana that are a particle or an ending, as in \u30ed\u30b0\u3092."""
_MIN_PART_OF_LETTERS = 4
"""Minimum length of a part of Thai, Lao, Khmer and Burmese words: their letters are sounds."""
_MIN_PART_OF_KANA = 3
_MIN_PART = 2
"""Minimum length of a part of Han and Hangul words: their characters are syllables."""


def query_words(query: str) -> tuple[str, ...]:
    """Return the words of a query to highlight: folded, each once; function words only if there are no others.

    A script without spaces between words has runs of characters instead. A text is searched for their parts.
    """
    words = dict.fromkeys(_words_and_runs(query))
    return tuple(word for word in words if not _is_function_word(word)) or tuple(words)


def _words_and_runs(query: str) -> Iterator[str]:
    """Yield the words of a query, and its runs without spaces, one script each."""
    for start, end in word_spans(query):
        word = query[start:end]
        yield from _SPACELESS_PIECE.findall(word) if is_spaceless(word[0]) else (_fold(word),)


def highlights(text: str, words: Iterable[str], language: str = "") -> list[Range]:
    """Return the positions of the query's words in the text, as `[start, end)` in characters, without overlaps.

    Words are compared by the stems of the word index, so inflected words are marked, too, as they are found.
    `language` is the language of the text.
    """
    runs = [word for word in words if is_spaceless(word[0])]
    wanted = {_fold(word) for word in words} - set(runs)
    wanted_stems = {stem for each in stems(sorted(wanted), language) for stem in each}
    spans = list(_find_candidates(text, wanted | wanted_stems, language)) if wanted else []
    folded = [_POSSESSIVE.sub("", _fold(text[start:end])) for start, end in spans]
    found = [
        span
        for span, word, own in zip(spans, folded, stems(folded, language), strict=True)
        if word in wanted or not wanted_stems.isdisjoint(own)
    ]
    parts = {part for run in runs for part in _find_parts(text, run)}
    return _merge_ranges([*found, *(place for part in parts for place in _find_all(text, part))])


def _find_candidates(text: str, wanted: Collection[str], language: str) -> Iterator[Range]:
    """Yield the places of the words that may be wanted, without runs without spaces.

    An English stem has the first letter of its word, so most words of an English text need no stem.
    """
    spans = word_spans(text)
    if not text.isascii() or primary(language) in LANGUAGES:
        yield from (span for span in spans if not is_spaceless(text[span[0]]))
        return
    first = {word[:1] for word in wanted}
    first |= {letter.upper() for letter in first}
    yield from (span for span in spans if text[span[0]] in first)


def segments(text: str, ranges: Iterable[Range]) -> list[tuple[str, bool]]:
    """Return the text in pieces, each with a flag: highlighted or not. The pieces together are the text.

    Words side by side are one piece, so `write-ahead log` is one mark and not three.
    """
    pieces: list[tuple[str, bool]] = []
    position = 0
    for start, end in _join_neighbours(text, ranges):
        pieces += [(text[position:start], False), (text[start:end], True)]
        position = end
    pieces.append((text[position:], False))
    return [piece for piece in pieces if piece[0]]


def _join_neighbours(text: str, ranges: Iterable[Range]) -> list[Range]:
    """Return the ranges, with one range for those that only a space or a hyphen divides."""
    joined: list[Range] = []
    for start, end in ranges:
        if joined and text[joined[-1][1] : start] in (" ", "-"):
            joined[-1] = (joined[-1][0], end)
        else:
            joined.append((start, end))
    return joined


def _is_function_word(word: str) -> bool:
    return word in FUNCTION_WORDS or (_is_hiragana(word) and len(word) <= _MAX_ENDING)


def _is_hiragana(run: str) -> bool:
    return "\u3041" <= run[0] <= "\u309f"


def _is_hangul(run: str) -> bool:
    return "\uac00" <= run[0] <= "\ud7ff"


def _find_parts(text: str, run: str) -> Iterator[str]:
    """Yield the longest parts of a run that the text has, from the left. A part shorter than a word is chance.

    Only the beginning of a Korean word counts: its end is an inflection.
    """
    least = min(_min_part(run[0]), len(run))
    last = 0 if _is_hangul(run) else len(run) - least
    start = 0
    while start <= last:
        end = start + least
        if run[start:end] not in text:
            start += 1
            continue
        while end < len(run) and run[start : end + 1] in text:
            end += 1
        yield run[start:end]
        start = end


def _find_all(text: str, part: str) -> Iterator[Range]:
    start = text.find(part)
    while start >= 0:
        yield start, start + len(part)
        start = text.find(part, start + len(part))


def _min_part(letter: str) -> int:
    if "\u3041" <= letter <= "\u30ff" or "\u31f0" <= letter <= "\u31ff":
        return _MIN_PART_OF_KANA
    return _MIN_PART_OF_LETTERS if letter < "\u1100" or "\u1780" <= letter <= "\u17ff" else _MIN_PART


def _merge_ranges(ranges: list[Range]) -> list[Range]:
    merged: list[Range] = []
    for start, end in sorted(ranges):
        if merged and start < merged[-1][1]:
            merged[-1] = (merged[-1][0], max(merged[-1][1], end))
        else:
            merged.append((start, end))
    return merged


def _fold(word: str) -> str:
    """Return the word without case and accents, so that `cafe` finds `Café`."""
    lower = word.casefold()
    if lower.isascii():
        return lower
    bare = _ACCENT.sub("", unicodedata.normalize("NFKD", lower))
    return unicodedata.normalize("NFC", bare) or lower
