"""From a path to a file: what a local site answers, and what it never gives out."""

import json
import os
from pathlib import Path
from xml.etree import ElementTree

import pytest
from hypothesis import given
from hypothesis import strategies as st

from streams.local.web_files import REDIRECTS, answer, content_type, sitemap

CHANGED = 1_700_000_000  # 2023-11-14
NAMESPACE = "{http://www.sitemaps.org/schemas/sitemap/0.9}"


@pytest.fixture
def root(tmp_path: Path) -> Path:
    site = tmp_path / "web" / "a.test"
    for path, text in {
        "index.html": "<!doctype html>home",
        "docs/index.html": "<!doctype html>docs",
        "docs/naïve page.html": "<p>é</p>",
        "docs/LICENSE": "All rights",
        "empty/readme.txt": "no index here",
        ".git/config": "secret",
        REDIRECTS: json.dumps({"/old": "/docs/", "/away": "https://b.test/x", "/gone": None}),
    }.items():
        file = site / path
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text)
        os.utime(file, (CHANGED, CHANGED))
    (tmp_path / "web" / "b.test").mkdir()
    (tmp_path / "web" / "b.test" / "secret.html").write_text("another host's")
    (tmp_path / "secret.txt").write_text("outside")
    (site / "link.txt").symlink_to(tmp_path / "secret.txt")
    (site / "loop").symlink_to(site / "loop")
    return site


FOUND = [
    ("/", "<!doctype html>home", "text/html; charset=utf-8"),
    ("/index.html", "<!doctype html>home", "text/html; charset=utf-8"),
    ("/docs/", "<!doctype html>docs", "text/html; charset=utf-8"),
    ("/docs/na%C3%AFve%20page.html", "<p>é</p>", "text/html; charset=utf-8"),
    ("/docs/LICENSE", "All rights", "text/plain; charset=utf-8"),
]


@pytest.mark.parametrize(("path", "content", "kind"), FOUND)
def test_what_is_there_is_answered(root: Path, path: str, content: str, kind: str) -> None:
    found = answer(root, "a.test", path)
    assert (found.status, found.content.decode(), found.content_type) == (200, content, kind)
    assert found.modified == CHANGED


OTHERWISE = [
    ("/docs", 301, "/docs/", "a folder without its slash"),
    ("/old", 301, "/docs/", "a redirect within the site"),
    ("/away", 301, "https://b.test/x", "a redirect to another site"),
    ("/gone", 410, "", "gone for good"),
    ("/none.html", 404, "", "not there"),
    ("/none/", 404, "", "no such folder"),
    ("/index.html/", 404, "", "a file is no folder"),
    ("/empty/", 404, "", "a folder without an index"),
    (f"/{REDIRECTS}", 404, "", "the redirects themselves"),
    ("/.git/config", 404, "", "hidden files"),
    ("/../b.test/secret.html", 404, "", "up to another host"),
    ("/..%2Fb.test/secret.html", 404, "", "up, with an encoded slash"),
    ("/%2e%2e/b.test/secret.html", 404, "", "up, with encoded dots"),
    ("/docs/../../../secret.txt", 404, "", "up from below"),
    ("/docs/..\\..\\secret.txt", 404, "", "up, as Windows writes it"),
    ("/link.txt", 404, "", "a link that leads out"),
    ("/loop", 404, "", "a link to itself"),
    ("//etc/passwd", 404, "", "an absolute path"),
    ("/%00", 404, "", "a NUL"),
    ("/%ff", 404, "", "no UTF-8"),
    ("/" + "a" * 5_000, 404, "", "longer than any name"),
    ("docs/", 404, "", "no path at all"),
]


@pytest.mark.parametrize(("path", "status", "location", "why"), OTHERWISE, ids=[row[3] for row in OTHERWISE])
def test_the_rest_is_not(root: Path, path: str, status: int, location: str, why: str) -> None:
    found = answer(root, "a.test", path)
    assert (found.status, found.location, found.content) == (status, location, b""), why


_SEGMENTS = st.sampled_from(
    ["..", ".", "", "%2e%2e", "%2E.", "..%2f", "..%5c", "docs", "b.test", "secret.txt", "%252e"]
)


