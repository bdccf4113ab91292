"""Files of a folder: which of them are pages, and the addresses at which people read them."""

import gzip
from pathlib import Path

import pytest

from schemas import Event, PageFetched
from streams.crawl.archives.file_importer import import_html
from streams.crawl.archives.folder_pages import HEAD_BYTES, named_in, path_of, why_no_page
from streams.crawl.archives.readers import ArchivedPage, Limits, Placing, page_of_file
from streams.crawl.archives.sending import ImportReport, Sender
from streams.errors import UsageError
from streams.stores.memory import MemoryBlobs

NOW = 1_800_000_000_000_000
HTML = b"<!doctype html><p>a page of text"
EMPTY, BINARY, DATA, TEXT = "empty files", "images, archives", "style sheets", "text without a known suffix"

KINDS = [
    # name, first bytes, why it is no page ("" for a page)
    *((f"a.{suffix}", HTML, "") for suffix in ("php", "aspx", "shtml", "jsp", "cgi", "html")),  # what mirrors hold:
    # https://github.com/01-edu/public/issues/2399
    ("article", HTML, ""),  # no suffix
    ("page.php?id=3", HTML, ""),
    ("File:River.jpg", HTML, ""),  # MediaWiki's page of a picture
    ("v1.2", b"  \n\t<HTML lang=en>", ""),
    ("a", b"\xef\xbb\xbf<!-- Mirrored from a.example --><html>", ""),
    ("a", "\ufeff<!DOCTYPE html>".encode("utf-16-le"), ""),
    ("a", b"<?xml version='1.0'?>\n<!DOCTYPE html PUBLIC '-//W3C//DTD XHTML 1.0//EN'><html>", ""),
    ("a", b"<?xml version='1.0'?>\n<html xmlns='http://www.w3.org/1999/xhtml'>", ""),
    ("a", b"<table border=0>", ""),
    ("report", b"%PDF-1.7\n%\xe2\xe3", ""),
    ("book", b"PK\x03\x04" + bytes(26) + b"mimetypeapplication/epub+zip", ""),
    ("notes.txt", b"Some text.", ""),
    ("a.html", b"Text without any element.", ""),
    ("a.html", "\ufefftext".encode("utf-16-le"), ""),
    ("robots.txt", b"User-agent: *", "beside the pages"),
    ("a.html.orig", HTML, "beside the pages"),  # wget -K
    ("a.html", b"", EMPTY),
    ("a", b" \r\n", EMPTY),
    ("a.html", b"\x89PNG\r\n\x1a\n\0\0\0", BINARY),  # an image under the name of a page
    ("a.html", gzip.compress(HTML, mtime=0), BINARY),
    ("a.html", b"%PDF-1.7\n%\xe2\xe3", ""),  # read as what it is
    ("a.pdf", HTML, "not what their names say"),  # a page of an error in place of the file
    ("a.docx", b"PK\x03\x04" + bytes(26), ""),
    ("logo.png", b"\x89PNG\r\n\x1a\n\0\0\0", BINARY),
    ("site.tar.gz", gzip.compress(HTML, mtime=0), BINARY),
    ("data", bytes(range(256)), BINARY),
    ("style.css", b"p { color: red }", DATA),
    ("x.js", b"<!-- hides scripts from old browsers", DATA),
    ("feed.xml", b"<?xml version='1.0'?><rss>", DATA),
    ("sitemap", b"<?xml version='1.0'?><urlset>", DATA),
    ("vector.cpp", b"#include <vector>\nstd::vector<int> a;", TEXT),
    ("Makefile", b"all:\n\techo", TEXT),
    ("LICENSE", b"Apache License", TEXT),
    ("a", b"x <b>bold</b>", TEXT),
    ("a", b"< 3", TEXT),
]


@pytest.mark.parametrize(("name", "head", "why"), KINDS)
def test_the_first_bytes_say_whether_a_file_is_a_page(name: str, head: bytes, why: str) -> None:
    found = why_no_page(name, head)
    assert (why in found) if why else (found == "")


PATHS = [
    (("docs", "guide.html"), "docs/guide.html"),
    (("index.html",), ""),
    (("de", "index.html"), "de/"),
    (("Index.html",), "Index.html"),  # an index of terms
    (("page.php?id=3",), "page.php?id=3"),  # wget
    (("page.php?id=3.html",), "page.php?id=3"),  # wget -E
    (("page.php@id=3.html",), "page.php?id=3"),  # wget --restrict-file-names=windows
    (("page.php%3Fid=3.html",), "page.php?id=3"),
    (("index.html?C=N;O=D",), "?C=N;O=D"),
    (("a", "index.html@page=2.html"), "a/?page=2"),
    (("list?tag[]=a&tag[]=b",), "list?tag[]=a&tag[]=b"),
    (("search?q=été",), "search?q=%C3%A9t%C3%A9"),
    (("search?q=a b&next=%2Fc",), "search?q=a%20b&next=%2Fc"),  # wget quotes the slash, and unquotes the rest
    (("page.php.html",), "page.php"),  # wget -E
    (("Default.aspx.html",), "Default.aspx"),
    (("x.shtml.html",), "x.shtml"),
    (("page.php.htm",), "page.php.htm"),  # not a suffix that wget adds
    (("v1.2.html",), "v1.2.html"),
    (("what?.html",), "what%3F.html"),  # a title
    (("Who are you?",), "Who%20are%20you%3F"),
    (("user@example.org.html",), "user%40example.org.html"),
    (("100%.html",), "100%25.html"),
    (("File%3ARiver.jpg",), "File%3ARiver.jpg"),  # wget --restrict-file-names=windows
    (("100%20.html",), "100%2520.html"),
    (("caf\udce9.php",), "caf%E9.php"),
]


