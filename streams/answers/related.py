"""Questions that a reader may ask next: questions and headings of a page, among which a model chooses. Pure.

All of them are the page's own words, so none asks about what the page does not have.
"""

from collections.abc import Iterator, Sequence

from streams.answers.choices import named_in
from streams.answers.evidence import Evidence
from streams.language.marks import asks, ends_sentence
from streams.plain_text import clean_line

MAX_QUESTIONS = 4
MAX_CANDIDATES = 12
MAX_CHARS = 120
MAX_HEADING_CHARS = 60
MIN_WORDS = 2


def candidates_of(statements: Sequence[Evidence], question: str) -> list[str]:
    """Return the questions of a page and of its headings, then its headings, without the question that was asked."""
    found = {part.casefold(): part for part in (*_questions(statements), *_headings(statements))}
    found.pop(clean_line(question).casefold(), None)
    return list(found.values())[:MAX_CANDIDATES]


def chosen_questions(text: str, candidates: Sequence[str]) -> list[str]:
    """Return the candidates that a model's text names, in its order."""
    texts = [(each, "") for each in candidates]
    places = dict.fromkeys(place for line in text.split("\n") for place, _ in named_in(line, texts))
    return [candidates[place] for place in places][:MAX_QUESTIONS]


def _questions(statements: Sequence[Evidence]) -> Iterator[str]:
    for each in statements:
        parts = (clean_line(part) for part in (*each.context, each.text))
        yield from (part for part in parts if asks(part) and len(part) <= MAX_CHARS and _says_something(part))


def _headings(statements: Sequence[Evidence]) -> Iterator[str]:
    parts = (clean_line(part) for each in statements for part in each.context)
    yield from (part for part in parts if _is_heading(part) and _says_something(part))


def _is_heading(part: str) -> bool:
    return len(part) <= MAX_HEADING_CHARS and not ends_sentence(part) and part[-1:].isalnum()


def _says_something(part: str) -> bool:
    return len(part.split()) >= MIN_WORDS or not part.isascii()
