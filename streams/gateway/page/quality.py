"""The quality of a page in words, for the page of its history."""

from collections.abc import Mapping

_NAMES = {
    "own_text": "Share of the page that is its own text",
    "hidden": "No text that readers can't see",
    "links": "Text beside links",
    "ads": "Few advertisements",
    "repetition": "Words that don't repeat themselves",
    "stuffing": "No phrase again and again",
    "common_words": "The most frequent words are words of grammar",
    "prose": "Whole sentences",
    "cohesion": "Neighbouring parts are about the same",
    "copies": "Text that no older page of another site has",
    "statements": "Sentences that can be read",
    "age": "Time for which the text is known",
}


def describe_quality(fields: Mapping[str, float]) -> tuple[tuple[str, str], ...]:
    """Return the quality of a page, and its parts that fall, with their names. Empty if it is not known."""
    if "score" not in fields:
        return ()
    parts = [(_NAMES[name], fields[name]) for name in _NAMES if fields.get(name, 1.0) < 1]
    return (("All together", _percent(fields["score"])), *((name, _percent(value)) for name, value in parts))


def _percent(value: float) -> str:
    return f"{round(100 * min(max(value, 0.0), 1.0))} of 100"