@pytest.mark.parametrize(("parts", "path"), PATHS)
def test_the_path_that_a_file_was_copied_from(parts: tuple[str, ...], path: str) -> None:
    assert path_of(parts) == path


FILE = "https://www.a.example/x4f2.html"
"""The URL that the name of the file gives."""
NAMED = [
    # what is in the page, the URL of its file, its address
    (
        "<html>\n<!-- Mirrored from www.a.example/p.php?id=3 by HTTrack Website Copier/3.x [XR&CO'2014], Sat -->",
        FILE,
        "https://www.a.example/p.php?id=3",
    ),
    ("<!-- saved from url=(0031)http://www.a.example/p?id=3#top -->", FILE, "https://www.a.example/p?id=3"),
    ("<!--\n Page saved with SingleFile \n url: https://www.a.example/p \n -->", FILE, "https://www.a.example/p"),
    ("<!-- Saved from https://www.a.example/p at 2024-05-01 using monolith -->", FILE, "https://www.a.example/p"),
    ("<!-- Mirrored from WWW.A.example/p -->", FILE, "https://www.a.example/p"),
    # Anybody can write a comment: it counts only on its own server.
    ("<!-- Mirrored from b.example/p -->", FILE, FILE),
    ("<!-- Mirrored from www.a.example.b.example/p -->", FILE, FILE),
    ("<!-- Mirrored from www.a.example@b.example/p -->", FILE, FILE),
    ("<p>Mirrored from www.a.example/p", FILE, FILE),  # text
    ("<!-- Mirrored from  -->", FILE, FILE),
    ("<!--" + " " * HEAD_BYTES, FILE, FILE),
    # `wget -E` has added `.html`, if the page says so.
    (
        "<link rel=canonical href=https://www.a.example/b/c>",
        "https://www.a.example/b/c.html",
        "https://www.a.example/b/c",
    ),
    (
        "<link href='https://www.a.example/c' rel='canonical'>",
        "https://www.a.example/c.html",
        "https://www.a.example/c",
    ),
    (
        "<link href='https://www.a.example/c/' rel='canonical'/>",
        "https://www.a.example/c/.html",
        "https://www.a.example/c/",
    ),
    ("<link><link rel=canonical><link href=https://www.a.example/x4f2>", FILE, FILE),
    ("<link rel=canonical href=https://www.a.example/d>", FILE, FILE),  # another page
    ("<link rel=canonical href=https://b.example/x4f2>", FILE, FILE),
    ("<link rel=stylesheet href=https://www.a.example/x4f2>", FILE, FILE),
]


@pytest.mark.parametrize(("content", "url", "address"), NAMED)
def test_a_page_may_name_its_own_address(content: str, url: str, address: str) -> None:
    assert named_in(content.encode(), url) == address


@pytest.mark.parametrize(
    ("address", "url"),
    [
        ("", "https://www.a.example/p.php"),
        ("https://www.a.example/", "https://www.a.example/p.php"),
        ("https://docs.example/v2/", "https://docs.example/v2/www.a.example/x4f2.html"),
    ],
)
def test_a_comment_counts_below_the_address_of_the_operator(address: str, url: str) -> None:
    body = b"<!-- Mirrored from www.a.example/p.php by HTTrack Website Copier/3.x --><p>Text"
    page = page_of_file(("www.a.example", "x4f2.html"), NOW, body, Limits(1_000, NOW, place=Placing(address)))
    assert isinstance(page, ArchivedPage)
    assert page.url == url


async def import_folder(folder: Path, address: str = "") -> tuple[list[str], ImportReport]:
    sent: list[str] = []

    async def emit(event: Event, cause: str) -> None:
        assert isinstance(event, PageFetched)
        sent.append(event.url)

    limits = Limits(1_000, NOW, place=Placing(address))
    report = await import_html(folder, Sender(MemoryBlobs(), emit, limits=limits))
    return sent, report


def write(folder: Path, **files: bytes) -> Path:
    for name, content in files.items():
        file = folder / "a.example" / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_bytes(content)
    return folder


async def test_files_that_are_no_pages_are_counted_by_reason(tmp_path: Path) -> None:
    files = {"index.html": HTML, "a.php?id=3": HTML, "logo.png": b"\x89PNG\0", "b.gif": b"GIF89a\0", "x.css": b"p {}"}
    sent, report = await import_folder(write(tmp_path, **files))
    assert sent == ["https://a.example/a.php?id=3", "https://a.example/"]
    assert report.skipped == {
        "images, archives and other files without text are left out": 2,
        "style sheets, scripts and data are left out": 1,
    }
    assert report.examples["style sheets, scripts and data are left out"] == "a.example/x.css"
    assert (report.done, report.total) == (5, 5)


async def test_a_folder_without_pages_says_what_it_holds(tmp_path: Path) -> None:
    with pytest.raises(
        UsageError,
        match=r"contains no page: 0 files can be read\..*images, archives .* are left out: a\.example/logo\.png",
    ):
        await import_folder(write(tmp_path, **{"logo.png": b"\x89PNG\0"}))


async def test_a_long_file_is_read_up_to_the_limit(tmp_path: Path) -> None:
    sent, report = await import_folder(write(tmp_path, a=HTML + b" " * 970, b=HTML + b" " * HEAD_BYTES, c=HTML))
    assert (len(sent), report.skipped) == (1, {"too large": 2})
