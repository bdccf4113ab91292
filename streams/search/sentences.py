"""The second look: the sentences that are shown of the first pages, chosen among all statements of these pages.

The lists have the statements that are near the whole query. A page that is right often has a better one, which is not
in them: the answer to a question may have no word of it, and a question of two parts is near statements that are a
little about both. So the index is asked once more, for these pages only, with the whole query and with each clause of
it. A statement is judged by what it is near to, by the words of the query that it has, and by its length. The weights
were fitted on questions about other pages than those that judge them (docs/decisions/0135). Among statements about as
good as each other, one that a reader understands by itself comes first (docs/decisions/0136).
"""

import math
import re
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property, partial
from itertools import chain, repeat
from uuid import UUID

from streams.language.function_words import CONJUNCTIONS
from streams.language.marks import CLAUSE_MARKS, WIDE_CLAUSE_MARKS
from streams.pages.text.tokens import drop_box_labels
from streams.search.deadline import Deadline, OnFailure, OptionalPart, Rest
from streams.search.ranking.confidence import Words, cut, shares_of, words_in
from streams.search.retrieval.lists import read_lists_of_pages
from streams.search.retrieval.query import IndexQuery
from streams.search.trace import Trace
from streams.seen.stores import SeenStores
from streams.statements.sentences.lengths import word_count
from streams.stores.protocols import Hit, PageHits
from streams.stores.statement_payload import MAX_ALONE, StatementPayload
from streams.vectors.bm25 import query_words, terms_among

PAGES = 10
"""Maximum pages whose statements are all looked at: the first results."""
LISTED = 12
"""Maximum statements of a page for the query, for each clause, and by words."""
MAX_ASKED_CHARS = 300
"""Maximum length of a query that is divided (characters): a paragraph is no question of several parts."""
MAX_CLAUSES = 3
"""Maximum clauses of a query: as many as a result shows statements."""
MIN_CLAUSE_WORDS = 3
"""Minimum words of a clause."""
MAX_CHARS = 1_000
"""Maximum length of a statement, and of its context, whose words are read (characters)."""
NEARNESS = 0.75
"""Worth of one standard deviation of the cosines of all statements looked at."""
OWN_WORDS = 2.0
"""Worth of all words of the query in the statement itself."""
ALL_WORDS = 1.3
"""Worth of all words of the query in the statement and its context."""
LENGTH = 1.5
"""Maximum loss of a statement that is much shorter or longer than USUAL_WORDS."""
USUAL_WORDS = 19
MARGIN = 1.0
"""Maximum difference of two scores that the numbers of how surely statements stand by themselves make up for."""
OF_THE_WHOLE = 0.3
"""Share of the whole query in the score for a clause, which often names no subject: "and how long does it last"."""
MAX_BEHIND = 2.0
"""Maximum distance of a page's best statement for a clause to the best one of all pages: beyond it, there is none."""
CONTEXT_MARGIN = 0.5
"""The maximum by which a statement may be behind one that has it as context, and still be shown in its place."""
REST_SECONDS = 2.0
"""Pause after a failure before the pages are looked at again (seconds)."""
_BORDERS = re.compile(rf"(?<![{CLAUSE_MARKS}])[{CLAUSE_MARKS}]++(?!\S)|[{WIDE_CLAUSE_MARKS}]")


def clauses_of(text: str) -> tuple[str, ...]:
    """Return the clauses of a query, at marks and conjunctions; none if there are not at least two.

    Clauses of fewer words are left out: what is before them is part of the whole query.
    """
    long = [clause for clause in pieces_of(text) if word_count(clause) >= MIN_CLAUSE_WORDS]
    return tuple(long[:MAX_CLAUSES]) if len(long) > 1 else ()


def pieces_of(text: str) -> list[str]:
    """Return what stands between the marks and conjunctions of a query; nothing of a long text."""
    if len(text) > MAX_ASKED_CHARS:
        return []
    return [" ".join(words) for part in _BORDERS.split(text) for words in _divide(part.split()) if words]


def _divide(words: Sequence[str]) -> Iterator[Sequence[str]]:
    """Yield the runs of words between conjunctions. A conjunction behind few words joins names: "dogs and cats"."""
    start = 0
    for place, word in enumerate(words):
        if word.casefold() in CONJUNCTIONS and (place == start or place - start >= MIN_CLAUSE_WORDS):
            yield words[start:place]
            start = place + 1
    yield words[start:]


@dataclass(frozen=True, slots=True)
class Looked:
    """The statements of the first pages that were found for a query and each clause of it."""

    lists: Mapping[UUID, Sequence[Sequence[Hit]]]
    """By page: the lists for the query and each clause, with cosines as scores, and the list by words behind them."""
    words: Sequence[Words]
    """The terms of the words of the query, and of each clause."""


