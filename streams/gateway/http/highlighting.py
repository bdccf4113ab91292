"""The words of a query in a text: which are marked, and where. Pure.

It makes no HTML: highlights are positions, and the templates escape every piece of text. Words are split as in the word
index (`streams.pages.text.tokens`), so versions, names and words with combining marks stay whole.
"""

import re
import unicodedata
from collections.abc import Collection, Iterable, Iterator

from streams.language.function_words import shown_language, without_function_words
from streams.pages.text.language import identify, primary
from streams.pages.text.normal_forms import fold
from streams.pages.text.tokens import cut_run, is_hangul, is_spaceless, word_spans
from streams.vectors.stemming import LANGUAGES, stems

Range = tuple[int, int]

_POSSESSIVE = re.compile(r"['’]s$")
_ACCENT = re.compile("[\u0300-\u036f]+")
"""Marks of Latin, Greek and Cyrillic letters. In other scripts a mark makes another letter."""
_MIN_PART = 2
"""Minimum length of the beginning of a Korean word that is marked: its characters are syllables."""


def query_words(query: str) -> tuple[str, ...]:
    """Return the words of a query to highlight: folded, each once; function words only if there are no others.

    Scripts without spaces between words are cut as in the word index.
    """
    words = tuple(dict.fromkeys(filter(None, _words_of(query))))  # signs that are folded away leave no word
    return tuple(without_function_words(words, shown_language(words, identify(query).language)))


def _words_of(query: str) -> Iterator[str]:
    for start, end in word_spans(query):
        word = query[start:end]
        yield from cut_run(word) if is_spaceless(word[0]) else (_fold(word),)


def highlights(text: str, words: Iterable[str], language: str = "") -> list[Range]:
    """Return the positions of the query's words in the text, as `[start, end)` in characters, without overlaps.

    Words are compared by the stems of the word index, so inflected words are marked, too, as they are found.
    `language` is the language of the text: its function words are marked only if the query has no others.
    """
    words = without_function_words([*words], language)
    runs = {word for word in words if is_spaceless(word[0])}
    wanted = {_fold(word) for word in words}  # runs, too: kana of half width are a word until they are folded
    wanted_stems = {stem for each in stems(sorted(wanted), language) for stem in each}
    spans = list(_find_candidates(text, wanted | wanted_stems, language)) if wanted else []
    folded = [_POSSESSIVE.sub("", _fold(text[start:end])) for start, end in spans]
    found = [
        span
        for span, word, own in zip(spans, folded, stems(folded, language), strict=True)
        if word in wanted or not wanted_stems.isdisjoint(own)
    ]
    parts = {part for run in runs if (part := _beginning_in(text, run) if is_hangul(run[0]) else run)}
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


def _beginning_in(text: str, word: str) -> str:
    """Return the longest beginning of a Korean word that the text has: its end is an inflection. Empty if none."""
    least = min(_MIN_PART, len(word))
    return next((word[:end] for end in range(len(word), least - 1, -1) if word[:end] in text), "")


def _find_all(text: str, part: str) -> Iterator[Range]:
    start = text.find(part)
    while start >= 0:
        yield start, start + len(part)
        start = text.find(part, start + len(part))


def _merge_ranges(ranges: list[Range]) -> list[Range]:
    merged: list[Range] = []
    for start, end in sorted(ranges):
        if merged and start <= merged[-1][1]:  # words of a script without spaces stand side by side
            merged[-1] = (merged[-1][0], max(merged[-1][1], end))
        else:
            merged.append((start, end))
    return merged


def _fold(word: str) -> str:
    """Return the folded word without accents, so that `cafe` finds `Café`."""
    folded = fold(word)
    if folded.isascii():
        return folded
    bare = _ACCENT.sub("", unicodedata.normalize("NFKD", folded))
    return unicodedata.normalize("NFC", bare) or folded
