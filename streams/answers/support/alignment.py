"""The alignment of the words of a sentence with the words of a statement, in the same order. Pure.

It finds the most words that can be matched in order and, among such choices, the one that leaves out the fewest words
of the statement between them (dynamic programming over both texts, Needleman and Wunsch 1970, with free ends).
"""

from collections.abc import Sequence

from streams.answers.support.tokens import Token

_MATCH = 100
_SKIPPED = 1
"""Cost of a word of the statement that is left out between two matched words."""


def align(words: Sequence[Token], stated: Sequence[Token]) -> list[int | None]:
    """Return the place in the statement of each word of the sentence, or None. Takes len(words) * len(stated) steps."""
    width = len(stated) + 1
    rows = [[0] * width]
    for word in words:
        above, row, best = rows[-1], [0] * width, 0
        row[0] = 0
        for place in range(1, width):
            skip_word = above[place]
            skip_stated = row[place - 1] - (_SKIPPED if row[place - 1] > 0 else 0)
            match = above[place - 1] + _MATCH if _are_equal(word, stated[place - 1]) else -1
            best = max(skip_word, skip_stated, match)
            row[place] = best
        rows.append(row)
    return _trace(words, stated, rows)


def _trace(words: Sequence[Token], stated: Sequence[Token], rows: Sequence[Sequence[int]]) -> list[int | None]:
    """Return the places by going back from the best end."""
    places: list[int | None] = [None] * len(words)
    number = len(words)
    place = max(range(len(stated) + 1), key=lambda at: (rows[number][at], -at))
    while number > 0 and place > 0:
        value = rows[number][place]
        before = rows[number - 1][place - 1]
        if _are_equal(words[number - 1], stated[place - 1]) and value == before + _MATCH:
            places[number - 1] = place - 1
            number, place = number - 1, place - 1
        elif value == rows[number - 1][place]:
            number -= 1
        else:
            place -= 1
    return places


def _are_equal(word: Token, other: Token) -> bool:
    """Return True for tokens that say the same. The first word of a sentence may be a name without being one."""
    if word.key != other.key or "boundary" in (word.role, other.role):
        return False
    return word.role == other.role or {word.role, other.role} == {"name", "content"}