class SentenceReader:
    """The reader of the first pages' statements. Each process has one, which remembers its failures."""

    def __init__(self, stores: SeenStores, on_failure: OnFailure) -> None:
        self._stores = stores
        self._part = OptionalPart("sentences of pages", partial(on_failure, "vectors"), Rest(REST_SECONDS))

    async def read(self, pages: Sequence[PageHits], query: IndexQuery, deadline: Deadline, trace: Trace) -> Looked:
        """Return the statements found; none if the index does not answer in time. Raises nothing."""
        clauses = clauses_of(query.text) if query.dense is not None else ()
        with trace.timed("sentences_ms"):
            ids = [page.page_id for page in pages[:PAGES]]
            ask = partial(read_lists_of_pages, self._stores, ids, query, clauses, LISTED)
            lists = (await self._part.read(ask, deadline.for_sentences()) if pages else None) or {}
        if trace.model and query.dense is not None:
            close = {hit.id: trace.model.closeness(hit.score) for of_page in lists.values() for hit in of_page[0]}
            trace.similarities = {**trace.similarities, **close}
        language = query.request.languages[0] if len(query.request.languages) == 1 else ""
        return Looked(lists, (query.words, *(query_words(clause, language) for clause in clauses)))


def choose_sentences(
    pages: Sequence[PageHits], looked: Looked, count: int, frame: Collection[UUID] = ()
) -> list[PageHits]:
    """Return the pages, each with at most `count` statements: for each clause the best one, then the best for all.

    These are shown whatever their numbers say. Further statements, and which one is first, are a matter of both.
    The scores of the statements are comparable between these pages.
    """
    looked_at = [page for page in pages if looked.lists.get(page.page_id)]
    others = [page for page in pages if not looked.lists.get(page.page_id)]
    found = {page.page_id: page for group in (looked_at, others) for page in _choose(group, looked, count, frame)}
    return [found[page.page_id] for page in pages]


def _choose(pages: Sequence[PageHits], looked: Looked, count: int, frame: Collection[UUID]) -> Iterator[PageHits]:
    """Yield pages whose statements have scores of one kind: cosines, or what the lists gave them."""
    judged = [_Candidates(page, looked.lists.get(page.page_id, ()), frame) for page in pages]
    scores = [_judge(judged, place, words) for place, words in enumerate(looked.words)]
    whole, clauses = scores[0], [_mix(scores[0], clause) for clause in scores[1:]]
    best = [max((max(of_page, default=-math.inf) for of_page in clause), default=0.0) for clause in clauses]
    for place, each in enumerate(judged):
        asked = [clause[place] for clause, most in zip(clauses, best, strict=True) if _reaches(clause[place], most)]
        yield replace(each.page, hits=each.choose(count, whole[place], asked))


def _reaches(of_page: Sequence[float], best: float) -> bool:
    return max(of_page, default=-math.inf) >= best - MAX_BEHIND


def _mix(whole: Sequence[Sequence[float]], clause: Sequence[Sequence[float]]) -> list[list[float]]:
    return [
        [OF_THE_WHOLE * a + (1 - OF_THE_WHOLE) * b for a, b in zip(*of_page, strict=True)]
        for of_page in zip(whole, clause, strict=True)
    ]


