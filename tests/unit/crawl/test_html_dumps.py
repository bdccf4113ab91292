"""HTML dumps of Wikimedia's projects: articles as pages with their rights, and files that are damaged or hostile."""

import gzip
import io
import json
import tarfile
from typing import Any

import pytest

from streams.crawl.archives import wikipedia_html
from streams.crawl.archives.readers import ArchivedPage, Limits, Skipped
from streams.crawl.archives.wikipedia_html import is_html_dump, read_html_dump

LIMITS = Limits(max_body_bytes=100_000, latest=1_800_000_000_000_000, patterns=("-*/wiki/Talk:*",))
URL = "https://en.wikipedia.org/wiki/River"
HTML = "<!DOCTYPE html><html><head><title>River</title></head><body><p>A river flows.</p></body></html>"
ARTICLE: dict[str, Any] = {
    "name": "River",
    "identifier": 1,
    "date_modified": "2024-05-01T00:00:00Z",
    "version": {"identifier": 2, "editor": {"name": "Ada"}},
    "url": URL,
    "namespace": {"identifier": 0},
    "in_language": {"identifier": "en"},
    "is_part_of": {"identifier": "enwiki", "name": "Wikipedia", "url": "https://en.wikipedia.org"},
    "license": [
        {"identifier": "CC-BY-SA-4.0", "name": "CC BY-SA", "url": "https://creativecommons.org/licenses/by-sa/4.0/"}
    ],
    "article_body": {"html": HTML, "wikitext": "A river flows."},
}


def line(**changes: Any) -> bytes:
    return json.dumps({**ARTICLE, **changes}).encode() + b"\n"


def tar(*files: bytes, kind: bytes = tarfile.REGTYPE, form: int = tarfile.PAX_FORMAT) -> bytes:
    output = io.BytesIO()
    with tarfile.open(fileobj=output, mode="w", format=form) as made:
        for number, content in enumerate(files):
            info = tarfile.TarInfo(f"enwiki_namespace_0_{number}{'é' * 120}.ndjson")  # a name with a header of its own
            info.size, info.type = len(content), kind
            made.addfile(info, io.BytesIO(content))
    return output.getvalue()


def read(content: bytes, skip: int = 0) -> list[ArchivedPage | Skipped]:
    return list(read_html_dump(io.BytesIO(content), LIMITS, skip))


def outcomes(content: bytes) -> list[str]:
    return [each.url if isinstance(each, ArchivedPage) else each.reason for each in read(content)]


def test_an_article_is_a_page_with_its_address_its_date_and_its_rights() -> None:
    (page,) = read(gzip.compress(tar(line())))
    assert page == ArchivedPage(
        url=URL,
        generation=1_714_521_600_000_000,
        body=HTML.replace(
            "<head>",
            '<head><link rel="license" href="https://creativecommons.org/licenses/by-sa/4.0/">'
            '<meta name="dcterms.creator" content="Contributors to Wikipedia">',
        ).encode(),
        source="html",
        status=200,
        headers={"content-type": "text/html; charset=utf-8", "content-language": "en"},
    )


SECOND = line(url=f"{URL}2")
FORMS = {
    "a packed tar file": gzip.compress(tar(line() + SECOND)),
    "several files": tar(line(), SECOND),
    "GNU's form": tar(line(), SECOND, form=tarfile.GNU_FORMAT),
    "the old form": gzip.compress(tar(line(), SECOND)),
    "lines": line() + SECOND,
    "packed lines": gzip.compress(line() + SECOND),
    "lines without the last end": (line() + SECOND).rstrip(),
    "empty lines": b"\n\n" + line() + b" \r\n" + SECOND,
    "a tar file with the end of a file in a block": tar(line() + b" " * (512 - len(line()) % 512), SECOND),
}


@pytest.mark.parametrize("content", FORMS.values(), ids=FORMS.keys())
def test_each_form_of_a_dump_is_read(content: bytes) -> None:
    assert outcomes(content) == [URL, f"{URL}2"]
    assert is_html_dump(gzip.decompress(content) if content.startswith(b"\x1f\x8b") else content) or b"\n\n" in content


UNREADABLE = [
    (b"{]\n", "no readable article"),
    (b"[]\n", "no readable article"),
    (b"1\n", "no readable article"),
    (b"[" * 100_000 + b"\n", "no readable article"),
    (line(article_body=None), "no readable article"),
    (line(article_body={"wikitext": "text"}), "no readable article"),
    (line(article_body={"html": 7}), "no readable article"),
    (line(is_part_of=[]), URL),
    (line(is_part_of="x"), "no readable article"),
    (line(license=None, in_language=None, is_part_of=None), URL),
    (line(license=[{}]), URL),
    (line(url=7), "URL not allowed"),
    (line(url="file:///etc/passwd"), "URL not allowed"),
    (line(url="https://en.wikipedia.org/wiki/Talk:River"), "left out by the patterns"),
    (line(date_modified=None), "date missing or impossible"),
    (line(article_body={"html": "a" * 200_000}), "too large"),
    (line(article_body={"html": "\ud800"}), "no readable article"),  # half of a pair is no text
]


@pytest.mark.parametrize(("content", "outcome"), UNREADABLE)
def test_one_bad_line_ends_no_import(content: bytes, outcome: str) -> None:
    assert outcomes(content + SECOND) == [outcome, f"{URL}2"]


def test_a_line_without_end_is_not_held(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(wikipedia_html, "MAX_LINE_BYTES", 100_000)
    bomb = gzip.compress(tar(b"a" * 5_000_000 + b"\n" + line()))
    assert outcomes(bomb) == ["too large", URL]


@pytest.mark.parametrize("kind", [tarfile.DIRTYPE, tarfile.SYMTYPE, tarfile.XHDTYPE, b"L", b"Z"])
def test_other_members_of_a_tar_file_are_passed_over(kind: bytes) -> None:
    other = bytearray(tarfile.TarInfo("x").tobuf())
    other[156:157] = kind
    other[124:136] = b"%011o\0" % len(line())
    padded = line() + bytes(-len(line()) % 512)
    assert outcomes(bytes(other) + padded + tar(SECOND)) == [f"{URL}2"]


DAMAGED = [
    gzip.compress(tar(line() + SECOND))[:-40],
    gzip.compress(tar(line()))[:200] + b"x" * 100,
    tar(line())[:124] + b"99999999999\0" + tar(line())[136:],
]


@pytest.mark.parametrize("content", DAMAGED)
def test_a_damaged_file_is_read_up_to_the_damage(content: bytes) -> None:
    *_, last = outcomes(content)
    assert last == "the rest of a damaged file"


def test_a_false_size_takes_no_memory() -> None:
    head = bytearray(tar(line()))
    head[124:136] = b"\x80" + (1 << 80).to_bytes(11, "big")
    assert outcomes(bytes(head)) == []


@pytest.mark.parametrize("skip", [0, 1, 2, 3])
def test_a_stopped_import_goes_on_where_it_was(skip: int) -> None:
    content = line() + b"{]\n" + SECOND
    assert read(content, skip) == read(content)[skip:]
