"""Origins that are not public: which are allowed, what stays of their URLs, and what only the operator decides."""

import pytest

from streams.allowed_origins import EVERY_ORIGIN, AllowedOrigins, is_loopback, parse_networks, parse_origins
from streams.crawl.urls import InvalidUrl, canonicalize, host_of, possible_urls, reason_not_to_crawl, resolve

WIKI = AllowedOrigins(
    parse_origins(
        ["http://Wiki.corp.example", "https://docs.example:8443", "http://*.lab.example", "http://wiki:8080/"]
    )
)
LOCAL = AllowedOrigins(loopback=True)

ADDRESSES = [
    # URL, who allows it, canonical URL, its host
    ("http://wiki.corp.example/a", WIKI, "http://wiki.corp.example/a", "wiki.corp.example"),
    ("http://wiki.corp.example:80/a", WIKI, "http://wiki.corp.example/a", "wiki.corp.example"),
    ("https://docs.example:8443/", WIKI, "https://docs.example:8443/", "docs.example"),
    ("http://a.b.lab.example/", WIKI, "http://a.b.lab.example/", "a.b.lab.example"),
    ("http://wiki:8080/x", WIKI, "http://wiki:8080/x", "wiki:8080"),
    ("http://lab.example/", WIKI, "https://lab.example/", "lab.example"),  # the star is a label
    ("http://badlab.example/", WIKI, "https://badlab.example/", "badlab.example"),
    ("http://other.example/", WIKI, "https://other.example/", "other.example"),
    ("http://localhost:8000/", LOCAL, "http://localhost:8000/", "localhost:8000"),
    ("http://127.0.0.1:8000/", LOCAL, "http://127.0.0.1:8000/", "127.0.0.1:8000"),
    ("http://[::1]:8000/", LOCAL, "http://[::1]:8000/", "[::1]:8000"),
    ("http://0x7f000001:8000/", LOCAL, "http://127.0.0.1:8000/", "127.0.0.1:8000"),
    ("http://docs.localhost/", LOCAL, "http://docs.localhost/", "docs.localhost"),
    ("http://10.0.0.7/", EVERY_ORIGIN, "http://10.0.0.7/", "10.0.0.7"),
]


@pytest.mark.parametrize(("url", "allowed", "canonical", "host"), ADDRESSES, ids=[row[0] for row in ADDRESSES])
def test_an_allowed_origin_stays(url: str, allowed: AllowedOrigins, canonical: str, host: str) -> None:
    assert canonicalize(url, allowed) == canonical
    assert canonicalize(canonical, allowed) == canonical
    assert host_of(canonical) == host
    assert reason_not_to_crawl(canonical, allowed) is None


REFUSED = [
    ("http://localhost:8000/", WIKI),
    ("http://10.0.0.7/", LOCAL),
    ("http://wiki/", WIKI),  # another port than the one that is allowed
    ("http://localhost.attacker.example:8000/", LOCAL),
]


@pytest.mark.parametrize(("url", "allowed"), REFUSED, ids=[row[0] for row in REFUSED])
def test_a_refusal_names_the_settings(url: str, allowed: AllowedOrigins) -> None:
    try:
        refusal = reason_not_to_crawl(canonicalize(url, allowed), allowed) or ""
    except InvalidUrl as error:
        refusal = str(error)
    for name in ("RIFFLE_CRAWL__ALLOWED_ORIGINS", "RIFFLE_CRAWL__ALLOWED_NETWORKS", "--local"):
        assert name in refusal


def test_only_pages_of_an_origin_lead_to_it() -> None:
    assert resolve("http://localhost:8000/a/", "b") == "http://localhost:8000/a/b"
    assert resolve("http://wiki.corp.example/", "http://other.example/") == "https://other.example/"
    assert resolve("https://other.example/", "http://wiki.corp.example/") == "https://wiki.corp.example/"
    for page in ("https://attacker.example/", "http://localhost:8000/"):
        with pytest.raises(InvalidUrl):
            resolve(page, "http://localhost:9042/")


def test_a_link_from_elsewhere_gets_the_scheme_that_the_operator_named() -> None:
    assert WIKI.place("https://wiki.corp.example/a") == "http://wiki.corp.example/a"
    assert WIKI.place("https://other.example/a") == "https://other.example/a"
    assert LOCAL.place("https://localhost/") == "https://localhost/"


@pytest.mark.parametrize(
    ("host", "origin"),
    [
        ("wiki.corp.example", "http://wiki.corp.example"),
        ("docs.example", "https://docs.example:8443"),
        ("wiki:8080", "http://wiki:8080"),
        ("www.example", "https://www.example"),
    ],
)
def test_robots_txt_is_asked_for_at_the_origin_of_its_host(host: str, origin: str) -> None:
    assert WIKI.origin_of_host(host) == origin
    assert LOCAL.origin_of_host("localhost:8000") == "http://localhost:8000"


@pytest.mark.parametrize(
    "name", ["wiki", "ftp://a.example", "http://a.example/path", "http://u@a.example", "http://*", "http://a.*.b"]
)
def test_what_is_no_origin_is_refused(name: str) -> None:
    with pytest.raises(ValueError, match=r"origin|star"):
        parse_origins([name])


@pytest.mark.parametrize("network", ["0.0.0.0/0", "8.8.8.0/24", "169.254.0.0/16", "10.0.0.0/7", "fe80::/10", "::/0"])
def test_only_private_networks_may_be_allowed(network: str) -> None:
    with pytest.raises(ValueError, match="private"):
        parse_networks([network])


def test_loopback_is_known_by_its_name() -> None:
    assert [
        name for name in ("localhost", "a.localhost", "127.9.9.9", "[::1]") if not is_loopback(f"http://{name}")
    ] == []
    assert not is_loopback("http://localhost.example")


def test_a_typed_address_may_name_a_public_page_or_one_at_its_origin() -> None:
    assert possible_urls("sqlite.org/a") == ("https://sqlite.org/a",)
    assert possible_urls("http://wiki.example/a") == ("https://wiki.example/a", "http://wiki.example/a")
    assert possible_urls("http://localhost:8000/") == ("http://localhost:8000/",)
