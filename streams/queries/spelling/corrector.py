"""Corrections of a query's words, ranked by how probable they are in their context. Pure.

For each unknown word w, each candidate c has the score

    log P(c) + CONTEXT * attraction of c to its neighbours - COST * cost of typing w for c

which is a noisy channel with weights (Church and Gale 1991). The best candidate is offered only if its score exceeds
what the word needs: more for a word that is regularly formed of known words, and more for a short word. A known word is
never touched. All loops are bounded: words, unknown words, candidates and the length of a word.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import pairwise

import numpy as np

from streams.queries.accents import without_accents
from streams.queries.spelling.error_model import Weights, typing_costs
from streams.queries.spelling.index_words import IndexWords
from streams.queries.spelling.vocabulary import Vocabulary
from streams.queries.spelling.word_forms import Form, form_of
from streams.queries.spelling.words import MIN_CHARS, QueryWord, split_query

MAX_UNKNOWN = 4
"""Maximum unknown words of a query that is corrected. With more of them, the query is of another language or a name."""
MAX_CANDIDATES = 12
"""Maximum candidates of a word that are ranked in their context."""
MAX_INDEX_CANDIDATES = 4
"""Maximum words of the index among them. Each costs a look at the words near it."""
MAX_OTHERS = 2
"""Maximum corrected queries beside the best one."""
ACCENTS = 10.0
"""The discount on the score of a correction that changes accents only: many leave them out, and the letters agree."""
_ONE_LETTER = frozenset({"a", "i"})


@dataclass(frozen=True, slots=True)
class Model:
    """The weights of the ranking and the scores that a correction needs. Chosen on a sample, judged on others."""

    weights: Weights = field(default_factory=Weights)
    cost: float = 2.34
    context: float = 0.5
    split: float = 10.0
    """The cost of a missing space."""
    join: float = 7.0
    """The cost of a space too many."""
    clear: float = -24.0
    """Minimum score of a correction that may be searched for in place of the query."""

    index: float = 2.0
    """The cost of a word that only the index has: no list of words says that it is right."""

    def need(self, form: Form, chars: int) -> float:
        """Return the minimum score of a correction, by the form of the unknown word and its length."""
        need, letter = NEEDS[form]
        return need - letter * max(0, min(chars, 15) - 5)


NEEDS: Mapping[Form, tuple[float, float]] = {"plain": (-25.0, 1.7), "derived": (-21.0, 0.4), "compound": (-20.0, 0.0)}
"""For each form of an unknown word: the minimum score of a correction, and how much less it is for each letter of the
word above five, up to fifteen. A long word has few words near it, so a correction is more certain."""


@dataclass(frozen=True, slots=True)
class Candidate:
    """A possible correction of a word: one word, or two for a missing space."""

    text: str
    score: float


@dataclass(frozen=True, slots=True)
class CorrectedWord:
    """An unknown word with its corrections, best first."""

    start: int
    end: int
    candidates: tuple[Candidate, ...]


@dataclass(frozen=True, slots=True)
class Correction:
    """A corrected query."""

    text: str
    others: tuple[str, ...]
    """The next best corrected queries."""
    is_clear: bool
    """Each corrected word is so probable that the corrected query may be searched for at once."""


class Corrector:
    """The corrections of queries, by a vocabulary and the words of an index."""

    def __init__(self, vocabulary: Vocabulary, model: Model | None = None, index: IndexWords | None = None) -> None:
        self.vocabulary, self._model, self._index = vocabulary, model or Model(), index

    def with_index(self, counts: Mapping[str, float]) -> "Corrector":
        """Return a corrector that also knows the words of an index, from the number of pages that have each."""
        return Corrector(self.vocabulary, self._model, IndexWords(self.vocabulary, counts, self._model.weights))

    @property
    def index_words(self) -> int:
        """Number of words that only the index has."""
        return 0 if self._index is None else len(self._index)

    def unknown_words(self, query: str) -> list[QueryWord]:
        """Return the words of the query that the vocabulary doesn't know. It takes no time worth mentioning."""
        return [word for word in split_query(query) if self._is_new(word)]

    def share(self, word: str) -> float | None:
        """Return the logarithm of the word's share of all words, less what a word of the index needs; None: unknown."""
        share = self.vocabulary.share(word)
        if share is None and self._index is not None:
            share = self._index.share(word)
            return None if share is None else share - self._model.index
        return share

    def _is_new(self, word: QueryWord) -> bool:
        return word.is_free and word.text not in self.vocabulary and not _is_possessive(word.text, self.vocabulary)

    def _is_unknown(self, word: QueryWord) -> bool:
        if not self._is_new(word):
            return False
        return self._index is None or not self._index.trusts(word.text.removesuffix("'s"))

    def correct(self, query: str, is_over: Callable[[], bool] = lambda: False) -> Correction | None:
        """Return the best correction, or None. `is_over`: the time of the search is over, so there is none.

        A query with more unknown than known words is mistyped only if each of them can be corrected. Otherwise it is in
        another language, of which some words are near English ones.
        """
        words = split_query(query)
        if not 0 < sum(map(self._is_unknown, words)) <= MAX_UNKNOWN:
            return None
        joined = self._join(query, words)
        words = split_query(joined)
        unknown = [place for place, word in enumerate(words) if self._is_unknown(word)]
        texts, corrected = [word.text for word in words], list[CorrectedWord]()
        for place in unknown:
            if is_over():
                return None
            if found := self._offered(words, texts, place):
                texts[place] = found[0].text.rpartition(" ")[2]
                corrected.append(CorrectedWord(words[place].start, words[place].end, found))
        if not corrected and joined == query:
            return None
        correction = self._assemble(joined, corrected)
        is_strange = 2 * len(unknown) > len(words)
        return None if is_strange and any(map(self._is_unknown, split_query(correction.text))) else correction

    def _join(self, query: str, words: Sequence[QueryWord]) -> str:
        """Return the query without the spaces inside known words: an unknown word and its neighbour are a known one."""
        parts, end = list[str](), 0
        for first, second in pairwise(words):
            is_open = first.is_free and second.is_free and first.start >= end and query[first.end : second.start] == " "
            if is_open and (self._is_unknown(first) or self._is_unknown(second)):
                share = self.share(first.text + second.text)
                if share is not None and share - self._model.join >= self._model.need("plain", 0):
                    parts += [query[end : first.end], query[second.start : second.end]]
                    end = second.end
        return "".join(parts) + query[end:]

    def _offered(self, words: Sequence[QueryWord], texts: Sequence[str], place: int) -> tuple[Candidate, ...]:
        word = words[place]
        ranked = sorted(self._ranked(texts, place), key=lambda each: -each.score)
        form = form_of(word.text, self)
        need = self._model.need(form, len(word.text))
        if ranked and without_accents(ranked[0].text) == without_accents(word.text):
            need -= ACCENTS
        return tuple(ranked[:MAX_CANDIDATES]) if ranked and ranked[0].score >= need else ()

    def _ranked(self, texts: Sequence[str], place: int) -> Iterator[Candidate]:
        before = texts[place - 1] if place else ""
        after = texts[place + 1] if place + 1 < len(texts) else ""
        for text, score in [*self._nearby(texts[place]), *self._splits(texts[place])]:
            first, _, last = text.partition(" ")
            near = self._attraction(before, first) + self._attraction(last or first, after)
            yield Candidate(text, score + self._model.context * near)

    def _attraction(self, first: str, second: str) -> float:
        found = self.vocabulary.attraction(first, second) if first and second else None
        return 0.0 if found is None else max(-2.0, min(6.0, found))

    def _nearby(self, word: str) -> list[tuple[str, float]]:
        """Return the most probable words with nearly the same letters, without their context."""
        found = self._near_in(self.vocabulary, word)
        if self._index is not None:
            for text, score in self._near_in(self._index.vocabulary, word)[:MAX_INDEX_CANDIDATES]:
                if self._index.trusts(text):
                    found.append((text, score - self._model.index))
        return found

    def _near_in(self, vocabulary: Vocabulary, word: str) -> list[tuple[str, float]]:
        near = vocabulary.near(word, max_edits(len(word)))
        if not len(near.places):
            return []
        costs = typing_costs(word, near.letters, near.lengths, self._model.weights)
        scores = vocabulary.shares[near.places] - self._model.cost * costs
        best = np.argsort(-scores)[:MAX_CANDIDATES]
        finite = [place for place in best if np.isfinite(scores[place])]
        return [(vocabulary.words[near.places[place]], float(scores[place])) for place in finite]

    def _splits(self, word: str) -> Iterator[tuple[str, float]]:
        """Yield two words for one, at each place where both are known."""
        for place in range(1, len(word)):
            first, second = word[:place], word[place:]
            if any(len(part) == 1 and part not in _ONE_LETTER for part in (first, second)):
                continue
            attraction = self.vocabulary.attraction(first, second)
            shares = self.vocabulary.share(first), self.vocabulary.share(second)
            if shares[0] is None or shares[1] is None:
                continue
            if attraction is None and min(len(first), len(second)) < MIN_CHARS:
                continue
            yield f"{first} {second}", shares[0] + shares[1] + (attraction or -2.0) - self._model.split

    def _assemble(self, query: str, corrected: Sequence[CorrectedWord]) -> Correction:
        best = tuple(word.candidates[0] for word in corrected)
        others = []
        for rank in range(1, 3):
            for place, word in enumerate(corrected):
                if rank < len(word.candidates):
                    others.append(
                        _replace(query, corrected, (*best[:place], word.candidates[rank], *best[place + 1 :]))
                    )
        text = _replace(query, corrected, best)
        is_clear = all(candidate.score >= self._model.clear for candidate in best)
        return Correction(text, tuple(dict.fromkeys(other for other in others if other != text))[:MAX_OTHERS], is_clear)


def max_edits(chars: int) -> int:
    """Return how many mistakes a word of this length may have."""
    return 1 if chars <= 3 else 2 if chars <= 8 else 3


def _is_possessive(word: str, vocabulary: Vocabulary) -> bool:
    return (word.endswith("'s") and word[:-2] in vocabulary) or (word.endswith("s'") and word[:-1] in vocabulary)


def _replace(query: str, corrected: Sequence[CorrectedWord], chosen: Sequence[Candidate]) -> str:
    parts, end = list[str](), 0
    for word, candidate in zip(corrected, chosen, strict=True):
        is_capital = query[word.start].isupper()
        parts += [query[end : word.start], candidate.text.capitalize() if is_capital else candidate.text]
        end = word.end
    return "".join(parts) + query[end:]