@given(segments=st.lists(_SEGMENTS | st.text(max_size=4), max_size=8))
def test_no_path_leads_out(tmp_path_factory: pytest.TempPathFactory, segments: list[str]) -> None:
    outside = tmp_path_factory.getbasetemp() / "outside"
    site = outside / "web" / "a.test"
    if not site.exists():
        (site / "docs").mkdir(parents=True)
        (outside / "web" / "b.test").mkdir()
        for place in (outside, outside / "web", outside / "web" / "b.test"):
            (place / "secret.txt").write_text("secret")
    found = answer(site, "a.test", "/" + "/".join(segments))
    assert b"secret" not in found.content


TYPES = [
    ("a.html", b"<meta charset='iso-8859-1'>\xe9", "text/html; charset=iso-8859-1", "what the page says"),
    (
        "a.html",
        b'<meta http-equiv="Content-Type" content="text/html; charset=EUC-JP">',
        "text/html; charset=euc-jp",
        "",
    ),
    ("a.html", "é".encode(), "text/html; charset=utf-8", "UTF-8 by its bytes"),
    ("a.html", b"caf\xe9", "text/html; charset=windows-1252", "as the early web wrote"),
    ("a.htm", b"", "text/html; charset=utf-8", "empty"),
    ("a.css", b"a{}", "text/css; charset=utf-8", ""),
    ("a.png", b"\x89PNG", "image/png", "no text"),
    ("a.pdf", b"%PDF", "application/pdf", ""),
    ("a.xml", b"<a/>", "application/xml; charset=utf-8", ""),
    ("a.json", b"{}", "application/json; charset=utf-8", ""),
    ("README", b"read me", "text/plain; charset=utf-8", "no ending"),
    ("page", b"\n<!DOCTYPE HTML><p>", "text/html; charset=utf-8", "no ending, but a page"),
    ("blob", b"\0\1", "application/octet-stream", "no ending, no text"),
]


@pytest.mark.parametrize(("name", "content", "expected", "why"), TYPES)
def test_content_types(name: str, content: bytes, expected: str, why: str) -> None:
    found = content_type(name, content)
    assert found.replace("text/xml", "application/xml") == expected, why


def test_every_site_has_a_robots_file_and_a_sitemap(root: Path) -> None:
    robots = answer(root, "a.test", "/robots.txt").content.decode()
    assert "Sitemap: https://a.test/sitemap.xml" in robots
    entries = ElementTree.fromstring(answer(root, "a.test", "/sitemap.xml").content)
    assert [(one.findtext(f"{NAMESPACE}loc"), one.findtext(f"{NAMESPACE}lastmod")) for one in entries] == [
        ("https://a.test/docs/", "2023-11-14"),
        ("https://a.test/docs/na%C3%AFve%20page.html", "2023-11-14"),
        ("https://a.test/", "2023-11-14"),
    ]


def test_their_own_robots_file_and_sitemap_win(root: Path) -> None:
    (root / "robots.txt").write_text("User-agent: *\nDisallow: /docs/\n")
    (root / "sitemap.xml").write_text("<urlset/>")
    assert b"Disallow" in answer(root, "a.test", "/robots.txt").content
    assert answer(root, "a.test", "/sitemap.xml").content == b"<urlset/>"


def test_names_are_escaped_in_the_sitemap(tmp_path: Path) -> None:
    (tmp_path / "a&b<c>.html").write_text("")
    (entry,) = ElementTree.fromstring(sitemap(tmp_path, "a.test"))
    assert entry.findtext(f"{NAMESPACE}loc") == "https://a.test/a%26b%3Cc%3E.html"


def test_a_changed_redirect_is_seen(root: Path) -> None:
    assert answer(root, "a.test", "/old").location == "/docs/"
    (root / REDIRECTS).write_text('{"/old": "/"}')
    os.utime(root / REDIRECTS, (CHANGED + 1, CHANGED + 1))
    assert answer(root, "a.test", "/old").location == "/"


def test_the_etag_is_the_contents(root: Path) -> None:
    first = answer(root, "a.test", "/").etag
    assert answer(root, "a.test", "/").etag == first
    (root / "index.html").write_text("changed")
    assert answer(root, "a.test", "/").etag != first
