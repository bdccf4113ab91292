"""The choice of the chain model's threshold, judged on genres that had no part in it. Pure.

For each genre the threshold is chosen on the documents of all other genres: the one with the most contained chains,
among those that add few. The chains of all genres, each with such a threshold, are measured together. So the figure
says what a threshold is worth on texts of another kind.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from benchmarks.evaluation.chains import ChainQuality, Document, chains_of, measure_quality
from streams.models.inference.antecedents import begins_with_connective
from streams.models.protocols import Link

LOWEST = 0.02
"""The lowest threshold that is tried. The model is asked with it, so that all antecedents are there."""
GRID = tuple(round(LOWEST * step, 2) for step in range(1, 31))
MAX_ADDED = 0.12
"""Maximum share of sentences that need nothing and get a chain, on the genres that choose."""

Answered = tuple[Document, Sequence[Link]]
"""A document with the model's links at the lowest threshold."""


@dataclass(frozen=True, slots=True)
class Choice:
    """The chains of each genre by the threshold that the other genres chose."""

    quality: ChainQuality
    thresholds: Mapping[str, float]
    """The threshold by the genre that was left out."""


def genre_of(name: str) -> str:
    """Return the genre in the name of a document (`GUM_news_homeless`); without one, the whole name."""
    parts = name.split("_")
    return parts[1] if len(parts) > 2 else name


def links_at(links: Sequence[Link], texts: Sequence[str], threshold: float) -> list[Link]:
    """Return the links that the model gives with a higher threshold."""
    found = []
    for number, (link, text) in enumerate(zip(links, texts, strict=True)):
        if link.need >= threshold or not link.antecedents:
            found.append(link)
        elif begins_with_connective(text):
            found.append(replace(link, antecedents=(number - 1,), followed=number - 1))
        else:
            found.append(replace(link, antecedents=(), followed=-1))
    return found


def measure_at(documents: Sequence[Answered], threshold: float) -> ChainQuality:
    """Return the quality of the chains with this threshold."""
    made = []
    for document, links in documents:
        texts = [sentence.text for sentence in document]
        made.append((document, chains_of(links_at(links, texts, threshold), texts)))
    return measure_quality(made)


def choose_threshold(documents: Sequence[Answered]) -> float:
    """Return the threshold with the most contained chains that adds at most MAX_ADDED; the highest of equals."""
    measured = [(threshold, measure_at(documents, threshold)) for threshold in GRID]
    fit = [(each.contained, threshold) for threshold, each in measured if each.added <= MAX_ADDED]
    return max(fit)[1] if fit else GRID[-1]


def leave_genres_out(documents: Mapping[str, Answered]) -> Choice:
    """Return the quality of all chains, each genre's by the choice of the others."""
    genres = dict.fromkeys(map(genre_of, documents))
    thresholds = {
        genre: choose_threshold([each for name, each in documents.items() if genre_of(name) != genre])
        for genre in genres
    }
    made = []
    for name, (document, links) in documents.items():
        texts = [sentence.text for sentence in document]
        made.append((document, chains_of(links_at(links, texts, thresholds[genre_of(name)]), texts)))
    return Choice(measure_quality(made), thresholds)
