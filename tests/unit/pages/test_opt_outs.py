"""Publishers' wishes about uses of a page: signals, dates, and headers that are sent several times."""

from datetime import UTC, datetime

import pytest

from streams.crawl.content_signals import is_expired, parse_signals, with_signals_of_host
from streams.crawl.fetch.outcomes import select_headers
from streams.pages.document.consent import Consent
from streams.pages.parse.robots_directives import directives, with_robot
from streams.robot_name import ProductToken

NOW = datetime(2030, 6, 1, tzinfo=UTC)


@pytest.mark.parametrize(
    ("headers", "expected"),
    [
        ({"content-signal": "search=yes, ai-train=no"}, ("ai-train=no",)),
        ({"content-signal": "ai-input=no"}, ("ai-input=no",)),
        ({"content-usage": "train-ai=n"}, ("ai-train=no",)),
        ({"content-signal": "search=no"}, ("noindex", "search=no")),
        ({"content-signal": "ai-input=yes, ai-input=no"}, ("ai-input=no",)),
        ({"content-signal": "ai-input=perhaps; cookies=no"}, ()),
        ({"tdm-reservation": "1"}, ("noai",)),
        ({"tdm-reservation": "0"}, ()),
    ],
)
def test_opt_outs_become_directives(headers: dict[str, str], expected: tuple[str, ...]) -> None:
    assert directives([], headers) == expected


def test_what_a_model_may_not_read_is_consent() -> None:
    assert not Consent.of_directives(directives([], {"content-signal": "ai-input=no"})).for_models
    assert Consent.of_directives(directives([], {"content-signal": "search=yes, ai-train=no"})).for_models


def test_no_holds_where_a_page_and_the_robots_txt_of_its_host_differ() -> None:
    for page, host in (("ai-input=yes", "ai-input=no"), ("ai-input=no", "ai-input=yes")):
        both = with_signals_of_host({"content-signal": page}, host, tdm_reserved=False)
        assert parse_signals(both["content-signal"]) == {"ai-input": False}
    assert with_signals_of_host({}, "", tdm_reserved=False) == {}


def test_a_reservation_in_tdmrep_json_holds_unless_the_page_has_its_own() -> None:
    assert directives([], with_signals_of_host({}, "search=yes", tdm_reserved=True)) == ("noai",)
    assert directives([], with_signals_of_host({"tdm-reservation": "0"}, "", tdm_reserved=True)) == ()


@pytest.mark.parametrize(
    ("values", "expected"),
    [
        (["otherbot: noindex", "nofollow"], ("nofollow",)),
        (["otherbot: noindex", "rifflebot: nosnippet"], ("nosnippet",)),
        (["noarchive", "max-snippet:20"], ("max-snippet:20", "noarchive")),
        (["otherbot: noindex, nofollow"], ()),
    ],
)
def test_each_robots_header_stands_by_itself(values: list[str], expected: tuple[str, ...]) -> None:
    assert directives([], select_headers({"x-robots-tag": values})) == expected


@pytest.mark.parametrize(
    ("values", "expected"),
    [
        # A directive that is not known may have a value, and hides nothing.
        (["foo: 3, noindex"], ("noindex",)),
        (["foo: bar, noindex", "nofollow"], ("nofollow", "noindex")),
        (["otherbot: nofollow", "foo: 3, noindex"], ("noindex",)),
        (["foo:, noindex"], ("noindex",)),
        # A known directive is no robot's name.
        (["noindex: 1, nofollow"], ("nofollow", "noindex")),
        (["otherbot: nosnippet", "noindex: all"], ("noindex",)),
        (["max-image-preview: none, noindex"], ("max-image-preview:none", "noindex")),
        # A robot's name is followed by a known directive.
        (["otherbot: all, noindex"], ()),
        (["otherbot: max-snippet: 3, noindex"], ()),
        (["otherbot: noindex; nofollow"], ()),
        (["otherbot: index, follow, rifflebot: noindex"], ("noindex",)),
        (["otherbot: noindex, robots: nofollow"], ("nofollow",)),
        # Other marks between directives.
        (["noindex;nofollow"], ("nofollow", "noindex")),
        (["noindex nofollow"], ("nofollow", "noindex")),
        (["rifflebot: noindex;nofollow noarchive"], ("noarchive", "nofollow", "noindex")),
        (["unavailable_after: 25 Jun 2030 15:00:00 GMT; noindex"],
         ("noindex", "unavailable_after:25 jun 2030 15:00:00 gmt")),
    ],
)  # fmt: skip
def test_no_directive_is_hidden(values: list[str], expected: tuple[str, ...]) -> None:
    assert directives([], select_headers({"x-robots-tag": values})) == expected
    if not any("bot" in value for value in values):
        assert directives([("robots", value) for value in values], {}) == expected


