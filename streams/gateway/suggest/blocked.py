"""The words that a gateway never offers, neither in a suggestion nor in place of a word of a query."""

from streams.queries.suggestions.block_words import BlockedWords, read_block_words
from streams.search.ranking.rules import ADULT_WORDS
from streams.settings import Settings


def blocked_words(settings: Settings) -> BlockedWords:
    """Return the operator's blocked words, and adult words where these are hidden.

    Raises UsageError for a file that can't be read.
    """
    words = read_block_words(settings.queries.blocked_words)
    return BlockedWords([*words, *(ADULT_WORDS if settings.gateway.hide_adult else ())])
