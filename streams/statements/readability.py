"""The readability of statements: entries, the sentence before one that needs it, and the share of sentences. Pure.

A page of entries holds little else: the index of a book, the map of a site, a list of all commands. A reader wants the
page to which such an entry leads. A table of contents has numbered lines, and is the first page of its book or chapter:
it is no page of entries.

A sentence that does not stand by itself ("There are too many.") is shown with the one before it, if that one does. The
sentence before is no part of what is embedded: a chain has what a search needs.

A statement whose words stand earlier in its page has the words around it, for links (`words_around`).
"""

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple
from unicodedata import category

from streams.language.marks import is_closed
from streams.statements.sentences.lengths import word_count
from streams.statements.sentences.reading_alone import is_entry, is_line_of_contents, is_sentence
from streams.statements.statement import Statement

MIN_ENTRIES = 60
"""Minimum number of entries of such a page. Of 1,100 pages of manuals, other pages had up to 26, these from 92 on."""
MIN_SHARE = 0.75
"""Minimum share of entries among the statements of such a page. The pages of entries had .85 to .95."""
WHOLE_WORDS = 10
"""Maximum words of a text of which a link has all. Of a longer one it has the first and the last `END_WORDS`."""
END_WORDS = 5
MAX_CHARS = 120
"""Maximum length of the words before or after a statement (characters)."""


def entries_of_page(statements: Sequence[Statement]) -> frozenset[int]:
    """Return the ordinals of the entries if the page holds little else; else an empty set."""
    entries = frozenset(one.ordinal for one in statements if _is_entry(one))
    return entries if len(entries) >= max(MIN_ENTRIES, MIN_SHARE * len(statements)) else frozenset()


def _is_entry(statement: Statement) -> bool:
    text, kind = statement.text, statement.kind
    return is_entry(text, kind, statement.context) and not is_line_of_contents(text, kind)


MAX_BEFORE_CHARS = 300
"""Maximum length of a sentence that is shown before it (characters)."""
MAX_NEEDING = 95
"""Maximum number (`standing`) of a sentence that needs the one before it."""
MIN_SHOWN = 128
"""Minimum number of a sentence that is shown before another one."""


def sentence_before(statements: Sequence[Statement], at: int, numbers: Mapping[int, int]) -> str:
    """Return the sentence before `statements[at]`, if that one needs it and has no other; else "".

    It is of the same section; before an item of a list, of the same item. `numbers` say of both how surely they stand
    by themselves (`standing`).
    """
    if at == 0:
        return ""
    statement, before = statements[at], statements[at - 1]
    if numbers[at] > MAX_NEEDING or numbers[at - 1] < MIN_SHOWN:
        return ""
    return before.text if _may_need_one(statement) and _is_before(before, statement) and _is_shown(before) else ""


def _may_need_one(statement: Statement) -> bool:
    return statement.kind in {"sentence", "item"} and not statement.chain and is_sentence(statement.text.strip())


def _is_before(before: Statement, statement: Statement) -> bool:
    if before.block == statement.block:
        return True
    if statement.kind != "sentence" or _has_sentence(statement.context):  # a lead-in is the sentence before
        return False
    return before.kind == "sentence" and _headings(before.context) == _headings(statement.context)


def _is_shown(before: Statement) -> bool:
    text = before.text.strip()
    return not before.doubtful and len(text) <= MAX_BEFORE_CHARS and is_sentence(text)


def _has_sentence(context: Sequence[str]) -> bool:
    return bool(context) and is_closed(context[-1].strip())


def _headings(context: Sequence[str]) -> list[str]:
    return [line for line in context if not is_closed(line.strip())]


MIN_WORDS, MAX_WORDS = 5, 80
"""Minimum and maximum length of a readable sentence (words)."""
MIN_LETTERS = 0.7
"""Minimum share of letters among the characters that are no spaces."""


def readable_share(statements: Iterable[Statement]) -> float | None:
    """Return the share of sentences and items that can be read, by their characters. None: there are too few."""
    lengths = [(len(one.text), is_readable(one.text)) for one in statements if one.kind in ("sentence", "item", "link")]
    total = sum(length for length, _ in lengths)
    return sum(length for length, readable in lengths if readable) / total if len(lengths) >= 5 else None


def is_readable(text: str) -> bool:
    """Return whether a text looks like one sentence."""
    dense = "".join(text.split())
    letters = sum(character.isalpha() for character in dense)
    return (
        MIN_WORDS <= word_count(text) <= MAX_WORDS
        and letters >= MIN_LETTERS * len(dense)
        and not text.isupper()
        and is_closed(text)
    )


class Around(NamedTuple):
    """The words right before and right after a statement; empty where nothing of its block stands there."""

    before: str
    after: str


def words_around(statements: Sequence[Statement]) -> dict[int, Around]:
    """Return the words around each statement whose beginning stands in an earlier one, by the place of the statement.

    A browser opens the first place that has the text of a link (text fragments, WICG), so a text that stands twice
    needs the words before or after it. What a page has beside its statements, such as its navigation, is not known.
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
