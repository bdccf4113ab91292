"""The frame of a statement: without it, its words say something else. Pure, and without a list of words.

    label        `Refuted: Acme is bankrupt.`         what stands before a colon says what the rest is
    question     `Is Acme bankrupt? No.`              a question states nothing
    exclamation  `Acme is bankrupt – April fool!`     what is called behind it is about it
    obscured     `n o t`, or with a Cyrillic letter   a person reads the word, and a comparison does not

A frame is part of what is said: a sentence that leaves it out is not supported.
"""

import re
import unicodedata
from itertools import groupby

from streams.language.marks import EXCLAMATION_MARKS, MARKS, SPACED_MARKS, WIDE_COLONS, WIDE_MARKS, asks

MAX_LABEL_WORDS = 4
"""Maximum words of a label. A longer part before a colon is a clause, whose words are compared."""
_END = re.compile(rf"[{MARKS}]")
_COLON = re.compile(rf"[:{WIDE_COLONS}]")
_SENTENCE_END = re.compile(rf"((?<=[{WIDE_MARKS}])\s*|(?<=[{SPACED_MARKS}])\s+)")
"""The spaces between sentences, which may be none."""
_PART = re.compile(rf"[—–:;；()（）{WIDE_COLONS}{WIDE_MARKS}]|\s-\s|[{SPACED_MARKS}]\s")
"""The borders between the parts of a statement."""
_WORD = re.compile(r"[^\W\d_]+")
MIN_SPELLED = 3
"""Minimum letters with spaces between them that are read as a word."""
_MIXED = tuple({first, other} for first, other in (("LATIN", "CYRILLIC"), ("LATIN", "GREEK"), ("LATIN", "ARMENIAN")))
"""Scripts with letters that look alike, of which no word has two (Unicode UTS 39, 5.2). Japanese mixes others."""


def without_questions(statement: str) -> str:
    """Return the sentences of a statement that are no questions, with the spaces behind them."""
    parts = _SENTENCE_END.split(statement)
    kept = (part + space for part, space in zip(parts[::2], [*parts[1::2], ""], strict=True) if not asks(part))
    return "".join(kept).strip()


def label_of(statement: str) -> str:
    """Return the label in front of a statement; empty if it has none."""
    colon = _COLON.search(statement)
    if colon is None or not (colon[0] in WIDE_COLONS or statement[colon.end() :][:1].isspace()):
        return ""
    label = statement[: colon.start()]
    return label.strip() if len(label.split()) <= MAX_LABEL_WORDS and not _END.search(label) else ""


def exclamation_of(statement: str) -> str:
    """Return the last part of a statement if it is called out; empty if it is not."""
    if not statement.rstrip().endswith(EXCLAMATION_MARKS):
        return ""
    return next((part for part in reversed(_PART.split(statement)) if _WORD.search(part)), "")


def obscured_words(text: str) -> list[str]:
    """Return the words that a person reads as others than they are."""
    mixed = [] if text.isascii() else [word for word in _WORD.findall(text) if _is_mixed(word)]
    runs = [list(run) for is_letter, run in groupby(text.split(" "), _is_letter) if is_letter]
    return mixed + [" ".join(run) for run in runs if len(run) >= MIN_SPELLED]


def fault_of_frame(sentence: str, statement: str) -> str:
    """Return what a sentence leaves out of a statement's frame; empty if it is nothing."""
    words = _words(sentence)
    if (label := _words(label_of(statement))) and label.isdisjoint(words):
        return "the label before it"
    if (call := _words(exclamation_of(statement))) and call.isdisjoint(words):
        return "the exclamation behind it"
    if any(word not in sentence for word in obscured_words(statement)):
        return "a word that is not what it looks like"
    return ""


def _words(text: str) -> set[str]:
    return {word.casefold() for word in _WORD.findall(text)}


def _is_letter(piece: str) -> bool:
    return len(piece) == 1 and piece.isalpha()


def _is_mixed(word: str) -> bool:
    scripts = set() if word.isascii() else {unicodedata.name(letter, "").partition(" ")[0] for letter in word}
    return any(pair <= scripts for pair in _MIXED)
