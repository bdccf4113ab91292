"""The suggestions for what was typed: of the language of the person first, then of others, then with a mistake.

Pure. A script needs no choice of its own: the letters of the prefix decide it.

A mistake is a letter too many, too few, another one, or two exchanged. The first letter of each word is taken to be
right. A mistake stands at or before the first letter with which nothing begins, so only those places are tried, the
last first; at each, only letters that really follow. The number of tries is bounded.
"""

from collections import defaultdict
from collections.abc import Iterable, Iterator

from streams.queries.suggestions.block_words import BlockedWords
from streams.queries.suggestions.index import MAX_SHOWN, LanguageIndex, Suggestion
from streams.queries.suggestions.normal_form import key_of, normalize_prefix, normalize_query

MIN_CHARS, MIN_BYTES = 3, 4
"""Minimum length of a prefix in which a mistake is looked for, also in UTF-8: `ssh` is one letter from much."""
MAX_TRIES = 160
"""Maximum prefixes that are looked up for one prefix."""
MAX_LANGUAGES = 16
"""Maximum languages with an index of their own. The suggestions of all others share one."""
OTHER = ""
"""The language of suggestions whose language is not known, or is rare."""
MAX_CORRECTED = 3
"""Maximum corrected prefixes whose completions are shown."""
MAX_CORRECTING = 3
"""Maximum languages in which a mistake is looked for."""


def corrected_prefixes(index: LanguageIndex, prefix: str) -> list[str]:
    """Return prefixes of suggestions at one edit from this prefix, those with an edit near its end first."""
    if len(prefix) < MIN_CHARS or len(prefix.encode()) < MIN_BYTES:
        return []
    found: dict[str, None] = {}
    tries = 0
    for place in range(_matched(index, prefix), 0, -1):
        if prefix[place - 1] == " ":
            continue
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


class Suggester:
    """All suggestions, in memory."""

    def __init__(self, suggestions: Iterable[Suggestion], blocked: BlockedWords | None = None) -> None:
        by_language: dict[str, list[tuple[str, float]]] = defaultdict(list)
        for text, weight, language in suggestions:
            normal = normalize_query(text)
            if normal and not (blocked and blocked.blocks(normal)):
                by_language[language].append((normal, weight))
        largest = sorted(by_language, key=lambda language: (-len(by_language[language]), language))
        for language in [rare for rare in largest[MAX_LANGUAGES:] if rare != OTHER]:
            by_language[OTHER] += by_language.pop(language)
        self._indexes = {language: LanguageIndex(texts, language) for language, texts in by_language.items()}

    def __len__(self) -> int:
        return sum(map(len, self._indexes.values()))

    def suggest(self, typed: str, language: str = "", limit: int = MAX_SHOWN) -> list[Suggestion]:
        """Return at most `limit` suggestions, best first. `language`: suggestions of this language come first."""
        prefix = key_of(normalize_prefix(typed))
        if not prefix or limit < 1:
            return []
        found = self._complete(prefix, language, limit)
        return found or self._correct(prefix, language, limit)

    def _complete(self, prefix: str, language: str, limit: int) -> list[Suggestion]:
        start = prefix.encode("utf-8", "replace")
        preferred = self._indexes.get(language) if language else None
        own = preferred.complete(start, limit) if preferred else []
        if len(own) >= limit:
            return own
        others = [
            found
            for index in self._indexes.values()
            if index is not preferred
            for found in index.complete(start, limit)
        ]
        return _first_of_each(own + sorted(others, key=_by_weight), limit)

    def _correct(self, prefix: str, language: str, limit: int) -> list[Suggestion]:
        """Return the completions of prefixes at one edit, of the first index that has such: own language, then size."""
        start = prefix[:1].encode("utf-8", "replace")
        indexes = sorted(self._indexes.values(), key=lambda index: (index.language != (language or None), -len(index)))
        having = [index for index in indexes if index.complete(start, 1)]
        for index in having[:MAX_CORRECTING]:
            groups = [index.complete(other.encode(), limit) for other in corrected_prefixes(index, prefix)]
            if groups:
                groups.sort(key=lambda group: -group[0].weight)
                return _first_of_each([found for group in groups[:MAX_CORRECTED] for found in group], limit)
        return []


def _by_weight(suggestion: Suggestion) -> tuple[float, str]:
    return -suggestion.weight, suggestion.text


def _first_of_each(suggestions: Iterable[Suggestion], limit: int) -> list[Suggestion]:
    return list({suggestion.text: suggestion for suggestion in reversed(list(suggestions))}.values())[::-1][:limit]
