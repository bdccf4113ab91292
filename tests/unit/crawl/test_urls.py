"""The URL rules."""

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from streams.allowed_origins import AllowedOrigins, OwnOrigin
from streams.crawl.domains import has_public_suffix, registrable_domain
from streams.crawl.urls import MAX_URL_CHARS, InvalidUrl, canonicalize, host_of, reason_not_to_crawl, resolve
from tests.sizes import examples

CANONICAL = [
    ("https://example.com", "https://example.com/", "an empty path is the root"),
    ("http://example.com/a", "https://example.com/a", "http is upgraded"),
    ("http://example.com:80/", "https://example.com/", "the default port of http goes with it"),
    ("https://example.com:443/", "https://example.com/", "the default port is dropped"),
    ("https://example.com:8443/", "https://example.com:8443/", "another port stays"),
    ("HTTPS://EXAMPLE.COM/A", "https://example.com/A", "scheme and host are lower case, the path is not"),
    ("https://example.com./", "https://example.com/", "the root label's dot is dropped"),
    ("https://example.com/a#b", "https://example.com/a", "no fragment"),
    ("https://example.com/?", "https://example.com/", "no empty query"),
    ("https://example.com/a/./b/../c", "https://example.com/a/c", "dot segments"),
    ("https://example.com/a/%2e%2E/b", "https://example.com/b", "encoded dot segments"),
    ("https://example.com\\a\\b", "https://example.com/a/b", "backslashes, as browsers read them"),
    (" \thttps://example.com/a\nb ", "https://example.com/ab", "white space, as browsers drop it"),
    ("https://example.com/%7Eme/%41", "https://example.com/~me/A", "unreserved characters are not encoded"),
    ("https://example.com/a%2fb%3a", "https://example.com/a%2Fb%3A", "hexadecimal digits are upper case"),
    ("https://example.com/100%", "https://example.com/100%25", "a % that is no escape"),
    ("https://example.com/%%34%31", "https://example.com/%2541", "decoding makes no new escape"),
    ("https://example.com/ä b", "https://example.com/%C3%A4%20b", "what is not ASCII is encoded"),
    ("https://Bücher.example/", "https://xn--bcher-kva.example/", "IDNA"),
    ("https://ｅｘａｍｐｌｅ.com/", "https://example.com/", "full-width letters (UTS 46)"),
    ("https://example.com/?b=2&a=1", "https://example.com/?b=2&a=1", "the order of parameters stays"),
    ("https://example.com/?utm_source=x&a=1&gclid=y", "https://example.com/?a=1", "tracking parameters"),
    ("https://example.com/?UTM%5FSource=x", "https://example.com/", "encoded tracking parameters"),
    ("https://example.com/?a=1&&b", "https://example.com/?a=1&b", "empty parameters"),
    ("https://example.com/p;jsessionid=A1/q?a", "https://example.com/p/q?a", "session ids in the path"),
    ("https://example.com/p;JSESSIONID=00.node:1!2?a", "https://example.com/p?a", "one with the names of its servers"),
    ("https://example.com/a;PHPSESSID=1;b=2", "https://example.com/a;b=2", "of PHP, beside another parameter"),
    ("https://example.com/(S(lit3py55t21z5v55))/a.aspx", "https://example.com/a.aspx", "of ASP.NET without cookies"),
    ("https://example.com/x/(A(b-1)S(c_2)F(d))/a", "https://example.com/x/a", "with its further parts"),
    ("https://example.com/f(S(x))/a", "https://example.com/f(S(x))/a", "a function"),
    ("https://example.com/Moon_(S(x))", "https://example.com/Moon_(S(x))", "a name"),
    ("https://example.com/?osCsid=1&CFID=2&CFTOKEN=3&zenid=4&id=5", "https://example.com/?id=5", "of shops"),
    ("https://example.com/pub/?C=N;O=D", "https://example.com/pub/", "a sorted listing of Apache"),
    ("https://example.com/pub/?C=M;O=A;F=2;V=1;P=*.txt", "https://example.com/pub/", "with all of its options"),
    ("https://example.com/pub/?C=S&O=D", "https://example.com/pub/", "of nginx (fancyindex), Jetty and lighttpd"),
    ("https://example.com/pub/?C=D", "https://example.com/pub/", "only its column"),
    ("https://example.com/pub/?M=A", "https://example.com/pub/", "of Apache 1.3"),
    ("https://example.com/pub/?sort=size&order=desc", "https://example.com/pub/", "of Caddy"),
    ("https://example.com/pub?C=N;O=D", "https://example.com/pub?C=N;O=D", "no folder"),
    ("https://example.com/?C=Norway", "https://example.com/?C=Norway", "another value"),
    ("https://example.com/?C=N;q=x", "https://example.com/?C=N;q=x", "another parameter beside it"),
    ("https://example.com/?P=7", "https://example.com/?P=7", "a page by its number"),
    ("https://example.com/?sort=price&order=asc", "https://example.com/?sort=price&order=asc", "a shop"),
    ("https://example.com/a/b/..;jsessionid=A1/c", "https://example.com/a/c", "a session id before a dot segment ends"),
    ("https://example.com/a/.;JSessionId=A1", "https://example.com/a/", "a session id in the last dot segment"),
    ("https://example.com/a;%6Asessionid=A1", "https://example.com/a", "an encoded session id"),
    (
        "https://example.com/a[1]|{b}?c[]={d}|e^",
        "https://example.com/a%5B1%5D%7C%7Bb%7D?c%5B%5D=%7Bd%7D%7Ce%5E",
        "one set",
    ),
    ("https://example.com/?utm=1&fb=2", "https://example.com/?utm=1&fb=2", "names that only look like tracking"),
]


