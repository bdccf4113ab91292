"""Exact matches: phrases, identifiers, sites, extensions, dates."""

from typing import Any
from uuid import UUID

import pytest

from streams.search.query_language.matching import fold, has_phrase, identifiers, of_site
from streams.search.query_language.operators import meets
from streams.search.query_language.query import parse_query
from streams.stores.protocols import Hit, PageHits
from streams.stores.statement_payload import StatementPayload


def page(*texts: str, **payload: Any) -> PageHits:
    known = {"page_id": str(UUID(int=1)), "url": "https://docs.example.org/src/wal.html", "title": "The log", **payload}
    payloads = [StatementPayload.of_row({**known, "text": text}) for text in texts]
    hits = tuple(Hit(UUID(int=number), 1.0, payload) for number, payload in enumerate(payloads))
    return PageHits(UUID(int=1), hits, 1.0)


PHRASES = [
    ("The Write-Ahead\n log.", "write-ahead log", True),
    ("overwrite-ahead log", "write-ahead log", False),
    ("write-ahead logs", "write-ahead log", False),
    ("logs of a log", "log", True),
    ("error 0x80070057 (E_INVALIDARG)", "0x80070057", True),
    ("don’t panic", "don't panic", True),
    ("STRASSE", "straße", True),
    # scripts without spaces between words
    ("关系数据库管理系统使用日志。", "数据库", True),
    ("データベースのログを保存する。", "ログ", True),
    ("ระบบฐานข้อมูลใช้บันทึก", "ฐานข้อมูล", True),
    ("데이터베이스를 설치한다", "데이터베이스", True),  # with the ending of its case
    ("iphone手机壳", "手机", True),
    ("iphones手机壳", "iphone", False),
    ("दिलों की बात", "दिल", False),  # a vowel sign continues the word
    ("दिल की बात", "दिल", True),
    ("⚡️Fast and simple", "fast", True),  # with a variation selector
    # names, versions and numbers are whole
    ("The code SQLITE_BUSY_SNAPSHOT says so", "SQLITE_BUSY", False),
    ("MY_SQLITE_BUSY", "SQLITE_BUSY", False),
    ("(SQLITE_BUSY)", "SQLITE_BUSY", True),
    ("Release 3.11.4.1 is out", "3.11.4", False),
    ("release 2.3.11.4", "3.11.4", False),
    ("Release 3.11.4. It is out", "3.11.4", True),
    ("1,000,000 rows", "000 rows", False),
    ("in 2024, 2025", "2024", True),
]


@pytest.mark.parametrize(("text", "phrase", "expected"), PHRASES)
def test_a_phrase_is_found_at_the_borders_of_words(text: str, phrase: str, expected: bool) -> None:
    assert has_phrase(fold(text), phrase) is expected


IDENTIFIERS = [
    ("what is SQLITE_BUSY?", ("SQLITE_BUSY",)),
    ("python 3.11.4 changes", ("3.11.4",)),
    ("std::vector and v1.2.3-rc1", ("std::vector", "v1.2.3-rc1")),
    ("error 0x80070057", ("0x80070057",)),
    ("CVE-2024-3094 xz", ("CVE-2024-3094",)),
    ("getElementById() in js", ("getElementById",)),
    ("rust E0277", ("E0277",)),
    ("the 1990s, the 2nd mp3 of 2024", ()),
    ("iPhone or YouTube", ()),
    ("3.5 percent", ()),
]


@pytest.mark.parametrize(("query", "found"), IDENTIFIERS)
def test_identifiers(query: str, found: tuple[str, ...]) -> None:
    assert identifiers(query) == found


CONDITIONS = [
    ('"ahead log"', True),
    ('"log ahead"', False),
    ("x -checkpoint", False),
    ("x -checkpoints", True),
    ("x site:example.org", True),
    ("x site:docs.example.org/src", True),
    ("x site:docs.example.org/sr", False),
    ("x site:ample.org", False),
    ("x site:docs.example.org/src?id=1#part", True),
    ("x site:https://docs.example.org:443/src", True),
    ("x -site:example.org", False),
    ("x -site:docs.example.org/other", True),
    ("x filetype:html", True),
    ("x filetype:pdf", False),
    ("x after:2024", True),
    ("x after:2024-05-02", False),
    ("x before:2024-05-02", True),
    ("x before:2024-05", False),
    ("x intitle:log", True),
    ("x intitle:wal", False),
    ("x inurl:WAL", True),
    ("x inurl:log", False),
]


@pytest.mark.parametrize(("query", "expected"), CONDITIONS)
def test_a_page_meets_the_conditions_of_a_query(query: str, expected: bool) -> None:
    found = page("A write-ahead log.", "Another checkpoint.", published="2024-05-01")
    assert meets(found, parse_query(query).conditions) is expected


def test_a_page_without_a_date_meets_no_condition_on_it() -> None:
    assert not meets(page("A log."), parse_query("x after:1990").conditions)


def test_a_site_is_a_host_and_not_a_part_of_its_name() -> None:
    assert of_site("https://example.org/", "example.org")
    assert not of_site("https://notexample.org/", "example.org")
    assert not of_site("https://example.org.evil.example/", "example.org")


def test_a_path_is_the_same_with_and_without_percent_encoding() -> None:
    assert of_site("https://de.example.org/wiki/M%C3%BCnchen", "example.org/wiki/München")
    assert of_site("https://de.example.org/wiki/M%C3%BCnchen/Bahnhof", "example.org/wiki/M%C3%BCnchen")
