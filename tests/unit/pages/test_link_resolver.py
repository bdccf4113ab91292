"""Links as written in a page, made absolute."""

import pytest
from ada_url import URL as URL_STANDARD
from hypothesis import given, settings
from hypothesis import strategies as st

from streams.pages.parse.link_resolver import ABSOLUTE, MAX_HREF_CHARS, OTHER, ROOTED, Resolver, form_of
from tests.sizes import examples

URL = "https://site.example/a/b"

FORMS = [
    ("a path from the root", "/a/b?c=d&e=%20#f", ROOTED),
    ("the root", "/", ROOTED),
    ("another host's path", "//b.example/", OTHER),
    ("a path with a segment to resolve", "/a/../b", OTHER),
    ("dots elsewhere are none", "/a.b/c..d", ROOTED),
    ("a dot behind the mark of a fragment means nothing", "/a#/.", ROOTED),
    ("a URL", "https://b.example/a?b", ABSOLUTE),
    ("a URL without a path, which gets its slash elsewhere", "http://b.example", ABSOLUTE),
    ("a host in capitals", "https://B.example/", OTHER),
    ("a port", "https://b.example:80/", OTHER),
    ("no host", "https:///a", OTHER),
    ("another scheme", "ftp://b.example/", OTHER),
    ("a scheme in capitals", "HTTP://b.example/", OTHER),
    ("a host that starts with a dot", "http://.b/", OTHER),
    ("nothing", "", OTHER),
    ("a fragment", "#a", OTHER),
    ("a relative path", "a/b", OTHER),
    ("letters beyond ASCII", "/é", OTHER),
    ("letters beyond ASCII in the fragment", "/a#é", ROOTED),
    ("spaces", "/a b", OTHER),
    ("line ends", "/a\n", OTHER),
    ("just short enough", "/" + "a" * (MAX_HREF_CHARS - 1), ROOTED),
    ("too long", "/" + "a" * MAX_HREF_CHARS, OTHER),
    ("lengths are in characters", "/a#" + "é" * (MAX_HREF_CHARS - 3), ROOTED),
]


@pytest.mark.parametrize(("why", "href", "form"), FORMS)
def test_forms_of_links(why: str, href: str, form: int) -> None:
    assert form_of(href) == form, why


@settings(max_examples=examples(500), deadline=None)
@given(
    st.sampled_from(["", "/", "//", "http://", "https://", "https://b.example", "https://b.example/"]),
    st.text("/.#?&%ab:0@é'\n \u2028", max_size=12),
)
def test_a_form_resolves_as_the_url_standard_does(start: str, rest: str) -> None:
    href = start + rest
    form = form_of(href)
    resolver = Resolver(URL)
    if form and (expected := resolver.resolve_form(href, OTHER)):
        assert URL_STANDARD(resolver.resolve_form(href, form)).href == expected


@pytest.mark.parametrize("href", ["/" + "a" * (MAX_HREF_CHARS - 1), "x" + "é" * (MAX_HREF_CHARS // 3)])
def test_a_too_long_absolute_url_is_dropped(href: str) -> None:
    """Then a document that was written out is read as it was."""
    assert Resolver(URL).absolute(href) == ""
    assert Resolver(URL).absolute(href[:-100] if href[0] == "/" else href[:500])


def test_the_host_of_the_page_is_in_lower_case() -> None:
    """As the URL Standard spells it: a link to the page's host is one however it is written."""
    resolver = Resolver("https://Forums.Site.example/A")
    assert {resolver.absolute(href) for href in ("/B", "https://FORUMS.site.example/B", "B")} == {
        "https://forums.site.example/B"
    }
