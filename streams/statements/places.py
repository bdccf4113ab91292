"""The words around a statement whose beginning stands earlier in its page: by them a link finds the right place. Pure.

A browser opens the first place that has the text of a link (text fragments, WICG), so a text that stands twice needs
the words before or after it. What a page has beside its statements, such as its navigation, is not known here.
"""

from collections import defaultdict
from collections.abc import Sequence
from typing import NamedTuple
from unicodedata import category

from streams.statements.statement import Statement

WHOLE_WORDS = 10
"""Maximum words of a text of which a link has all. Of a longer one it has the first and the last `END_WORDS`."""
END_WORDS = 5
MAX_CHARS = 120
"""Maximum length of the words before or after a statement (characters)."""


class Around(NamedTuple):
    """The words right before and right after a statement; empty where nothing of its block stands there."""

    before: str
    after: str


def words_around(statements: Sequence[Statement]) -> dict[int, Around]:
    """Return the words around each statement whose beginning stands in an earlier one, by the place of the statement.

    The time is linear in the words: at each word at most `WHOLE_WORDS` beginnings are looked up.
    """
    texts = [[_bare(word) for word in one.text.casefold().split()] for one in statements]
    beginnings = [tuple(words[: WHOLE_WORDS if len(words) <= WHOLE_WORDS else END_WORDS]) for words in texts]
    lengths: defaultdict[str, set[int]] = defaultdict(set)
    for beginning in beginnings:
        if beginning:
            lengths[beginning[0]].add(len(beginning))
    wanted, seen = set(beginnings), set[tuple[str, ...]]()
    found = {}
    for at, words in enumerate(texts):
        if beginnings[at] in seen:
            found[at] = _around(statements, at)
        for start, word in enumerate(words):
            for length in lengths.get(word, ()):
                if (part := tuple(words[start : start + length])) in wanted:
                    seen.add(part)
    return found


def _bare(word: str) -> str:
    """Return a word without the punctuation around it: a browser finds `log` in `(log).`, too."""
    if word.isalnum():
        return word
    own = [place for place, char in enumerate(word) if not category(char).startswith("P")]
    return word[own[0] : own[-1] + 1] if own else ""


def _around(statements: Sequence[Statement], at: int) -> Around:
    before = statements[at - 1].text.split()[-END_WORDS:] if at and _touch(statements, at - 1) else ()
    after = statements[at + 1].text.split()[:END_WORDS] if _touch(statements, at) else ()
    return Around(*(text if len(text := " ".join(words)) <= MAX_CHARS else "" for words in (before, after)))


def _touch(statements: Sequence[Statement], at: int) -> bool:
    """Return whether only a space is between a statement and the next one, in one block."""
    if at + 1 >= len(statements):
        return False
    one, other = statements[at], statements[at + 1]
    return one.block == other.block and one.start < one.end <= other.start <= one.end + 1
