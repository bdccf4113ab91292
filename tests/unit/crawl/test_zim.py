"""ZIM files: the pages of files that libzim's writer made, their addresses and rights, and files with false numbers.

`tests/data/zim` has files of libzim 3.13.1: `wiki` is made as mwoffliner makes it, `crawled` as warc2zim does, and
`site` as other programs do.
"""

import gzip
import lzma
import struct
from io import BytesIO
from pathlib import Path
from random import Random

import pytest
from backports import zstd
from hypothesis import given
from hypothesis import strategies as st

from streams.crawl.archives import zim, zim_pages
from streams.crawl.archives.readers import ArchivedPage, Limits, Placing, Skipped
from streams.crawl.archives.rights import licence_address, with_rights
from streams.crawl.archives.zim import Damaged, NotZim, ZimFile
from streams.crawl.archives.zim_pages import NO_ADDRESS, read_zim

DATA = Path(__file__).parents[2] / "data" / "zim"
LIMITS = Limits(max_body_bytes=100_000, latest=1_800_000_000_000_000)
MAY_2024 = 1_714_607_999_000_000
"""The end of the first of May: the file names the day."""


def content_of(name: str) -> bytes:
    return gzip.decompress((DATA / f"{name}.zim.gz").read_bytes())


def read(content: bytes, address: str = "", skip: int = 0) -> list[ArchivedPage | Skipped]:
    limits = Limits(LIMITS.max_body_bytes, LIMITS.latest, place=Placing(address))
    return list(read_zim(BytesIO(content), limits, skip))


def pages(found: list[ArchivedPage | Skipped]) -> list[ArchivedPage]:
    return [each for each in found if isinstance(each, ArchivedPage)]


WIKI = "https://en.wikipedia.org/wiki"
ADDRESSES = [
    ("wiki", "", [f"{WIKI}/AC/DC", f"{WIKI}/River", f"{WIKI}/Who_am_I%3F", f"{WIKI}/%C3%89t%C3%A9"]),
    (
        "crawled",
        "",
        ["https://docs.example/guide/", "https://docs.example/list?page=2", "https://other.example/x"],
    ),
    # a canonical link to the site itself counts, and one to another site doesn't
    ("site", "", ["https://docs.example/a", "https://docs.example/v1/b.html", "https://docs.example/v1/c.html"]),
    ("site", "https://here.example/", [f"https://here.example/{name}.html" for name in "abc"]),
]


@pytest.mark.parametrize(("name", "address", "urls"), ADDRESSES)
def test_pages_have_their_addresses_on_the_web(name: str, address: str, urls: list[str]) -> None:
    assert [page.url for page in pages(read(content_of(name), address))] == urls


def test_what_is_no_page_is_counted_by_reason() -> None:
    found = [each for each in read(content_of("wiki")) if isinstance(each, Skipped)]
    assert {each.reason: each.detail for each in found if "data about the file" not in each.reason} == {
        "no page, but a file of another type": "I/a.png: image/png",
        "another name of a page (redirect)": "Stream",
    }


def test_a_page_is_dated_by_its_file_and_has_its_licence_and_author() -> None:
    page = pages(read(content_of("wiki")))[1]
    assert (page.generation, page.status, page.headers) == (MAY_2024, 200, {"content-type": "text/html; charset=utf-8"})
    assert page.body.startswith(
        b'<!DOCTYPE html><html lang="en"><head><link rel="license" href="https://creativecommons.org/licenses/by-sa/4.0/">'
        b'<meta name="dcterms.creator" content="Wikipedia"><meta charset="utf-8"><title>River</title>'
    )


@pytest.mark.parametrize("skip", [1, 16, 18, 20, 21, 99])
def test_a_stopped_import_goes_on_where_it_was(skip: int) -> None:
    content = content_of("wiki")
    assert read(content, skip=skip) == read(content)[skip:]


def test_a_large_file_is_read_in_several_runs(monkeypatch: pytest.MonkeyPatch) -> None:
    whole = pages(read(content_of("wiki")))
    monkeypatch.setattr(zim_pages, "MAX_PLACES", 1)
    in_runs = pages(read(content_of("wiki")))
    assert sorted(page.url for page in in_runs) == sorted(page.url for page in whole)


# A file that is written here, so that each number in it can be false.
PAGE = b"<p>A page.</p>"
CHECKED = {int(zstd.CompressionParameter.checksum_flag): 1}


