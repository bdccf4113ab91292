"""The suggestions for what a person has typed: of the person's language first, then of others, then with a mistake.

Pure. A script needs no choice of its own: the letters of the prefix decide it.
"""

from collections import defaultdict
from collections.abc import Iterable

from streams.queries.suggestions.block_words import BlockedWords
from streams.queries.suggestions.index import MAX_SHOWN, LanguageIndex, Suggestion
from streams.queries.suggestions.normal_form import key_of, normalize_prefix, normalize_query
from streams.queries.suggestions.typos import corrected_prefixes

MAX_LANGUAGES = 16
"""Maximum languages with an index of their own. The suggestions of all others share one."""
OTHER = ""
"""The language of suggestions whose language is not known, or is rare."""
MAX_CORRECTED = 3
"""Maximum corrected prefixes whose completions are shown."""
MAX_CORRECTING = 3
"""Maximum languages in which a mistake is looked for."""


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

    @property
    def memory_bytes(self) -> int:
        """The size of the buffers."""
        return sum(index.memory_bytes for index in self._indexes.values())

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
    """Return the first suggestion with each text."""
    return list({suggestion.text: suggestion for suggestion in reversed(list(suggestions))}.values())[::-1][:limit]