def test_the_robot_has_the_name_of_the_setting() -> None:
    headers = select_headers({"x-robots-tag": ["corpbot: noindex, rifflebot: nofollow"]})
    metas = [("corpbot", "nosnippet"), ("rifflebot", "noarchive")]
    assert directives(metas, with_robot(headers, ProductToken("CorpBot"))) == ("noindex", "nosnippet")
    assert directives(metas, headers) == ("noarchive", "nofollow")


@pytest.mark.parametrize(
    ("date", "expired"),
    [
        ("2030-05-31", True),
        ("2030-06-02", False),
        ("2030-05-31T23:00:00+00:00", True),
        ("Fri, 31 May 2030 15:00:00 GMT", True),
        ("Saturday, 15-Jun-30 15:52:01 UTC", False),
        ("25 Jun 2010 15:00:00 PST", True),
        ("Fri 31 May 2030 15:00:00 GMT", True),
        ("Wednesday,15-May-30 15:52:01 UTC", True),
        ("25-Aug-2020 15:00:00 EST", True),  # the form of the first documentation
        ("2020-08-25 15:00:00 PST", True),
        ("Tuesday, 25-Aug-20 15:00:00 UTC", True),
        ("Aug 25, 2020", True),
        ("Tuesday, August 25, 2020", True),
        ("August 25, 2030, 3:00 pm EST", False),
        ("25 August 2020 15:00", True),
        ("2030-06-01", False),  # it lasts until the end of the day
        ("20200825", True),
        ("2030-06-01T00:00:00-12:00", False),
        ("2020", False),  # no day
        ("03/04/2020", False),  # of March, or of April
        ("soon", False),
        ("9999999999-01-01", False),
    ],
)
def test_a_page_may_ask_to_be_shown_until_a_date(date: str, expired: bool) -> None:
    found = directives([("robots", f"unavailable_after: {date}")], {})
    assert is_expired(found, NOW) is expired
    assert is_expired([f"unavailable_after:{date.lower()}"], NOW) is expired


DATES = ("2030-05-31", "Fri, 31 May 2030 15:00:00 GMT", "Friday, 31-May-30 15:00:00 UTC", "31 May 2030 15:00:00 PST")


@pytest.mark.parametrize("date", DATES)
@pytest.mark.parametrize(
    "values",
    [
        ["unavailable_after: {}, noindex"],
        ["noindex, unavailable_after: {}"],
        ["noindex,unavailable_after :{},nofollow"],
        ["unavailable_after: {}", "noindex"],
        ["noindex", "unavailable_after: {}"],
        ["rifflebot: unavailable_after: {}, noindex"],
        ["otherbot: nofollow", "unavailable_after: {}, noindex"],
    ],
)
def test_a_date_costs_no_directive_beside_it(date: str, values: list[str]) -> None:
    sent = [value.format(date) for value in values]
    found = directives([], select_headers({"x-robots-tag": sent}))
    assert "noindex" in found
    assert is_expired(found, NOW)
    if not any("bot" in value for value in values):
        assert directives([("robots", value) for value in sent], {}) == found


@pytest.mark.parametrize("date", DATES)
def test_a_date_for_another_robot_is_not_followed(date: str) -> None:
    sent = [f"otherbot: unavailable_after: {date}, noindex"]
    assert directives([], select_headers({"x-robots-tag": sent})) == ()
