"""`riffle import`: what a source is, by its content, and which options it has."""

import bz2
import gzip
from pathlib import Path

import pytest
from backports import zstd
from typer.testing import CliRunner

from streams.cli import app
from streams.commands.pages.import_source import OPTIONS, TITLES, Kind, guess_kind
from tests.unit.crawl.test_revisits import FILES
from tests.wheel.test_commands import CDX, ENTITIES, WARC, WAT

ITEM = '{"type": "item", "id": "Q1", "labels": {}}'
NO_ITEM = '{"id": "acme:1", "facts": [{"label": "sold", "values": ["an item"]}], "type": "item of clothing"}'
PAGE = "<!DOCTYPE html><title>Logs</title>"


@pytest.mark.parametrize(
    ("name", "content", "kind"),
    [
        ("a.warc", WARC, "warc"),
        ("no-suffix", WARC, "warc"),
        ("a.warc", WARC + "WARC/1.0\r\nWARC-Type: metadata\r\nContent-Length: 4\r\n\r\na: b\r\n\r\n", "warc"),
        ("a.warc.wat", WAT, "wat"),
        ("a.warc", WAT, "wat"),  # the content counts, not the name
        ("cdx-00000", CDX, "commoncrawl"),
        ("warc.paths", "crawl-data/a/warc/b.warc.gz\n", "commoncrawl"),
        ("cc-index.paths", "cc-index/a/cdx-00000.gz\ncc-index/a/cluster.idx\n", "commoncrawl"),
        ("latest-all.json", f"[\n{ITEM},\n]", "wikidata"),
        ("lines.json", f"{ITEM}\n", "wikidata"),
        ("lines.json", ITEM.replace('"type": "item", "id": "Q1"', '"id": "Q1", "type": "item"'), "wikidata"),
        ("array.json", "[]", "wikidata"),
        ("wiki.xml", '<mediawiki xmlns="http://www.mediawiki.org/xml/">', "wikipedia"),
        ("wiki.xml", '\ufeff<?xml version="1.0"?>\n<mediawiki>', "wikipedia"),
        ("products.jsonl", ENTITIES, "entities"),
        ("products.jsonl", NO_ITEM, "entities"),
        ("old.warc", WARC.replace("WARC/1.0", "WARC/0.18").replace("WARC/1.1", "WARC/0.18"), "warc"),
        ("enwiki.ndjson", '{"name": "A", "in_language": {}, "is_part_of": {}, "article_body": {}}', "wikipedia-html"),
        ("page.html", PAGE, None),
        ("feed.xml", "<rss></rss>", None),
        ("list.txt", "https://a.test/\n", None),
        ("empty", "", None),
    ],
)
@pytest.mark.parametrize("pack", [bytes, gzip.compress, bz2.compress])
def test_a_file_is_what_its_content_says(name: str, content: str, kind: str | None, pack: type, tmp_path: Path) -> None:
    file = tmp_path / name
    file.write_bytes(pack(content.encode()))
    if kind != "wat" or pack is not bz2.compress:  # archives are never packed by bzip2
        assert guess_kind(file) == kind


@pytest.mark.parametrize(
    ("head", "kind"),
    [
        (b"ZIM\x04" + bytes(76), "zim"),
        (b"PK\x03\x04" + bytes(26), "wacz"),
        (zstd.compress(WARC.encode()), "warc"),
        (FILES["with a dictionary"], "warc"),
        (FILES["with a packed dictionary"], "warc"),
        (b"\x50\x2a\x4d\x18\x04\0\0\0abcd" + zstd.compress(WARC.encode()), "warc"),
        (b"\x5d\x2a\x4d\x18\xff\xff\xff\xffabcd", None),  # a dictionary of 4 GB
    ],
)
def test_packed_files_are_known_by_their_first_bytes(head: bytes, kind: str | None, tmp_path: Path) -> None:
    (tmp_path / "a").write_bytes(head)
    assert guess_kind(tmp_path / "a") == kind


def test_a_damaged_file_is_nothing(tmp_path: Path) -> None:
    for number, content in enumerate((b"\x1f\x8bnonsense", b"BZhnonsense", b"\x00" * 100, b"WARC", b"\xff\xfe")):
        file = tmp_path / str(number)
        file.write_bytes(content)
        assert guess_kind(file) is None


def test_a_folder_is_a_folder_of_pages(tmp_path: Path) -> None:
    assert guess_kind(tmp_path) is Kind.html


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The present folder, with some sources."""
    for name, content in (
        ("a.warc", WARC),
        ("b.warc", WARC),
        ("p.html", PAGE),
        ("empty", ""),
        ("t.txt", "words"),
        ("cdx", CDX),
        ("old.arc", "filedesc://old.arc 0.0.0.0 20260101000000 text/plain 76"),
        ("saved.mhtml", "From: <Saved by Blink>"),
    ):
        (tmp_path / name).write_text(content)
    (tmp_path / "site").mkdir()
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.mark.parametrize(
    ("typed", "message"),
    [
        ("", "Missing argument 'SOURCE"),
        ("missing", "'missing' does not exist"),
        ("empty", "It is empty"),
        (
            "t.txt",
            "t.txt is none of what can be imported, by its content. If you know better: --kind warc|wacz|wat|zim|",
        ),
        ("p.html", "It is a page: give its folder"),
        ("old.arc", "It is an ARC file: make a WARC file of it, with `warcio recompress"),
        ("saved.mhtml", "It is a page with its pictures (MHTML): save it as HTML"),
        ("a.warc --host a.test", "--host is for Common Crawl's index, and this is a WARC or WET file"),
        ("site --warcs site", "--warcs is for Common Crawl's index, and this is a folder of pages"),
        (
            "cdx --as https://a.test/",
            "--as is for a folder of pages or a WARC or WET file or a WACZ file or a ZIM file, and this is Common",
        ),
        ("a.warc --kind wikidata --no-wait", "--wait is for a folder of pages or"),
        ("site --kind warc", "site is a folder, and not a WARC or WET file"),
        ("a.warc --kind html", "a.warc is a file, and not a folder of pages"),
        ("a.warc b.warc", "a.warc is a WARC or WET file: only index files of Common Crawl are imported together"),
        ("cdx a.warc --host a.test", "a.warc is a WARC or WET file: only index files"),
        ("cdx", "say whose pages are imported, such as --host www.sqlite.org"),
        ("site --language de", "--language is for a dump of Wikidata or a dump of a Wikipedia"),
        ("site --as ftp://a.test/", "ftp: is not http or https"),
    ],
)
def test_a_mistake_is_answered_with_a_sentence(typed: str, message: str, folder: Path) -> None:
    shown = CliRunner().invoke(app, ["import", *typed.split()])
    assert (shown.exit_code, shown.stdout) == (2, "")
    assert message in " ".join(shown.stderr.split())


def test_each_kind_has_a_title_and_its_options() -> None:
    assert TITLES.keys() == OPTIONS.keys() == set(Kind)