def file_of(
    blobs: list[bytes],
    packing: int = 1,
    *,
    wide: bool = False,
    entry: tuple[int, int] = (0, 0),
    path: bytes = b"a",
    **false: int,
) -> bytes:
    """Write a file with one page, which is at this place (cluster and blob), and one cluster."""
    offset = "<Q" if wide else "<I"
    width = struct.calcsize(offset)
    places = [width * (len(blobs) + 1)]
    for blob in blobs:
        places.append(places[-1] + len(blob))
    content = b"".join(struct.pack(offset, place) for place in places) + b"".join(blobs)
    packed = (
        lzma.compress(content) if packing == 4 else zstd.compress(content, options=CHECKED) if packing == 5 else content
    )
    cluster = bytes([packing | (0x10 if wide else 0)]) + packed
    types = b"text/html\0\0"
    dirent = struct.pack("<HBcIII", 0, 0, b"C", 0, *entry) + path + b"\0\0"
    entries_at = 80 + len(types)
    clusters_at = entries_at + 8
    dirent_at = clusters_at + 8
    cluster_at = dirent_at + len(dirent)
    numbers = {"entries": 1, "clusters": 1, "entries_at": entries_at, "clusters_at": clusters_at, "types_at": 80}
    numbers |= {"dirent_at": dirent_at, "cluster_at": cluster_at, "end": cluster_at + len(cluster)} | false
    head = struct.pack(
        "<4sHH16sIIQQQQIIQ", b"ZIM\x04", 6, 1, bytes(16), numbers["entries"], numbers["clusters"],
        numbers["entries_at"], 0, numbers["clusters_at"], numbers["types_at"], 0, 0, numbers["end"],
    )  # fmt: skip
    return head + types + struct.pack("<QQ", numbers["dirent_at"], numbers["cluster_at"]) + dirent + cluster + bytes(16)


NOISE = Random(1).randbytes(100_000)


def damaged(content: bytes) -> bytes:
    """Change the last bytes of the cluster, in front of the end of the file."""
    return content[:-24] + bytes(byte ^ 0xFF for byte in content[-24:-16]) + content[-16:]


@pytest.mark.parametrize("wide", [False, True])
@pytest.mark.parametrize("packing", [0, 1, 4, 5])
def test_each_packing_is_read(packing: int, wide: bool) -> None:
    content = file_of([b"another blob", PAGE], packing, wide=wide, entry=(0, 1))
    (page,) = pages(read(content, "https://a.example/"))
    assert (page.url, page.body) == ("https://a.example/a", PAGE)


HUGE = (1 << 63) - 1
FALSE = [
    (file_of([PAGE], entry=(7, 0)), "damaged entry"),
    (file_of([PAGE], entry=(0, 7)), "damaged entry"),
    (file_of([PAGE], 2), "damaged entry"),  # packed by zip, before 2016
    (file_of([PAGE], cluster_at=HUGE), "damaged entry"),
    (file_of([PAGE], cluster_at=3), "damaged entry"),
    (file_of([PAGE], dirent_at=HUGE), "damaged entry"),
    (file_of([PAGE], types_at=HUGE), "damaged entry"),
    (file_of([bytes(200_000)], 5), "too large"),
    (file_of([bytes(3_000_000), PAGE], 5, entry=(0, 1)), "damaged entry"),  # a bomb: more than a cluster may have
    (file_of([bytes(3_000_000), PAGE], 4, entry=(0, 1)), "damaged entry"),
    (file_of([PAGE], 5)[:-25], "damaged entry"),  # the file ends early
]


