"""Media types: the header by the Fetch Standard, and the first bytes by the MIME Sniffing Standard."""

import gzip

import pytest
from hypothesis import given
from hypothesis import strategies as st

from streams.charset import decode
from streams.crawl.file_kinds import Kind, kind_of
from streams.media_types import MediaType, media_type, sniff
from streams.pages.formats.reading import pack_zip

HTML = MediaType("text/html")
HEADERS = [
    # (values of Content-Type, joined; media type; why)
    ("text/html", HTML, "the usual form"),
    ("TEXT/HTML;Charset=UTF-8", MediaType("text/html", "utf-8"), "no case"),
    (" text/html ; charset=utf-8 ", MediaType("text/html", "utf-8"), "spaces"),
    ('text/html; charset="utf-8"', MediaType("text/html", "utf-8"), "quotes"),
    ('text/html; x="a, b; charset=x"; charset=y', MediaType("text/html", "y"), "a parameter in quotes"),
    ("text/html;", HTML, "an empty parameter"),
    ("text/html; charset=", HTML, "an empty character set"),
    ("text/html, text/html; charset=gbk", MediaType("text/html", "gbk"), "the last value counts"),
    ("text/html; charset=gbk, text/html", MediaType("text/html", "gbk"), "and keeps the character set of its type"),
    ("text/html; charset=gbk, text/plain", MediaType("text/plain"), "but not of another type"),
    ("text/html;charset=gbk, text/plain, text/html", HTML, "nor over another type"),
    ("text/plain, text/html", HTML, "another type"),
    ("text/html, */*", HTML, "any type is no type"),
    ("text/html, ", HTML, "an empty value"),
    ("text/html, cannot-parse", HTML, "the last valid value"),
    ("text/html, text/html:charset=utf-8", HTML, "the same"),
    ("text/html:charset=UTF-8", MediaType(), "a colon for the semicolon"),
    ("charset=utf-8", MediaType(), "no type"),
    ("html", MediaType(), "half a type"),
    ("text/", MediaType(), "half a type"),
    ("/html", MediaType(), "half a type"),
    ("text/html charset=utf-8", MediaType(), "no semicolon"),
    ("text /html", MediaType(), "a space within"),
    ("*/*", MediaType(), "any type"),
    ("", MediaType(), "no header"),
    ("unknown/unknown", MediaType("unknown/unknown"), "a valid type, which says nothing"),
]  # fmt: skip


@pytest.mark.parametrize(("value", "found", "why"), HEADERS)
def test_the_media_type_of_a_header(value: str, found: MediaType, why: str) -> None:
    assert media_type(value) == found, why


@given(st.text(st.sampled_from('text/html; charset="=\\,*'), max_size=60))
def test_any_header_has_at_most_one_type(value: str) -> None:
    found = media_type(value)
    assert found.essence.count("/") == (1 if found.essence else 0)
    assert media_type(f"{value}, text/css").essence == "text/css" or '"' in value


