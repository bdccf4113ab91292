"""Examples of queries for the page of help: what pages of the index have much of. Pure."""

from collections.abc import Iterable, Sequence

from streams.pages.text.tokens import is_spaceless
from streams.queries.suggestions.block_words import BlockedWords
from streams.search.query_language.query import find_operators
from streams.stores.protocols import StoredSuggestion

MAX_EXAMPLES = 4
"""Maximum examples of a language."""
MIN_WORDS, MAX_WORDS = 2, 8
MIN_CHARS = 4
"""Minimum length of an example in a script without spaces (characters)."""


def choose_examples(
    heaviest: Iterable[StoredSuggestion], blocked: BlockedWords
) -> dict[str, tuple[StoredSuggestion, ...]]:
    """Return examples by language, the heaviest first. None has the first word of another."""
    found: dict[str, tuple[StoredSuggestion, ...]] = {}
    for each in heaviest:
        own = found.get(each.language, ())
        if len(own) < MAX_EXAMPLES and _is_example(each, own) and not blocked.blocks(each.text):
            found[each.language] = (*own, each)
    return found


def _is_example(each: StoredSuggestion, own: Sequence[StoredSuggestion]) -> bool:
    if find_operators(each.text):
        return False
    words = each.text.split()
    is_long = MIN_WORDS <= len(words) <= MAX_WORDS or (is_spaceless(each.text[0]) and len(each.text) >= MIN_CHARS)
    return is_long and not any(words[0] in other.text for other in own)