@pytest.mark.parametrize(("content", "reason"), FALSE)
def test_false_numbers_end_no_import(content: bytes, reason: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(zim, "MAX_CLUSTER_BYTES", 1_000_000)
    assert [each.reason for each in read(content, "https://a.example/") if isinstance(each, Skipped)] == [reason]


def test_a_path_with_bytes_that_are_no_text_has_an_address() -> None:
    content = file_of([PAGE], path=b"docs.example/a\xff")
    (page,) = pages(read(content, "https://a.example/"))
    assert page.url == "https://a.example/docs.example/a%FF"
    (skipped,) = read(content)
    assert skipped == Skipped(NO_ADDRESS, "docs.example/a\ufffd"), "it can be printed"


def test_a_path_of_a_crawl_may_have_bytes_that_are_no_text(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(ZimFile, "metadata", lambda _, name: "warc2zim 2.0" if name == "Scraper" else "")
    (page,) = pages(read(file_of([PAGE], path=b"docs.example.org/a\xff")))
    assert page.url == "https://docs.example.org/a%FF"


def test_a_page_that_can_not_be_made_is_counted(monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(*_: object) -> bytes:
        raise ValueError("bad page")

    monkeypatch.setattr(zim_pages, "with_rights", fail)
    assert read(file_of([PAGE]), "https://a.example/") == [Skipped("damaged entry", "a: ValueError('bad page')")]


@pytest.mark.parametrize(
    ("content", "why"),
    [
        (file_of([bytes(300_000)], 5), "too large"),
        (file_of([bytes(300_000)], 4), "too large"),
        (file_of([bytes(300_000)]), "too large, not packed"),
        (damaged(file_of([NOISE], 5)), "a false checksum behind the content"),
        (damaged(file_of([NOISE], 4)), "the same"),
    ],
)
def test_clusters_that_are_read_in_vain_are_counted(content: bytes, why: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(zim, "MAX_CLUSTER_BYTES", 200_000)
    monkeypatch.setattr(zim, "_PIECE_BYTES", 10_000)
    monkeypatch.setattr(zim, "MAX_RATIO", 0)
    monkeypatch.setattr(zim, "_FREE_BYTES", 50_000)
    file = ZimFile(BytesIO(content))
    first, second = (next(file.blobs(0, [0], 1_000_000)) for _ in range(2))
    assert isinstance(first, Damaged), why
    assert isinstance(second, Damaged), why
    assert "all clusters" not in first.reason, why
    assert "all clusters" in second.reason, why


def test_clusters_whose_places_do_not_rise_are_not_read() -> None:
    content = bytearray(file_of([PAGE]))
    (clusters_at,) = struct.unpack_from("<Q", content, 48)
    (place,) = struct.unpack_from("<Q", content, clusters_at)
    for end, kind in ((place, Damaged), (place - 1, Damaged), (HUGE, bytes)):
        struct.pack_into("<Q", content, 72, end)  # where the clusters end
        (found,) = ZimFile(BytesIO(bytes(content))).blobs(0, [0], 1_000)
        assert isinstance(found, kind), end


def test_clusters_at_the_same_place_are_not_unpacked_without_end(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(zim, "_FREE_BYTES", 0)
    monkeypatch.setattr(zim, "MAX_RATIO", 2)
    file = ZimFile(BytesIO(file_of([bytes(100_000)], 5)))
    found = [next(file.blobs(0, [0], 1_000_000)) for _ in range(3)]
    assert [isinstance(each, bytes) for each in found] == [True, False, False]


@pytest.mark.parametrize(
    "content",
    [
        b"",
        b"ZIM\x04",
        file_of([PAGE])[:60],
        file_of([PAGE], entries=0xFFFFFFFF),  # so many pointers are not in the file
        file_of([PAGE], clusters=0xFFFFFFFF),
        file_of([PAGE], entries_at=HUGE),
        content_of("wiki")[:2_000],  # the first part of a file
    ],
)
def test_a_file_that_can_not_be_read_raises(content: bytes) -> None:
    with pytest.raises(NotZim):
        read(content)


@given(st.binary(min_size=1, max_size=40), st.integers(24, 400))
def test_any_bytes_raise_nothing_else(noise: bytes, position: int) -> None:
    content = bytearray(file_of([PAGE], 5))
    content[position : position + len(noise)] = noise
    try:
        file = ZimFile(BytesIO(bytes(content)))
    except NotZim:
        return
    if file.entries < 1_000:
        read(bytes(content), "https://a.example/")


def test_a_page_without_an_address_says_what_to_do() -> None:
    (found,) = read(file_of([PAGE]))
    assert found == Skipped(NO_ADDRESS, "a")


LICENCES = [
    ("CC-BY-SA 4.0", "https://creativecommons.org/licenses/by-sa/4.0/"),
    ("cc by 3.0", "https://creativecommons.org/licenses/by/3.0/"),
    ("CC-BY-NC-ND-2.5", "https://creativecommons.org/licenses/by-nc-nd/2.5/"),
    ("https://a.example/licence", "https://a.example/licence"),
    ("CC-BY-SA", ""),  # without a version it is no licence in particular
    ("GFDL", ""),
    ("javascript:alert(1)", ""),
    ("", ""),
]


@pytest.mark.parametrize(("licence", "address"), LICENCES)
def test_the_address_of_a_licence(licence: str, address: str) -> None:
    assert licence_address(licence) == address


@pytest.mark.parametrize(
    ("html", "made"),
    [
        (b"<html><head><title>a", b'<html><head><meta name="dcterms.license" content="GFDL"><title>a'),
        (b"<HEAD class=x>\n", b'<HEAD class=x><meta name="dcterms.license" content="GFDL">\n'),
        (b"<header>a", b'<meta name="dcterms.license" content="GFDL"><header>a'),
        (b"", b'<meta name="dcterms.license" content="GFDL">'),
    ],
)
def test_rights_are_written_into_the_head(html: bytes, made: bytes) -> None:
    assert with_rights(html, "GFDL", "") == made
    assert with_rights(html, "", "") == html
    assert b'content="&quot;&gt;&lt;script&gt;"' in with_rights(html, "", '"><script>')
