"""The rules of one person: the nearest domain decides, and the pass moves pages by a stated amount."""

from datetime import UTC, datetime
from uuid import uuid4

import pytest

from streams.search.options import SearchOptions
from streams.search.ranking.context import RankingContext
from streams.search.ranking.filters import Rules, check_pages
from streams.search.ranking.rules import PersonalRules
from streams.search.ranking.signals import add_signals
from streams.stores.protocols import EVERYTHING, Candidates, Hit, PageHits
from streams.stores.statement_payload import StatementPayload

RULES = PersonalRules(
    frozenset({"good.example", "docs.bad.example"}), frozenset({"bad.example"}), frozenset({"spam.example"})
)


def page(host: str, score: float) -> PageHits:
    row = {"page_id": str(uuid4()), "url": f"https://{host}/", "host": host, "title": host, "text": f"On {host} it is."}
    return PageHits(uuid4(), (Hit(uuid4(), score, StatementPayload.of_row(row)),), score)


def context(rules: PersonalRules) -> RankingContext:
    now = datetime(2026, 1, 1, tzinfo=UTC)
    options = SearchOptions(freshness_weight=0, authority_weight=0)
    return RankingContext("q", Candidates((), ()), 0.5, options, now, 10, EVERYTHING, personal=rules)


@pytest.mark.parametrize(
    ("host", "rule"),
    [
        ("good.example", "raised"),
        ("www.good.example", "raised"),
        ("bad.example", "lowered"),
        ("docs.bad.example", "raised"),  # the nearest domain decides
        ("a.docs.bad.example:8443", "raised"),
        ("notgood.example", ""),
        ("example", ""),
    ],
)
def test_the_nearest_domain_decides(host: str, rule: str) -> None:
    assert RULES.rule_of(host) == rule


def test_sites_rise_and_fall_by_the_stated_amount() -> None:
    pages = [page("bad.example", 2.0), page("other.example", 1.5), page("good.example", 1.0)]
    made = context(RULES)
    found, gain = add_signals(made, pages), made.options.preference_weight
    assert [each.hits[0].payload.host for each in found] == ["good.example", "other.example", "bad.example"]
    assert [each.score for each in found] == [1.0 + gain, 1.5, 2.0 - gain]
    assert made.notes.parts == {
        pages[0].page_id: {"preference": -gain},
        pages[2].page_id: {"preference": gain},
    }


def test_without_rules_nothing_changes() -> None:
    pages = [page("a.example", 1.0), page("b.example", 1.0)]
    assert add_signals(context(PersonalRules()), pages) is pages


def test_a_hidden_site_is_left_out_and_counted() -> None:
    found = check_pages([page("x.spam.example", 1.0), page("a.example", 0.5)], Rules(personal=RULES), 10)
    assert [each.hits[0].payload.host for each in found.pages] == ["a.example"]
    assert found.counts == {"hidden": 1}
