"""Phrases as the index compares them: words in a row, in any case. Pure.

Qdrant's full-text index and the index in memory divide texts in the same way: a word is a run of letters and digits, in
lower case. So the index finds every text that has a phrase, as far as the phrase is written in the same characters, and
a few more (`SQLITE_BUSY` in `SQLITE_BUSY_SNAPSHOT`), which are left out when results are checked.
"""

import re

WORD = re.compile(r"[^\W_]+")


def words_in_a_row(text: str) -> str:
    """Return the words of the text in lower case, with a space before and behind each."""
    return f" {' '.join(WORD.findall(text.lower()))} "


def has_words(text: str, phrase: str) -> bool:
    """Return True if the text has the words of the phrase in a row."""
    return words_in_a_row(phrase) in words_in_a_row(text)