@pytest.mark.parametrize(("url", "canonical"), [case[:2] for case in CANONICAL], ids=[case[2] for case in CANONICAL])
def test_the_canonical_url(url: str, canonical: str) -> None:
    assert canonicalize(url) == canonical
    assert canonicalize(canonical) == canonical


INVALID = [
    ("", "syntax"),
    ("example.com/a", "syntax"),
    ("//example.com/", "syntax"),
    ("https://", "syntax"),
    ("https://exa mple.com/", "syntax"),
    ("https://example.com:99999/", "syntax"),
    ("https://1.2.3.4.5/", "syntax"),  # ends in a number, and is no address
    ("https://example.com/\ud800", "syntax"),
    ("ftp://example.com/", "scheme"),
    ("javascript:alert(1)", "scheme"),
    ("file:///etc/passwd", "scheme"),
    ("data:text/html,x", "scheme"),
    ("https://user@example.com/", "credentials"),
    ("https://user:password@example.com/", "credentials"),
    ("https://127.0.0.1/", "host"),
    ("https://127.1/", "host"),
    ("https://①②⑦.⓪.⓪.①/", "host"),
    ("https://0x7f000001/", "host"),
    ("https://2130706433/", "host"),
    ("https://0177.0.0.1/", "host"),
    ("https://8.8.8.8/", "host"),
    ("https://[::1]/", "host"),
    ("https://[::ffff:127.0.0.1]/", "host"),
    ("https://localhost/", "host"),
    ("https://intranet./", "host"),
    ("https://a..example/", "host"),
    ("https://-a.example/", "host"),
    ("https://a-.example/", "host"),
    ("https://" + "a" * 64 + ".example/", "host"),
    ("https://" + "a." * 130 + "example/", "host"),
    ("https://example.com/" + "a" * MAX_URL_CHARS, "length"),
    ("https://example.com/" + "a" * 20_000, "length"),
]


@pytest.mark.parametrize(("url", "rule"), INVALID, ids=[ascii(url[:40]) for url, _ in INVALID])
def test_invalid_urls(url: str, rule: str) -> None:
    with pytest.raises(InvalidUrl) as caught:
        canonicalize(url)
    assert caught.value.rule == rule


@pytest.mark.parametrize(
    ("href", "url"),
    [
        ("b", "https://example.com/a/b"),
        ("/b", "https://example.com/b"),
        ("?q", "https://example.com/a/page?q"),
        ("#f", "https://example.com/a/page"),
        ("", "https://example.com/a/page"),
        ("../../..", "https://example.com/"),
        ("//other.example/x", "https://other.example/x"),
        ("http:b", "https://b/"),  # another scheme than the page's: not relative, and refused for its host
    ],
)
def test_links_are_resolved(href: str, url: str) -> None:
    if url == "https://b/":
        with pytest.raises(InvalidUrl, match="one label"):
            resolve("https://example.com/a/page", href)
    else:
        assert resolve("https://example.com/a/page", href) == url


