"""EPUB: all authors of a book, and what is encrypted in it."""

import pytest

from streams.errors import Refused
from streams.pages.formats.epub import convert_epub
from streams.pages.formats.reading import pack_zip

CONTAINER = b'<container><rootfiles><rootfile full-path="p.opf"/></rootfiles></container>'


def book(facts: str, more: dict[str, bytes] | None = None) -> bytes:
    package = (
        '<package xmlns:dc="http://purl.org/dc/elements/1.1/" xmlns:opf="http://www.idpf.org/2007/opf">'
        f"<metadata>{facts}</metadata>"
        '<manifest><item id="c" href="c.xhtml" media-type="application/xhtml+xml"/></manifest>'
        '<spine><itemref idref="c"/></spine></package>'
    )
    chapter = b"<html><body><p>A chapter.</p></body></html>"
    return pack_zip(
        {"META-INF/container.xml": CONTAINER, "p.opf": package.encode(), "c.xhtml": chapter, **(more or {})}
    )


AUTHORS = [
    ("one", "<dc:creator>Ann</dc:creator>", "Ann"),
    ("two", "<dc:creator>Ann</dc:creator><dc:creator>Bob</dc:creator>", "Ann, Bob"),
    ("the same one twice", "<dc:creator>Ann</dc:creator><dc:creator>Ann</dc:creator>", "Ann"),
    ("an illustrator (EPUB 2)",
     '<dc:creator opf:role="aut">Ann</dc:creator><dc:creator opf:role="ill">Bob</dc:creator>', "Ann"),
    ("an illustrator (EPUB 3)", '<dc:creator>Ann</dc:creator><dc:creator id="b">Bob</dc:creator>'
     '<meta refines="#b" property="role">ill</meta>', "Ann"),
    ("only an editor", '<dc:creator opf:role="edt">Bob</dc:creator>', "Bob"),
    ("none", "", ""),
]  # fmt: skip


@pytest.mark.parametrize(("why", "facts", "author"), AUTHORS, ids=[why for why, *_ in AUTHORS])
def test_the_authors_of_a_book(why: str, facts: str, author: str) -> None:
    assert convert_epub(book(facts), "https://a.example/b.epub").author == author


def encryption(algorithm: str) -> dict[str, bytes]:
    method = f'<EncryptionMethod Algorithm="{algorithm}"/>'
    return {"META-INF/encryption.xml": f"<encryption><EncryptedData>{method}</EncryptedData></encryption>".encode()}


def test_a_book_with_hidden_fonts_is_read() -> None:
    body = book("", encryption("http://www.idpf.org/2008/embedding"))
    assert "A chapter." in convert_epub(body, "https://a.example/b.epub").html


def test_a_book_with_encrypted_chapters_is_refused() -> None:
    with pytest.raises(Refused, match="encrypted"):
        convert_epub(book("", encryption("http://www.w3.org/2001/04/xmlenc#aes256-cbc")), "https://a.example/b.epub")
