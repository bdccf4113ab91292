"""Weak priors of a page: the authority of its host, its freshness, its quality; and the wish for recent pages. Pure.

The coefficients of priors are small, so they only decide between pages that answer a query about equally well. Only the
first pages get them: no other page could rise to the first results.
"""

import math
from collections.abc import Iterable, Mapping, Sequence
from datetime import UTC, datetime, timedelta
from uuid import UUID

from streams.search.query_language.matching import RECENT, steps_of_wish
from streams.search.ranking.context import RankingContext
from streams.stores.protocols import HostRank, PageHits

PAGES = 100
"""Maximum pages that get a prior."""
FULL_AUTHORITY_RANK = 10_000.0
"""Minimum rank of a host with authority 1."""
RECENT_HALF_LIFE_DAYS = 365.0
"""The half-life for `prefer:recent`, which weighs only dated pages (days)."""
UNDATED_SHARE = 0.25
"""Freshness of a page without a date that was fetched now. A fetch shows only that a page is still there."""
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_FIRST_WEB_PAGE = datetime(1991, 8, 6, tzinfo=UTC)


def authority_values(context: RankingContext, pages: Sequence[PageHits]) -> Mapping[UUID, float]:
    """Return the values of the signal `authority`, by the ranks of hosts that were read."""
    ranks: Mapping[str, HostRank] = context.read.get("priors") or {}
    return {page.page_id: authority(ranks.get(host_of(page))) for page in pages[:PAGES]}


def freshness_values(context: RankingContext, pages: Sequence[PageHits]) -> Mapping[UUID, float]:
    """Return the values of the signal `freshness`."""
    half_life = context.options.freshness_half_life_days
    firsts = {page.page_id: page.hits[0].payload for page in pages[:PAGES]}
    return {page: freshness(one.published, one.generation, context.now, half_life) for page, one in firsts.items()}


def quality_values(context: RankingContext, pages: Sequence[PageHits]) -> Mapping[UUID, float]:
    """Return the values of the signal `quality`: 0, or negative."""
    least = context.options.min_quality
    lacks = {page.page_id: lack_of_quality(page.hits[0].payload.quality, least) for page in pages[:PAGES]}
    return {page: -lack for page, lack in lacks.items() if lack}


def recent_values(context: RankingContext, pages: Sequence[PageHits]) -> Mapping[UUID, float]:
    """Return the values of the signal `wish`: the freshness of pages with a date, times the steps of the wish."""
    steps = steps_of_wish(context.conditions["prefer"][-1])
    context.notes.passes["wishes"] = {RECENT: steps}
    dated = {page.page_id: published for page in pages[:PAGES] if (published := page.hits[0].payload.published)}
    half_life = RECENT_HALF_LIFE_DAYS
    return {page: steps * freshness(published, 0, context.now, half_life) for page, published in dated.items()}


def authority(known: HostRank | None) -> float:
    """Return the authority of a host on a logarithmic scale: 0 without in-links, 1 from rank 10,000 on.

    Where the rank is not computed yet, each linking host counts as a host without in-links that only links to this
    host.
    """
    if known is None:
        return 0.0
    rank = 1.0 + known.in_links if known.rank is None else known.rank
    return min(max(math.log(max(rank, 1.0)) / math.log(FULL_AUTHORITY_RANK), 0.0), 1.0)


def freshness(published: str, generation: int, now: datetime, half_life_days: float) -> float:
    """Return the freshness of a page by its publication, else by the fetch of its text: 1 for today, 0 for unknown.

    `published` is an ISO date, or only its year or month. `generation` is the fetch that brought its text, microseconds
    since 1970 UTC.
    """
    if date := _parse_date(published):
        return _decay_freshness(date, now, half_life_days)
    fetched = _EPOCH + timedelta(microseconds=min(max(generation, 0), 2**52))
    return UNDATED_SHARE * _decay_freshness(fetched, now, half_life_days)


def lack_of_quality(quality: float, min_quality: float) -> float:
    """Return how far a page's quality is below the minimum: 0 from the minimum on, 1 for quality 0."""
    return min(max((min_quality - quality) / min_quality, 0.0), 1.0) if min_quality else 0.0


def hosts_of(pages: Iterable[PageHits]) -> frozenset[str]:
    return frozenset(host for page in pages if (host := host_of(page)))


def host_of(page: PageHits) -> str:
    return page.hits[0].payload.host


def _decay_freshness(date: datetime, now: datetime, half_life_days: float) -> float:
    """Return the remaining share of the freshness; 0 for a date that is a mistake."""
    if not _is_possible(date, now):
        return 0.0
    return float(0.5 ** (max((now - date) / timedelta(days=1), 0.0) / half_life_days))


def _is_possible(date: datetime, now: datetime) -> bool:
    """Return False for a date before the web, or after tomorrow: it is a mistake."""
    return _FIRST_WEB_PAGE <= date <= now + timedelta(days=1)


def sort_by_date(pages: Iterable[PageHits], now: datetime) -> list[PageHits]:
    """Return the pages with the newest first, and behind them pages without a date, or with a date that is a mistake.

    Pages of one date stay in their order.
    """

    def date_of(page: PageHits) -> datetime:
        date = _parse_date(page.hits[0].payload.published)
        return date if date and _is_possible(date, now) else _EPOCH

    return sorted(pages, key=date_of, reverse=True)


def _parse_date(published: str) -> datetime | None:
    """Return the first day that an ISO date may mean, or None if the text is no date."""
    parts = published[:10].split("-")
    try:
        numbers = [int(part) for part in parts] + [1, 1]
        return datetime(numbers[0], numbers[1], numbers[2], tzinfo=UTC)
    except (ValueError, OverflowError):
        return None