@pytest.mark.parametrize(
    ("href", "url"),
    [
        ("http://docs/a", "http://docs/a"),
        ("https://docs/a", "http://docs/a"),
        ("/a", "http://wiki/a"),
        ("http://router/", None),
        ("http://10.0.0.1/", None),
    ],
)
def test_pages_of_a_private_network_link_to_named_hosts_of_one_label(href: str, url: str | None) -> None:
    """The link keeps its host, and the origins that the operator named decide on it."""
    origins = AllowedOrigins(frozenset({"http://wiki", "http://docs"}))
    try:
        found = origins.place(resolve("http://wiki/page", href))
    except InvalidUrl:
        assert url is None
    else:
        allowed = reason_not_to_crawl(found, origins) is None
        assert (found if allowed else None) == url


@pytest.mark.parametrize(
    ("url", "reason"),
    [
        ("https://example.com/", None),
        ("https://example.com/a.html?b=1", None),
        ("https://example.com/wiki/Node.js", None),
        ("https://example.com/wiki/File:Moon.jpg", None),
        ("https://example.com/.pdf", None),
        ("https://example.com/a.PDF", None),
        ("https://example.com/a.MP3", "type"),
        ("https://example.com/a.jpg?size=1", "type"),
        ("https://example.com:8443/", "port"),
        ("https://example.com/a/b/a/b/a/b/a/b", "trap"),
        ("https://example.com" + "/a/b/c" * 9, "trap"),
        ("https://example.com/" + "/".join(map(str, range(30))), "trap"),
        ("https://example.com/?" + "&".join(f"a{n}=1" for n in range(20)), "trap"),
    ],
)
def test_urls_worth_a_fetch(url: str, reason: str | None) -> None:
    found = reason_not_to_crawl(url)
    assert (found and found.partition(":")[0]) == reason


def test_the_host_of_a_url() -> None:
    assert host_of("https://a.example:8443/x:y") == "a.example"


URLISH = st.text(st.sampled_from("abAB01.:/?#[]@!$&'()*+,;=%-_~\\ äß。①⓪xn--\t\ud800"), max_size=40)
URLS = st.one_of(
    st.text(max_size=60),
    st.builds("https://example.com/{}".format, URLISH),
    st.builds("https://example.com/?{}".format, URLISH),
    st.builds("http://{}.example/{}".format, URLISH, URLISH),
    st.builds("{}".format, URLISH),
)


def canonical_or_none(url: str) -> str | None:
    try:
        return canonicalize(url)
    except InvalidUrl:
        return None


# The URL standard's grammar (section 4.3), with all parts that its parser changes and that the rules change.
SESSION = st.sampled_from([";jsessionid=", ";JSESSIONID=A", ";%6asessionid=1", ";jsess", "ionid=", "%3bjsessionid=2"])
DOTS = st.sampled_from([".", "..", "%2e", "%2E%2e", ".%2E", "...", "%252e"])
CODE_POINTS = st.sampled_from([*"azAZ09-._~!$&'()*+,;=:@", "é", "東", "\U0001f600", " ", '"', "<", "`", "{", "^", "|"])
ESCAPES = st.sampled_from(["%41", "%7e", "%2f", "%3F", "%C3%A9", "%ff", "%00", "%", "%4", "%zz", "%%34%31", "%25"])
UNITS = st.lists(st.one_of(SESSION, DOTS, CODE_POINTS, ESCAPES), max_size=5).map("".join)
PATH = st.lists(st.tuples(st.sampled_from(["/", "\\", "//", "\t/"]), UNITS), max_size=7).map(
    lambda segments: "".join(slash + segment for slash, segment in segments)
)
PARAMETER = st.tuples(st.sampled_from(["a", "utm_x", "%75tm_x", "gclid", ""]), st.sampled_from(["", "="]), UNITS).map(
    "".join
)
QUERY = st.lists(PARAMETER, max_size=4).map(lambda parameters: "?" + "&".join(parameters) if parameters else "")
LABEL = st.sampled_from(["example", "EXAMPLE", "xn--bcher-kva", "bücher", "ｅ", "a_b", "a--b", "%65x", "1", "0x7f", ""])
LABELS = st.lists(LABEL, min_size=1, max_size=4)
HOST = st.one_of(
    st.just("example.com"), st.just("EXAMPLE.com"), st.builds(str.join, st.sampled_from([".", "。"]), LABELS)
)
GRAMMAR = st.tuples(
    st.sampled_from(["https:", "https:", "HTTP:", " https:", "ftp:", ""]),
    st.sampled_from(["//", "//", "/", "\\\\", ""]),
    st.sampled_from(["", "", "", "", "", "user@", ":@"]),
    HOST,
    st.sampled_from(["", "", ".", ":443", ":80", ":8443", ":", ":00443", ":99999"]),
    PATH,
    QUERY,
    st.sampled_from(["", "", "#", "#a?b/..;jsessionid=1"]),
).map("".join)


