"""The names that a server answers to."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from streams.allowed_hosts import LOCAL_NAMES, is_address, is_allowed
from streams.settings import CrawlSettings, GatewaySettings, Settings

NAMES = {"search.example", "*.pages.example", "::1"}


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        ("search.example", True),
        ("SEARCH.example.:8443", True),  # case, a root dot and a port make no other name
        ("https://search.example:8443", True),  # an origin
        ("a.pages.example", True),
        ("a.b.pages.example", True),
        ("[::1]:80", True),
        ("pages.example", False),  # a wildcard is for names below
        ("evilpages.example", False),
        ("search.example.evil.example", False),
        ("evil.example/search.example", False),
        ("evil.example#search.example", False),
        ("search.example@evil.example", False),
        ("127.0.0.1", False),  # not in these names
        ("null", False),  # the origin of a frame without one
        ("[::1", False),
        ("", False),
    ],
)
def test_names_that_are_allowed(given: str, expected: bool) -> None:
    assert is_allowed(given, NAMES) is expected


@given(st.text(max_size=60))
def test_any_text_is_a_foreign_host_or_a_name_of_the_machine(given: str) -> None:
    assert not is_allowed(given, LOCAL_NAMES) or any(name in given.lower() for name in LOCAL_NAMES)
    assert is_allowed(given, {"*"})


@pytest.mark.parametrize(("given", "expected"), [("10.1.2.3:8081", True), ("[fd00::1]:80", True), ("a.10", False)])
def test_addresses(given: str, expected: bool) -> None:
    assert is_address(given) is expected


PUBLIC = "https://Search.example/riffle"


@pytest.mark.parametrize(
    ("profile", "public_url", "allowed", "answered", "refused"),
    [
        ("local", "", (), "127.0.0.1", "rebound.example"),
        ("local", PUBLIC, (), "search.example", "rebound.example"),
        ("local", "", ("my.lan",), "my.lan", "rebound.example"),
        ("production", PUBLIC, (), "search.example", "rebound.example"),
        ("production", PUBLIC, ("A.example",), "a.example", "search.example"),
        ("production", PUBLIC, ("A.example",), "localhost", "rebound.example"),
    ],
)
def test_the_names_of_a_gateway(
    profile: str, public_url: str, allowed: tuple[str], answered: str, refused: str
) -> None:
    gateway = GatewaySettings(public_url=public_url, allowed_hosts=allowed)
    crawl = CrawlSettings(contact_url="https://operator.example")
    names = Settings.model_validate({"profile": profile, "gateway": gateway, "crawl": crawl}).gateway_hosts
    assert is_allowed(answered, names)
    assert not is_allowed(refused, names)


def test_a_gateway_without_a_public_name_is_asked_by_any_name_in_production() -> None:
    settings = Settings(profile="production", crawl=CrawlSettings(contact_url="https://operator.example"))
    assert settings.gateway_hosts == frozenset()
