"""Completions of a prefix with one mistake: a letter too many, too few, another one, or two exchanged. Pure.

The first letter is taken to be right. A mistake stands at or before the first letter with which nothing begins, so only
those places are tried, the last first; at each, only letters that really follow. The number of tries is bounded.
"""

from collections.abc import Iterator

from streams.queries.suggestions.index import LanguageIndex

MIN_CHARS = 3
"""Minimum length of a prefix in which a mistake is looked for (characters)."""
MAX_TRIES = 160
"""Maximum prefixes that are looked up for one prefix."""


def corrected_prefixes(index: LanguageIndex, prefix: str) -> list[str]:
    """Return prefixes of suggestions at one edit from this prefix, those with an edit near its end first."""
    if len(prefix) < MIN_CHARS:
        return []
    found: dict[str, None] = {}
    tries = 0
    for place in range(_matched(index, prefix), 0, -1):
        for candidate, first, end in _candidates(index, prefix, place):
            if tries >= MAX_TRIES:
                return list(found)
            tries += 1
            if index.has(candidate.encode(), first, end):
                found[candidate] = None
    return list(found)


def _candidates(index: LanguageIndex, prefix: str, place: int) -> Iterator[tuple[str, int, int]]:
    """Yield the prefixes with one edit at a place, each with the range of the keys that agree with it so far."""
    head, tail = prefix[:place], prefix[place:]
    if not tail:
        return
    own_keys = index.range_of(head.encode())
    following = _following(index, head, *own_keys)
    if len(tail) == 1:
        yield head, *own_keys
    elif next_keys := following.get(tail[1]):
        yield head + tail[1] + tail[0] + tail[2:], *next_keys
        yield head + tail[1:], *next_keys
    for char, keys in following.items():
        if char != tail[0]:
            yield head + char + tail[1:], *keys
        yield head + char + tail, *keys


def _matched(index: LanguageIndex, prefix: str) -> int:
    """Return how many letters of the prefix some key begins with."""
    low, high = 0, len(prefix)
    while low < high:
        middle = (low + high + 1) // 2
        first, end = index.range_of(prefix[:middle].encode())
        low, high = (middle, high) if first < end else (low, middle - 1)
    return low


def _following(index: LanguageIndex, head: str, first: int, end: int) -> dict[str, tuple[int, int]]:
    """Return the characters that follow a beginning, at most MAX_TRIES, each with the range of its keys.

    `first` and `end` are the range of the beginning's keys.
    """
    start = head.encode()
    found: dict[str, tuple[int, int]] = {}
    todo = [(start, first, end)]
    while todo and len(found) < MAX_TRIES:
        for branch, begin, behind in index.branches(*todo.pop(0)):
            char = branch[len(start) :]
            if len(char) == _length(char[0]):
                found[char.decode()] = (begin, behind)
            else:
                todo.append((branch, begin, behind))
    return found


def _length(first_byte: int) -> int:
    """Return the number of bytes of a character in UTF-8 (RFC 3629), from its first byte."""
    return 1 if first_byte < 0x80 else 2 if first_byte < 0xE0 else 3 if first_byte < 0xF0 else 4