CANONICAL_OF_GRAMMAR: st.SearchStrategy[Any] = GRAMMAR.map(canonical_or_none).filter(bool)


@given(CANONICAL_OF_GRAMMAR)
@settings(max_examples=examples(200))
def test_the_canonical_url_of_any_url_of_the_grammar_is_its_own(canonical: str) -> None:
    assert canonicalize(canonical) == canonical
    assert resolve("https://base.example/a/b?c", canonical) == canonical
    assert ";jsessionid=" not in canonical.partition("?")[0].lower()


@given(GRAMMAR, GRAMMAR)
def test_a_link_of_the_grammar_resolves_to_a_canonical_url(base: str, href: str) -> None:
    page = canonical_or_none(base) or "https://base.example/a/b?c"
    try:
        link = resolve(page, href)
    except InvalidUrl:
        return
    assert canonicalize(link, OwnOrigin(page)) == link


CANONICAL_URLS: st.SearchStrategy[Any] = URLS.map(canonical_or_none).filter(bool)


@given(CANONICAL_URLS)
def test_the_canonical_url_is_its_own_canonical_url(canonical: str) -> None:
    assert canonicalize(canonical) == canonical


@given(CANONICAL_URLS)
def test_a_canonical_url_looks_like_one(canonical: str) -> None:
    assert canonical.isascii()
    assert canonical.startswith("https://")
    assert len(canonical) <= MAX_URL_CHARS
    assert not set(canonical) & set('# \t\n\r<>"')
    assert host_of(canonical) == host_of(canonical).lower()
    assert canonical.startswith(f"https://{host_of(canonical)}")


@given(CANONICAL_URLS)
def test_a_link_to_a_canonical_url_is_that_url(canonical: str) -> None:
    assert resolve("https://base.example/a/b?c", canonical) == canonical


PAGES_WITHOUT_QUERY = URLISH.map(lambda path: f"https://example.com/{path.partition('#')[0].partition('?')[0]}")
"""Addresses that are too long or have no valid path are left out."""


@given(PAGES_WITHOUT_QUERY.filter(lambda url: canonical_or_none(f"{url}?a=1")), URLISH)
def test_tracking_parameters_change_no_canonical_url(page: str, value: str) -> None:
    value = value.replace("&", "").replace("#", "")
    tracked = canonical_or_none(f"{page}?utm_source={value}&a=1&fbclid={value}")
    assert tracked in (canonicalize(f"{page}?a=1"), None)


def respelled(canonical: str, choices: list[int]) -> str:
    """Return another spelling that RFC 3986 (section 6.2) calls equivalent: letter case, escapes, dots, the port."""
    host, path = host_of(canonical), canonical.removeprefix("https://").partition("/")[2]
    letters = [
        f"%{ord(letter):02x}"
        if letter.isalnum() and choice % 3 == 0 and path[max(at - 2, 0) : at].find("%") < 0
        else letter
        for at, (letter, choice) in enumerate(zip(path, choices * (len(path) // len(choices) + 1), strict=False))
    ]
    port = "" if canonical.removeprefix(f"https://{host}").startswith(":") else ":443"
    other = canonical.removeprefix(f"https://{host}").partition("/")[0]
    return f"HTTPS://{host.upper()}{port if choices[0] % 2 else ''}{other}/./x/..//".removesuffix("/") + "".join(
        letters
    )


@given(CANONICAL_OF_GRAMMAR, st.lists(st.integers(0, 99), min_size=1, max_size=20))
def test_equivalent_urls_have_one_canonical_url(canonical: str, choices: list[int]) -> None:
    assert canonical_or_none(respelled(canonical, choices)) in (canonical, None)


@pytest.mark.parametrize(
    ("host", "domain", "public"),
    [
        ("www.example.com", "example.com", True),
        ("a.b.example.co.uk", "example.co.uk", True),
        ("me.github.io", "me.github.io", True),
        ("co.uk", "co.uk", True),
        ("wiki.corp", "wiki.corp", False),
        ("a.b.corp", "b.corp", False),
        ("www.docs.example", "docs.example", True),
    ],
)
def test_the_registrable_domain(host: str, domain: str, public: bool) -> None:
    assert (registrable_domain(host), has_public_suffix(host)) == (domain, public)
