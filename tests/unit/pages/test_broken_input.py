"""Broken pages: each is a document or a recorded refusal."""

from dataclasses import replace

import pytest

from streams.errors import Refused
from streams.pages.document.codec import decode_document, encode_document
from streams.pages.normalize import normalize
from streams.pages.sandbox.pool import LIMITS, ParsePool
from tests.sizes import FULL

URL = "https://site.example/"


@pytest.mark.parametrize(
    ("html", "text", "why"),
    [
        (b"", "", "nothing at all"),
        (b"\x00\x00<p>a\x00b</p>\x00", "ab", "NUL is dropped in text, as the HTML Standard says"),
        (b"<p>a&#xD800;b&#x110000;c&#0;", "a\ufffdb\ufffdc\ufffd", "references to what is no character"),
        (b"<p>a\xed\xa0\x80b", "a\u00ed \u20acb", "lone surrogates are not UTF-8, so the bytes are Latin letters"),
        (b"<p>one<p>two<div>three<span>four", "one\ntwo\nthreefour", "unclosed elements"),
        (b"<b><p>one</b>two</p></i></table>", "onetwo", "misnested elements"),
        (b"<p title='a>b' a=\"<p>\">text", "text", "signs in attributes"),
        (b"<p>a<!-- <p>b", "a", "a comment without end"),
        (b"<p>a<script>document.write('<p>b</p>')", "a", "a script without end"),
        (b"<noscript><iframe src=x /></noscript><p>a", "a", "an iframe without end in a noscript"),
        (b"<NoScript><p>b</p><STYLE>p {}</NoScript><p>a", "b\na", "a style without end there, in capitals"),
        (b"<noscript><iframe></iframe><p>b</noscript><p>a", "b\na", "an iframe with its end there"),
        (b"<noscript><iframe><style></iframe><p>b</noscript><p>a", "b\na", "a tag in a raw text"),
        (b"<noscript><iframe></noscripted><p>b</noscript><p>a", "a", "a tag that only begins like a noscript's"),
        (b"<script>a='<noscript>'</script><script>b='</noscript>c'</script><p>a", "a", "a noscript in scripts' texts"),
        (b"<noscript><iframe><p>a", "", "an iframe without end in a noscript without end"),
        (b"<plaintext><p>a", "<p>a", "plaintext"),
        (b"<p>a\x01\x02\x1fb\x7f", "a b", "control characters"),
        (b"<html><frameset><frame src=x></frameset></html>", "", "frames"),
        (b"<svg><p>a", "a", "HTML in SVG"),
        (b"\xff\xfe<\x00p\x00>\x00\xe9\x00", "\u00e9", "UTF-16 by its mark"),
        (b"\xef\xbb\xbf<p>\xc3\xa9", "\u00e9", "UTF-8 by its mark"),
        (b"<meta charset=iso-8859-1><p>\x93\xe9\x94", "\u201c\u00e9\u201d", "Latin-1 means windows-1252"),
        (b"<meta charset=iso-8859-1><p>\xc3\xa9", "\u00e9", "declared Latin-1, but valid UTF-8"),
        (b"<meta charset=utf-8><p>caf\xe9 noir", "caf\ufffd noir", "declared UTF-8, but not valid"),
        (b"<meta charset=shift_jis><p>\x93\xfa\x96\x7b", "\u65e5\u672c", "Shift JIS"),
        (b"<meta charset=base64><p>\xe9", "\u00e9", "a codec that is no encoding"),
        (b"<meta charset=x-unheard-of><p>\xe9", "\u00e9", "an unknown encoding"),
    ],
)
def test_broken_pages_are_read_as_browsers_do(html: bytes, text: str, why: str) -> None:
    assert normalize(html, url=URL).document.text == text, why


def test_the_header_wins_over_the_page() -> None:
    headers = {"content-type": "text/html; charset=koi8-r"}
    document = normalize(b"<meta charset=windows-1251><p>\xed\xc9\xd2", url=URL, headers=headers).document
    assert document.text == "\u041c\u0438\u0440"


@pytest.mark.parametrize("tag", ["div", "b", "blockquote", "ul", "table", "font", "a href=/", "section", "x-y"])
def test_deep_nesting_is_a_document_or_a_refusal(tag: str) -> None:
    page = f"<{tag}>".encode() * 2_000 + b"text"
    document = normalize(page, url=URL).document
    assert decode_document(encode_document(document)) == document


def test_a_hundred_thousand_levels_are_refused() -> None:
    with pytest.raises(Refused, match="nesting"):
        normalize(b"<div>" * 100_000, url=URL)


def test_large_pages_are_read_whole() -> None:
    rows = b"".join(b"<tr><td>%d</td><td>a cell with some text in it</td></tr>" % number for number in range(8_000))
    assert len(normalize(b"<table>" + rows + b"</table>", url=URL).document.blocks) == 16_000


async def test_a_page_over_the_limits_is_refused_and_the_next_page_is_read(monkeypatch: pytest.MonkeyPatch) -> None:
    part = 1 if FULL else 3  # by day a third of the memory, and of the page
    monkeypatch.setattr("streams.pages.sandbox.pool.LIMITS", replace(LIMITS, memory_bytes=LIMITS.memory_bytes // part))
    rules = set()
    async with ParsePool(1) as pool:
        for page in (b"<p>x</p>" * (1_500_000 // part), b"<div>" * 100_000):
            with pytest.raises(Refused) as refused:
                await pool.parse(page, url=URL, headers={})
            rules.add(refused.value.rule)
        outcome = await pool.parse(b"<p>after", url=URL, headers={})
    assert outcome.text_chars == 5
    assert rules <= {"time", "memory", "nesting", "parser"}
