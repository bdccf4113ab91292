"""Weak priors of a page, which are added to its score: the authority of its host, its freshness, its quality. Pure.

Scores are counted in standard deviations of a list, and the parts of a prior are at most its weights. So the priors
only decide between pages that answer a query about equally well. Only the first pages get priors: no other page could
rise to the first results.
"""

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta

from streams.search.options import SearchOptions
from streams.search.ranking.context import RankingContext, add_gains
from streams.stores.protocols import HostRank, PageHits

PAGES = 100
"""Maximum pages that get a prior."""
FULL_AUTHORITY_RANK = 10_000.0
"""Minimum rank of a host with authority 1."""
UNDATED_SHARE = 0.25
"""Freshness of a page without a date that was fetched now. A fetch shows only that a page is still there."""
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_FIRST_WEB_PAGE = datetime(1991, 8, 6, tzinfo=UTC)


@dataclass(frozen=True, slots=True)
class Prior:
    """The parts of a page's prior, as they are in its score."""

    authority: float = 0.0
    freshness: float = 0.0
    quality: float = 0.0
    """The loss of a page of low quality: 0, or negative."""

    @property
    def total(self) -> float:
        return self.authority + self.freshness + self.quality


def prefer_known_and_fresh(context: RankingContext, pages: list[PageHits]) -> list[PageHits]:
    """Apply the pass `priors`: read the ranks of the first pages' hosts, and note the parts of each prior."""
    ranks: Mapping[str, HostRank] = context.read.get("priors") or {}
    priors = {page.page_id: prior_of(page, ranks, context.now, context.options) for page in pages[:PAGES]}
    for page, prior in priors.items():
        context.notes.note_part(page, "authority", prior.authority)
        context.notes.note_part(page, "freshness", prior.freshness)
        if prior.quality:
            context.notes.note_part(page, "quality", prior.quality)
    return add_gains(pages, {page_id: prior.total for page_id, prior in priors.items()})


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


def prior_of(page: PageHits, ranks: Mapping[str, HostRank], now: datetime, weights: SearchOptions) -> Prior:
    """Return the prior of a page, by the rank of its host, its date, and the fetch that brought its text."""
    payload = page.hits[0].payload
    return Prior(
        weights.authority_weight * authority(ranks.get(host_of(page))),
        weights.freshness_weight
        * freshness(payload.published, payload.generation, now, weights.freshness_half_life_days),
        -weights.quality_weight * lack_of_quality(payload.quality, weights.min_quality),
    )


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