EPUB = "application/epub+zip"
ODT = "application/vnd.oasis.opendocument.text"
BYTES: list[tuple[bytes, str]] = [
    (b"<!DOCTYPE html><p>Hi", "text/html"),
    (b"\xef\xbb\xbf\r\n <!doctype HTML>", "text/html"),
    (b"<p>Hi", "text/html"),
    (b"Hello, <b>you</b>", "text/html"),
    (b"<!-- made by x --><section>", "text/html"),
    ("<!doctype html><p>Hi".encode("utf-16"), "text/html"),
    (b'<?xml version="1.0"?><!DOCTYPE html [<!ENTITY a "b">]><html xmlns="x">', "application/xhtml+xml"),
    (b'<?xml version="1.0"?><rss version="2.0">', "application/rss+xml"),
    (b'<feed xmlns="x">', "application/atom+xml"),
    (b"<urlset>", "application/xml"),
    (b'<?xml version="1.0"?><!-- x --><svg>', "image/svg+xml"),
    (b'<?xml version="1.0"?><invoice/>', "application/xml"),
    (b"just words, a < b", "text/plain"),
    (b"", "text/plain"),
    (b"\x1b$B words of ISO-2022-JP", "text/plain"),
    (b"\0\1\2 any bytes", "application/octet-stream"),
    (b"GIF89a\1\0\1\0", "image/gif"),
    (b"\x89PNG\r\n\x1a\n\0", "image/png"),
    (b"\xff\xd8\xff\xe0", "image/jpeg"),
    (b"RIFF\1\0\0\0WEBPVP8 ", "image/webp"),
    (b"RIFF is a file format", "text/plain"),
    (b"ID3 is the mark of a sound", "text/plain"),
    (b"ID3\3\0\0", "audio/mpeg"),
    (b"\0\0\0\x20ftypisom", "video/mp4"),
    (b"wOF2\0\1", "font/woff2"),
    (gzip.compress(b"<p>Hi", mtime=0), "application/gzip"),
    (b"7z\xbc\xaf\x27\x1c", "application/x-7z-compressed"),
    (b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1\0", "application/x-ole-storage"),
    (pack_zip({"word/document.xml": b"<w:document/>"}), "application/zip"),
    (b"PK\3\4" + bytes(26) + b"mimetype" + EPUB.encode() + b"PK\3\4", EPUB),
    (b"%PDF-1.7", "application/pdf"),
    (b"{\\rtf1\\ansi", "application/rtf"),
]


@pytest.mark.parametrize(("body", "found"), BYTES)
def test_the_media_type_of_the_first_bytes(body: bytes, found: str) -> None:
    assert sniff(body) == found


@given(st.binary(max_size=200))
def test_any_bytes_have_a_type(body: bytes) -> None:
    assert "/" in sniff(body)


PNG, PAGE = b"\x89PNG\r\n\x1a\n\0", b"<!DOCTYPE html><p>Hi"
DOCX = pack_zip({"word/document.xml": b"<w:document/>"})
EXE = b"MZ\x90\0\3\0\0\0\4\0\0\0\xff\xff\0\0\xb8\0" + bytes(40) + b"!This program cannot be run in DOS mode.\r\r\n$"
OLE = b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1\0"
FILES: list[tuple[str, bytes, str, Kind | None]] = [
    # (Content-Type, body, end of the URL, kind of the file)
    ("text/html", PAGE, "", "html"),
    ("text/html", b"\0 a page with NULs", "", "html"),
    # A program, a class of Java, a database and noise are no page. A page with stray controls is one.
    ("text/html", EXE, "", None),
    ("text/html; charset=utf-8", EXE, "setup.exe", None),
    ("application/xhtml+xml", EXE, "", None),
    ("text/html", b"\xca\xfe\xba\xbe\0\0\0\x34\0\x1d\n\0\6\0", "", None),
    ("text/html", bytes(range(256)), "", None),
    ("text/html", b"\xef\xbb\xbf\n<p>A line\x0b and a \x08bell", "", "html"),
    ("text/html", b"Warning: line \x01\n<html><p>Hi", "", "html"),
    ("text/html; charset=utf-16le", "\x01<p>Hi".encode("utf-16-le"), "", "html"),
    ("text/html; charset=iso-2022-jp", "日本".encode("iso-2022-jp"), "", "html"),
    ("text/html", "words é".encode("latin-1"), "", "html"),
    ("", PAGE, "", "html"),
    ("", b"words", "", "text"),
    ("*/*", PAGE, "", "html"),
    ("unknown/unknown", PAGE, "", "html"),
    ("application/unknown", PAGE, "", "html"),
    ("text/html:charset=UTF-8", PAGE, "", "html"),
    ("", PNG, "", None),
    ("", b"<svg>", "", None),
    ("", b"<rss>", "", None),
    ("text/html", PNG, "", None),
    ("text/html", DOCX, "", None),
    ("text/html", OLE, "", None),
    ("text/html", OLE, "x.doc", "docx"),
    ("application/msword", OLE, "", "docx"),
    ("image/png", OLE, "x.doc", None),
    ("text/html", gzip.compress(PAGE, mtime=0), "", None),
    ("application/xhtml+xml", PNG, "", None),
    ("text/plain", PNG, "", None),
    ("text/plain", b"\0\1\2 any bytes", "", None),
    ("text/plain", "words".encode("utf-16"), "", "text"),
    ("text/plain; charset=utf-16le", "words".encode("utf-16-le"), "", "text"),
    ("text/plain", PAGE, "", "text"),
    ("text/plain", b"# Hi", "x.md", "markdown"),
    ("text/xml", b'<?xml version="1.0"?><html xmlns="http://www.w3.org/1999/xhtml">', "", "html"),
    ("application/xml", b"<html>", "", "html"),
    ("application/xml", b"<invoice/>", "", None),
    ("text/xml", b"<rss>", "", None),
    ("image/png", PAGE, "", None),
    ("text/html", b"PK\3\4" + bytes(26) + b"mimetype" + ODT.encode(), "", "opendocument"),
    ("application/zip", DOCX, "x.epub", "epub"),
    ("application/octet-stream", DOCX, "x.docx", "docx"),
    ("text/plain", DOCX, "x.docx", "docx"),
    ("text/html", DOCX, "x.docx", "docx"),
    ("application/octet-stream", b"%PDF-1.4", "x", "pdf"),
    ("text/html", pack_zip({"a": b"%PDF-"}), "", None),
]


@pytest.mark.parametrize(("content_type", "body", "name", "kind"), FILES)
def test_the_kind_of_a_file(content_type: str, body: bytes, name: str, kind: Kind | None) -> None:
    assert kind_of(body, content_type, f"https://a.example/{name}") == kind


@pytest.mark.parametrize(
    ("content_type", "body", "text"),
    [
        ("text/html; charset=koi8-r, text/html", "кофе".encode("koi8-r"), "кофе"),
        ("text/html; charset=utf-8, text/html; charset=koi8-r", "кофе".encode("koi8-r"), "кофе"),
        ("text/html:charset=koi8-r", "кофе".encode("koi8-r"), "кофе"),
    ],
)
def test_the_character_set_is_that_of_the_media_type(content_type: str, body: bytes, text: str) -> None:
    assert decode(body, content_type) == text
