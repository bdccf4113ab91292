"""The block list of suggestions: a query with a blocked word or phrase is never suggested.

A list has a word or phrase a line; `#` begins a comment. Whole words are compared, so `ass` doesn't block `class`: as
they look to a reader (UTS 39 skeletons), without accents and invisible characters. A text is read in three ways:

    its words                     kill yourself, kill-yourself
    its words without marks       t.h.i.e.f, th_ief
    single letters as one word    t h i e f

The words of a phrase are also found with other spaces between them (`kill your self`). In a word with more letters than
digits a digit may be any letter (`th1ef`).
"""

import re
import unicodedata
from collections.abc import Iterable, Iterator, Sequence
from functools import cache
from importlib import resources
from itertools import groupby
from pathlib import Path

from streams.errors import UsageError
from streams.lines.bounded import read_whole
from streams.queries.suggestions.normal_form import key_of, normalize_query

_WORD = re.compile(r"\w+")
_NO_LETTER = re.compile(r"[\W_]+")
_INVISIBLE = frozenset("\u034f\u115f\u1160\u17b4\u17b5\u3164\uffa0")
"""Characters without a form that are no format characters (Default_Ignorable_Code_Point)."""
Phrase = tuple[str, ...]


class BlockedWords:
    """Words and phrases that no suggestion may have."""

    def __init__(self, lines: Iterable[str] = ()) -> None:
        entries = (tuple(map(_skeleton, _WORD.findall(_folded(line.partition("#")[0])))) for line in lines)
        self._phrases = frozenset(entry for entry in entries if entry)
        self._lengths = sorted({len(phrase) for phrase in self._phrases})
        self._by_ends: dict[tuple[object, ...], list[Phrase]] = {}
        """The phrases by the lengths of their words, with their first or their last letter, or with none."""
        for phrase in self._phrases:
            for key in _ends_of(phrase):
                self._by_ends.setdefault(key, []).append(phrase)
        self._joined = frozenset("".join(phrase) for phrase in self._phrases if len(phrase) > 1)
        self._longest = max(map(len, self._joined), default=0)

    def __len__(self) -> int:
        return len(self._phrases)

    def blocks(self, text: str) -> bool:
        """Return True if the text has a blocked word or phrase."""
        return bool(self._phrases) and any(self._has(words) for words in _readings(text))

    def _has(self, words: Sequence[str]) -> bool:
        forms = [_skeleton(word) for word in words]
        guessed = [_with_any_letter(word) for word in words]
        has_guesses = guessed != forms
        for start in range(len(forms)):
            for length in self._lengths:
                end = start + length
                if tuple(forms[start:end]) in self._phrases or (has_guesses and self._is_guessed(guessed[start:end])):
                    return True
            if self._joined and self._is_joined(forms[start:]):
                return True
        return False

    def _is_guessed(self, words: Sequence[str]) -> bool:
        """Return True if the words are a blocked phrase where each `?` may be any letter."""
        if not any("?" in word for word in words):
            return False
        key = next(key for key in _ends_of(words) if "?" not in key)
        return any(
            all(
                char in ("?", other)
                for word, wanted in zip(words, phrase, strict=True)
                for char, other in zip(word, wanted, strict=True)
            )
            for phrase in self._by_ends.get(key, ())
        )

    def _is_joined(self, words: Iterable[str]) -> bool:
        """Return True if the first words are a blocked phrase, whatever spaces are between the letters."""
        joined = ""
        for word in words:
            joined += word
            if joined in self._joined:
                return True
            if len(joined) > self._longest:
                return False
        return False


def _ends_of(words: Sequence[str]) -> Iterator[tuple[object, ...]]:
    """Yield the keys by which a phrase is found: with its first letter, with its last one, and with none."""
    lengths = tuple(map(len, words))
    yield (lengths, "first", words[0][:1])
    yield (lengths, "last", words[-1][-1:])
    yield (lengths,)


def _readings(text: str) -> Iterator[list[str]]:
    """Yield the words of a text, each way of reading it once."""
    folded = _folded(text)
    words = _WORD.findall(folded)
    yield words
    whole = [part for part in (_NO_LETTER.sub("", chunk) for chunk in folded.split()) if part]
    if whole != words:
        yield whole
    spelled = [part for single, run in groupby(whole, lambda word: len(word) == 1) for part in _joined(run, single)]
    if spelled != whole:
        yield spelled


def _joined(words: Iterable[str], single: bool) -> list[str]:
    return ["".join(words)] if single else list(words)


def _folded(text: str) -> str:
    """Return the normal form without accents and invisible characters."""
    seen = "".join(char for char in text if not _is_invisible(char))
    return key_of(normalize_query(seen))


def _is_invisible(char: str) -> bool:
    if char.isascii():
        return False
    return unicodedata.category(char) == "Cf" or char in _INVISIBLE or "\ufe00" <= char <= "\ufe0f"


def _skeleton(word: str) -> str:
    """Return what a folded word looks like (UTS 39, section 4)."""
    return word.translate(_looks())


def _with_any_letter(word: str) -> str:
    """Return the skeleton of a word with `?` for each digit, if it has more letters than digits; else the skeleton."""
    digits = sum(map(str.isdecimal, word))
    if not 0 < digits < len(word) - digits:
        return _skeleton(word)
    return "".join("?" if char.isdecimal() else _skeleton(char) for char in word)


@cache
def _looks() -> dict[int, str]:
    """Return what each character looks like (`confusables.txt`), without strokes and other marks."""
    content = resources.files(__package__).joinpath("confusables.txt").read_text("utf-8")
    rows = (line.split("\t") for line in content.split("\n") if line and line[0] != "#")
    return {ord(char): _without_marks(looks) for looks, chars in rows for char in chars}


def _without_marks(looks: str) -> str:
    return "".join(char for char in looks if not unicodedata.combining(char)) or looks


def read_block_words(files: Iterable[Path]) -> tuple[str, ...]:
    """Return the lines of all files. Raises UsageError for a file that can't be read."""
    lines: list[str] = []
    for file in files:
        try:
            lines += read_whole(file).decode("utf-8").splitlines()
        except (UsageError, UnicodeDecodeError) as error:
            raise UsageError(f"the block list {file} can't be read: {error}") from error
    return tuple(lines)
