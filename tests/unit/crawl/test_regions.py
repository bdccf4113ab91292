"""The regions of hosts: by suffix, and by a hash that moves as few hosts as possible."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import ValidationError

from streams.crawl.frontier.policy import Regions
from streams.errors import UsageError
from streams.runtime.worker import with_region
from streams.settings import CrawlSettings, Settings
from streams.topology import READER_GROUP, STAGES, grants, in_regions, stage

RULES = {"eu": ("de", "fr", "co.uk"), "us": ("com", "shop.de"), "asia": ()}
HOSTS = [f"host{number}.org" for number in range(600)]


@pytest.mark.parametrize(
    ("host", "region"),
    [
        ("example.de", "eu"),
        ("a.b.example.fr", "eu"),
        ("example.co.uk", "eu"),
        ("example.com", "us"),
        ("de", "eu"),
        ("my.shop.de", "us"),  # the longest suffix decides
        ("myshop.de", "eu"),  # a suffix begins at a dot
    ],
)
def test_the_longest_suffix_decides(host: str, region: str) -> None:
    assert Regions(RULES).of(host) == region


def test_without_regions_a_host_has_none() -> None:
    assert Regions({}).of("example.de") == ""


def test_hosts_without_a_suffix_are_spread_over_all_regions() -> None:
    found = [Regions(RULES).of(host) for host in HOSTS]
    for region in RULES:
        assert 120 < found.count(region) < 280


@given(st.lists(st.sampled_from("abcdefgh"), min_size=2, max_size=6, unique=True), st.sampled_from(HOSTS))
def test_a_region_that_is_removed_moves_only_its_own_hosts(names: list[str], host: str) -> None:
    before = Regions(dict.fromkeys(names, ())).of(host)
    after = Regions(dict.fromkeys(names[1:], ())).of(host)
    assert after == before or before == names[0]


@pytest.mark.parametrize(
    ("regions", "message"),
    [
        ({"eu": ["de"], "us": ["de"]}, "de is listed twice"),
        ({"EU": []}, "pattern"),
        ({"eu-west": []}, "pattern"),
        ({"eu": ["*.de"]}, "pattern"),
        ({"eu": [".de"]}, "pattern"),
    ],
)
def test_a_mistake_in_the_rules_is_refused(regions: dict[str, list[str]], message: str) -> None:
    with pytest.raises(ValidationError, match=message):
        CrawlSettings(regions=regions)  # as JSON gives them


def test_regions_come_from_the_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("RIFFLE_CRAWL__REGIONS", json.dumps(RULES))
    monkeypatch.setenv("RIFFLE_CRAWL__REGION", "eu")
    crawl = Settings.load().crawl
    assert crawl.regions == RULES
    assert crawl.region == "eu"


def test_each_region_s_fetchers_have_a_group_of_their_own_and_the_topics_of_the_stage() -> None:
    (one, two, *rest) = in_regions((stage("fetch"), stage("frontier")), RULES)
    assert [each.group for each in (one, two)] == ["riffle-fetch-asia", "riffle-fetch-eu"]
    assert one.own_topics == two.own_topics == stage("fetch").own_topics
    assert rest[-1] == stage("frontier")
    assert in_regions(STAGES, ()) == STAGES


def settings(region: str = "", **regions: tuple[str, ...]) -> Settings:
    return Settings(crawl=CrawlSettings(regions=regions, region=region))


def test_a_worker_runs_in_its_region() -> None:
    assert with_region([stage("fetch")], settings("eu", eu=("de",), us=())) == in_regions((stage("fetch"),), ["eu"])
    assert with_region([stage("fetch")], settings()) == (stage("fetch"),)
    assert with_region([stage("frontier")], settings(eu=("de",))) == (stage("frontier"),)


@pytest.mark.parametrize(
    ("chosen", "message"),
    [
        (settings("asia", eu=(), us=()), "RIFFLE_CRAWL__REGION is 'asia', and the regions .* are eu, us"),
        (settings("", eu=(), us=()), "RIFFLE_CRAWL__REGION is not set, and the regions .* are eu, us"),
        (settings("eu"), "RIFFLE_CRAWL__REGION is 'eu', and the regions .* are none"),
    ],
)
def test_a_fetcher_whose_events_would_never_come_does_not_start(chosen: Settings, message: str) -> None:
    with pytest.raises(UsageError, match=message):
        with_region([stage("fetch")], chosen)


def test_the_fetchers_of_every_region_may_read_with_their_group() -> None:
    of_fetch = [grant for grant in grants() if grant.principal == "fetch" and grant.kind == "group"]
    assert [(grant.name, grant.is_prefix) for grant in of_fetch] == [("riffle-fetch", True)]
    assert not [grant for grant in grants() if grant.is_prefix and grant.name not in ("riffle-fetch", READER_GROUP)]
