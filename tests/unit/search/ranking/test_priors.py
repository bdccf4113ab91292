"""Authority and freshness: their scales, and how little they change."""

from datetime import UTC, datetime, timedelta
from uuid import UUID, uuid5

import pytest

from streams.search.ranking.priors import UNDATED_SHARE, authority, freshness, hosts_of
from streams.search.ranking.signals import add_signals
from streams.stores.protocols import Hit, HostRank, PageHits
from streams.stores.statement_payload import StatementPayload
from tests.unit.search.ranking.contexts import context_of

NOW = datetime(2026, 3, 4, tzinfo=UTC)
HALF_LIFE_DAYS = 365.0
SPACE = UUID(int=1)


@pytest.mark.parametrize(
    ("known", "expected"),
    [
        (None, 0.0),
        (HostRank(), 0.0),
        (HostRank(0, 1.0), 0.0),
        (HostRank(9), 0.25),  # not ranked yet: as many hosts without links of their own
        (HostRank(9, 100.0), 0.5),
        (HostRank(9, 1e4), 1.0),
        (HostRank(10_000, 1e9), 1.0),
        (HostRank(0, 0.5), 0.0),
    ],
)
def test_authority_grows_with_the_logarithm_of_the_rank(known: HostRank | None, expected: float) -> None:
    assert authority(known) == pytest.approx(expected)


def micros(date: datetime) -> int:
    return int(date.timestamp() * 1_000_000)


@pytest.mark.parametrize(
    ("published", "fetched", "expected"),
    [
        ("2026-03-04", NOW, 1.0),
        ("2025-03-04", NOW, 0.5),
        ("2024-03-04", NOW, 0.25),
        ("2025-03", NOW, 0.497),
        ("2025", NOW, 0.444),
        ("2024-03-04T10:00:00Z", NOW, 0.25),
        ("2026-03-05", NOW, 1.0),  # today, east of here
        ("2027-01-01", NOW, 0.0),  # a mistake, or a trick
        ("0001-01-01", NOW, 0.0),
        ("9999999999", NOW, UNDATED_SHARE),
        ("soon", NOW, UNDATED_SHARE),
        ("", NOW, UNDATED_SHARE),
        ("", NOW - timedelta(days=365), UNDATED_SHARE / 2),
        ("", datetime(1970, 1, 1, tzinfo=UTC), 0.0),  # a generation that is no time
    ],
)
def test_freshness_halves_in_a_year(published: str, fetched: datetime, expected: float) -> None:
    assert freshness(published, micros(fetched), NOW, HALF_LIFE_DAYS) == pytest.approx(expected, abs=0.001)


@pytest.mark.parametrize("generation", [-1, 0, 1, 2**62, 2**80])
def test_any_generation_has_a_freshness(generation: int) -> None:
    assert 0 <= freshness("", generation, NOW, HALF_LIFE_DAYS) <= UNDATED_SHARE


def page(name: str, score: float, **payload: object) -> PageHits:
    identity = uuid5(SPACE, name)
    return PageHits(identity, (Hit(identity, score, StatementPayload.of_row({"host": name, **payload})),), score)


def names(pages: list[PageHits]) -> list[str]:
    return [one.hits[0].payload.host for one in pages]


def ordered(pages: list[PageHits], ranks: dict[str, HostRank], **options: float) -> list[str]:
    context = context_of("q", **options)
    context.read["priors"] = ranks
    return names(add_signals(context, pages))


def test_priors_decide_between_pages_that_are_about_equal() -> None:
    pages = [page("a", 2.0), page("b", 1.95), page("c", 1.0)]
    ranks = {"b": HostRank(50, 100.0), "c": HostRank(9_000, 1e4)}
    assert ordered(pages, ranks) == ["a", "b", "c"]
    assert ordered(pages, ranks, authority_weight=0.2) == ["b", "a", "c"]
    assert ordered(pages, ranks, authority_weight=0.0) == ["a", "b", "c"]


def test_a_recent_page_comes_before_an_old_one() -> None:
    pages = [page("old", 2.0, published="2010-01-01"), page("new", 1.97, published="2026-03-01")]
    assert ordered(pages, {}) == ["new", "old"]
    assert ordered(pages, {}, freshness_weight=0.0) == ["old", "new"]


def test_without_hosts_and_dates_scores_and_order_stay_as_they_were() -> None:
    pages = [page("b", 2.0, generation=1), page("a", 2.0, generation=1), page("c", 1.0)]
    context = context_of("q")
    assert add_signals(context, pages) == pages
    assert all(not any(parts.values()) for parts in context.notes.parts.values())


def test_hosts_are_named_once_and_pages_without_one_are_left_out() -> None:
    assert hosts_of([page("a", 1.0), page("a", 0.5), page("", 0.1)]) == {"a"}
