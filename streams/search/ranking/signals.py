"""The signals of the ranking as a table: values that are added to the score of a page, times coefficients. Pure.

A signal gives pages values, and adds each value times its coefficient to the score of the page, in standard deviations
of the scores. A new signal is a function and a row. The table is read by the pass `signals`, by `explain=true`, by the
words in which a result says why it was found, by the evaluation and by docs/reference/retrieval.md.
"""

from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from uuid import UUID

from streams.plain_text import message
from streams.search.ranking.clicks import click_values
from streams.search.ranking.context import RankingContext, add_gains
from streams.search.ranking.named_pages import site_values, title_values
from streams.search.ranking.priors import authority_values, freshness_values, quality_values, recent_values
from streams.search.ranking.reranking import model_values
from streams.stores.protocols import PageHits

Values = Mapping[UUID, float]
"""The values of a signal by page. A page without one has 0."""


@dataclass(frozen=True, slots=True)
class Signal:
    """A row of the table."""

    name: str
    """Its name in `explain` and in the words of a result."""
    source: str
    """The meaning of its value, for the documentation."""
    coefficient: str
    """The name of its coefficient among the options of a search (`SearchOptions`). 0 turns the signal off."""
    decision: str
    """The decision page with its figures (docs/decisions)."""
    test: str
    says: str
    """Words for people about a page that it raised. `%(site)s`, `%(words)s` and `%(date)s` are facts of the result."""
    lowers: str = ""
    """The same about a page that it lowered."""
    values: Callable[[RankingContext, Sequence[PageHits]], Values] | None = None
    """The function that gives its values. None: another pass adds it."""
    asked: Callable[[RankingContext], object] = lambda _: True
    """Returns something true where the signal has data: of the query, of a store or of a model."""


def _preferences(context: RankingContext, pages: Sequence[PageHits]) -> Values:
    """Return 1 for a page of a raised site, -1 for one of a lowered site."""
    values = {"raised": 1.0, "lowered": -1.0}
    rules = {page.page_id: context.personal.rule_of(page.hits[0].payload.host) for page in pages}
    return {page: values[rule] for page, rule in rules.items() if rule in values}


SIGNALS = (
    Signal(
        "meaning",
        "cosine of the query and the page's nearest statement, standardized",
        "meaning_weight",
        "0037",
        "unit/search/ranking/test_fusion.py",
        message("its meaning is near the meaning of your query"),
    ),
    Signal(
        "words",
        "BM25 of the query's words in the page's best statement, standardized; its coefficient is the rest to 1",
        "meaning_weight",
        "0005",
        "unit/search/ranking/test_fusion.py",
        message("it has words of your query: %(words)s"),
    ),
    Signal(
        "rerank",
        "score of a cross-encoder that the operator has set up, standardized",
        "rerank_weight",
        "0037",
        "unit/search/ranking/test_reranking.py",
        message("a language model that read your query and this page together found that they fit"),
        values=model_values,
        asked=lambda context: context.read.get("rerank"),
    ),
    Signal(
        "title",
        "1 if the title, or site and file, have the words of the query, and no others",
        "title_weight",
        "0070",
        "unit/search/ranking/test_named_pages.py",
        message("its title has the words of your query, and no others"),
        values=title_values,
    ),
    Signal(
        "site",
        "1 for the first page of a site whose name is the query",
        "site_weight",
        "0070",
        "unit/search/ranking/test_named_pages.py",
        message("your query is the name of %(site)s, and this is its first page"),
        values=site_values,
    ),
    Signal(
        "authority",
        "rank by links of the page's host, from 0 to 1",
        "authority_weight",
        "0037",
        "stages/test_gateway_priors.py",
        message("pages of other sites link to %(site)s"),
        values=authority_values,
    ),
    Signal(
        "freshness",
        "1 for a page of today, half of it after each 365 days",
        "freshness_weight",
        "0037",
        "unit/search/ranking/test_priors.py",
        message("newer pages gain: it was published on %(date)s"),
        values=freshness_values,
    ),
    Signal(
        "quality",
        "-1 for a page of quality 0, 0 from 0.5 on",
        "quality_weight",
        "0066",
        "stages/test_gateway_priors.py",
        "",
        message("its text looks as if it was made for search engines"),
        quality_values,
    ),
    Signal(
        "clicks",
        "how much more often people open the page than its place explains, from -1 to 1",
        "clicks_weight",
        "0075",
        "stages/test_gateway_clicks.py",
        message("people who asked this opened it more often than its place explains"),
        message("people who asked this opened it less often than others"),
        click_values,
        lambda context: context.read.get("clicks"),
    ),
    Signal(
        "preference",
        "1 for a site that the person raised, -1 for one that they lowered",
        "preference_weight",
        "0037",
        "unit/search/ranking/test_personal.py",
        message("your preferences raise %(site)s"),
        message("your preferences lower %(site)s"),
        _preferences,
        lambda context: context.personal.raised or context.personal.lowered,
    ),
    Signal(
        "wish",
        "steps of `prefer:recent` times the freshness of a dated page",
        "wish_weight",
        "0037",
        "unit/search/ranking/test_wishes.py",
        message("it is as your query wishes (`prefer:`)"),
        values=recent_values,
        asked=lambda context: context.conditions.get("prefer"),
    ),
    Signal(
        "address",
        "the query is the page's address: it is the first result",
        "",
        "0070",
        "unit/search/ranking/test_named_pages.py",
        message("your query is its address"),
    ),
    Signal(
        "pinned",
        "the site has pinned the page for this query: it is the first result of the site's own search",
        "",
        "0140",
        "stages/test_own_words.py",
        message("pinned by the site"),
    ),
)


def add_signals(context: RankingContext, pages: list[PageHits]) -> list[PageHits]:
    """Apply the pass `signals`: add the values of the table, and note what each signal gave a page."""
    gains: defaultdict[UUID, float] = defaultdict(float)
    for signal in SIGNALS:
        context.check_time()
        coefficient = getattr(context.options, signal.coefficient) if signal.values else 0.0
        if not coefficient or signal.values is None or not signal.asked(context):
            continue
        for page, value in signal.values(context, pages).items():
            context.notes.note_part(page, signal.name, coefficient * value)
            gains[page] += coefficient * value
    return add_gains(pages, gains) if gains else pages