class _Candidates:
    """The statements of a page that may be shown. Lines of the site's frame are some only where it has no others."""

    def __init__(self, page: PageHits, lists: Sequence[Sequence[Hit]], frame: Collection[UUID]) -> None:
        self.page, self._lists = page, lists or (page.hits,)
        by_text: dict[str, Hit] = {}
        for hit in (*page.hits, *(hit for each in lists for hit in each)):
            by_text.setdefault(_key(hit.payload.text) or str(hit.id), hit)
        sure = [hit for hit in by_text.values() if not hit.payload.doubtful]
        self.hits = [hit for hit in sure if hit.id not in frame] or sure or list(by_text.values())
        self._keys = [_key(hit.payload.text) for hit in self.hits]

    def nearness(self, place: int) -> list[float]:
        """Return how near each statement is to the query, or a clause: what is not in the list, as its last one."""
        of_list = self._lists[place] if place < len(self._lists) else ()
        known = {hit.id: hit.score for hit in of_list}
        least = min(known.values(), default=0.0)
        return [known.get(hit.id, least) for hit in self.hits]

    @cached_property
    def lengths(self) -> list[float]:
        """The loss of each statement for its length, which words make up for."""
        return [_loss_of_length(hit.payload.text) for hit in self.hits]

    def choose(self, count: int, whole: Sequence[float], clauses: Sequence[Sequence[float]]) -> tuple[Hit, ...]:
        chosen: list[int] = []
        surely = [score + _gain_of_standing(hit.payload) for score, hit in zip(whole, self.hits, strict=True)]
        shown = {_key(self.page.hits[0].payload.title)}
        for scores in (*clauses, whole, *[surely] * count):
            if len(chosen) == min(count, len(self.hits)):
                break
            others = [place for place in range(len(self.hits)) if place not in chosen]
            fresh = [place for place in others if self._keys[place] not in shown]
            if not chosen:
                fresh = fresh or others
            if fresh:
                nearest = max(fresh, key=lambda place: (scores[place], -place))
                best = self._own_source(nearest, scores, fresh)
                surely[best] = max(surely[best], surely[nearest])  # it stands before the one whose context it is
                chosen.append(best)
                shown.update(self._above(best))
        chosen.sort(key=lambda place: -surely[place])
        return tuple(self._shown_once([replace(self.hits[place], score=surely[place]) for place in chosen]))

    def _above(self, place: int) -> set[str]:
        """Return the keys of the texts that are shown above a statement."""
        payload = self.hits[place].payload
        return set(map(_key, (*payload.context, payload.before)))

    def _own_source(self, best: int, scores: Sequence[float], fresh: Sequence[int]) -> int:
        """Return a statement, or the one of its context that has nearly its score: what matched may stand there."""
        above = self._above(best)
        near = [at for at in fresh if self._keys[at] in above and scores[at] >= scores[best] - CONTEXT_MARGIN]
        return max(near, key=lambda place: (scores[place], -place), default=best)

    @staticmethod
    def _shown_once(hits: Sequence[Hit]) -> Iterator[Hit]:
        """Yield the statements without lines of context that are shown above them as statements."""
        above: set[str] = set()
        for hit in hits:
            payload = hit.payload
            context = [line for line in payload.context if _key(line) not in above]
            before = "" if _key(payload.before) in above else payload.before
            above.add(_key(payload.text))
            if len(context) == len(payload.context) and before == payload.before:
                yield hit
            else:
                row = payload.row() | {"context": context, "before": before}
                yield replace(hit, payload=StatementPayload.of_row(row))


def _judge(judged: Sequence[_Candidates], place: int, words: Words) -> list[list[float]]:
    """Return the scores of each page's statements for the query, or for a clause at this place."""
    near = [each.nearness(place) for each in judged]
    mean, deviation = _measure([value for of_page in near for value in of_page])
    wanted = frozenset(chain.from_iterable(words))
    terms = [_terms_among(wanted, hit.payload) for each in judged for hit in each.hits] if words else []
    own = iter(_shares([of_text for of_text, _ in terms], words))
    shares = iter(_shares([of_text | above for of_text, above in terms], words))
    scores = []
    for each, values in zip(judged, near, strict=True):
        of_page = []
        for value, loss in zip(values, each.lengths, strict=True):
            has, has_with_context = next(own), next(shares)
            worth = NEARNESS * (value - mean) / deviation + OWN_WORDS * has + ALL_WORDS * has_with_context
            of_page.append(worth - loss * (1 - has))
        scores.append(of_page)
    return scores


def _measure(values: Sequence[float]) -> tuple[float, float]:
    mean = math.fsum(values) / max(len(values), 1)
    variance = math.fsum((value - mean) ** 2 for value in values) / max(len(values), 1)
    return mean, max(math.sqrt(variance), 1e-6)


def _shares(terms: Sequence[frozenset[int]], words: Words) -> Iterable[float]:
    """Return the share of the words that each statement has, by its terms."""
    return shares_of([words_in(each, words) for each in terms], len(words)) if words else repeat(0.0)


def _terms_among(wanted: frozenset[int], payload: StatementPayload) -> tuple[frozenset[int], frozenset[int]]:
    """Return which terms a statement has, and which the lines above it have."""
    own, above = (payload.text[:MAX_CHARS],), cut(drop_box_labels(payload.context), MAX_CHARS)
    return terms_among(wanted, own, payload.language), terms_among(wanted, above, payload.language)


def _loss_of_length(text: str) -> float:
    return LENGTH * min(1.0, math.log((word_count(text) + 1) / (USUAL_WORDS + 1)) ** 2)


def _gain_of_standing(payload: StatementPayload) -> float:
    """Return up to half the margin, more or less; 0 for a statement that nobody has judged."""
    return MARGIN * (payload.stands_alone / MAX_ALONE - 0.5) if payload.stands_alone else 0.0


def _key(text: str) -> str:
    """Return a key that is equal for equal texts in any case, with any spaces."""
    return " ".join(text.split()).casefold()
