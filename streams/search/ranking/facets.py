"""The candidates of a search in numbers: how many are of each site, language, time and type of file. Pure.

The numbers say what a filter would leave of the candidates that are worth reading, by their scores: not of the whole
index, whose pages nobody counts for one query, nor of the ends of both lists, which have any page. With conditions
(operators of the query) only the first candidates are counted, since each is compared with the conditions.

A query that is the name of a site also gets the first pages of that site.
"""

from collections import Counter
from collections.abc import Iterator, Sequence
from datetime import timedelta

from streams.pages.text.tokens import words
from streams.search.query_language.operators import meets
from streams.search.query_language.query import WITHIN_DAYS
from streams.search.ranking.context import RankingContext
from streams.search.ranking.fusion import LISTS
from streams.search.ranking.named_pages import names_host
from streams.stores.protocols import PageHits
from streams.stores.statement_payload import StatementPayload

MAX_CHECKED = 100
"""Maximum candidates that are compared with the conditions of a query."""
MIN_SHARE = 0.25
"""Minimum share of the best candidate's score by both lists that makes a candidate count."""
MAX_SITE_PAGES = 16
"""Maximum pages of the site that a query names."""
FILE_TYPES = frozenset(
    {"pdf", "txt", "md", "doc", "docx", "rtf", "odt", "ods", "odp", "ppt", "pptx", "xls", "xlsx", "csv", "epub", "ps"}
)
"""The extensions that are types of their own; all others are web pages (`html`)."""


def count_facets(context: RankingContext, pages: list[PageHits]) -> list[PageHits]:
    """Apply the pass `facets`: note the numbers of candidates by each facet, and the pages of a site that is named."""
    counted = list(_candidates(context, pages))
    firsts = [page.hits[0].payload for page in counted]
    context.notes.facets = {
        "host": Counter(each.host for each in firsts if each.host),
        "language": Counter(each.language for each in firsts if each.language),
        "published": _count_times(context, firsts),
        "pagetype": Counter(each.page_type for each in firsts if each.page_type),
        "filetype": Counter(file_type(each) for each in firsts),
    }
    context.notes.site_pages = pages_of_named_site(context.text, counted)
    return pages


def _candidates(context: RankingContext, pages: Sequence[PageHits]) -> Iterator[PageHits]:
    scores = {page: sum(parts.get(one, 0.0) for one in LISTS) for page, parts in context.notes.parts.items()}
    least = MIN_SHARE * max(scores.values(), default=0.0)
    worthy = [page for page in pages if scores.get(page.page_id, 0.0) >= least]
    for page in worthy[:MAX_CHECKED] if context.conditions else worthy:
        context.check_time()
        first = page.hits[0].payload
        is_left_out = (
            (context.languages and first.language not in context.languages)
            or context.block_list.blocks(first.host)
            or (context.personal.hidden and context.personal.rule_of(first.host) == "hidden")
            or (context.conditions and not meets(page, context.conditions))
        )
        if not is_left_out:
            yield page


def _count_times(context: RankingContext, firsts: Sequence[StatementPayload]) -> dict[str, int]:
    """Return the number of pages of the last day, week, month and year. Only whole dates say when."""
    today = context.now.date()
    dates = [each.published[:10] for each in firsts if len(each.published) >= 10]
    counts = {}
    for name, days in WITHIN_DAYS.items():
        earliest, latest = (today - timedelta(days)).isoformat(), (today + timedelta(1)).isoformat()
        counts[name] = sum(earliest <= date <= latest for date in dates)
    return counts


def file_type(payload: StatementPayload) -> str:
    """Return the type of a page's file: one of FILE_TYPES, or `html`."""
    return found if (found := payload.extension) in FILE_TYPES else "html"


def pages_of_named_site(query: str, pages: Sequence[PageHits]) -> list[PageHits]:
    """Return the first pages of the site that the query names; none if the best page is of another site."""
    if not pages or not names_host(words(query), host := pages[0].hits[0].payload.host):
        return []
    return [page for page in pages[1:] if page.hits[0].payload.host == host][:MAX_SITE_PAGES]
