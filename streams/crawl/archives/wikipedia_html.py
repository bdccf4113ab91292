"""A reader of the HTML dumps of Wikimedia's projects: lines of JSON, as they are or in a tar file. Pure.

https://dumps.wikimedia.org/other/enterprise_html/ offers each project as a `.json.tar.gz` file. A line has an article
as the wiki shows it, with its address, its licence and its date. So nobody needs to crawl what is offered whole.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, BinaryIO

import orjson

from streams.crawl.archives.readers import ArchivedPage, Limits, Skipped, generation_of, make_page
from streams.crawl.archives.rights import with_rights
from streams.crawl.archives.unpacking import DamagedArchive, Unpacked
from streams.crawl.urls import host_of
from streams.lines.bounded import BLOCK_BYTES, cut_lines

MAX_LINE_BYTES = 16 * 1024 * 1024
"""Maximum length of a line (bytes). As JSON that is made to be large it takes 20 times as much memory."""
_TAR_BLOCK = 512
_TAR_MAGIC = b"ustar"
_TAR_MAGIC_AT = 257
_FILES = (b"0", b"\0", b"7")
_FIELDS = (b'"article_body"', b'"in_language"', b'"is_part_of"')


def is_html_dump(head: bytes) -> bool:
    """Return whether a file that unpacks to these first bytes is a dump."""
    return (_is_tar(head) or head.lstrip().startswith(b"{")) and sum(field in head for field in _FIELDS) > 1


def _is_tar(head: bytes) -> bool:
    return head[_TAR_MAGIC_AT : _TAR_MAGIC_AT + len(_TAR_MAGIC)] == _TAR_MAGIC


@dataclass(slots=True)
class _Input:
    """The unpacked bytes, of which the first are known."""

    stream: Unpacked
    first: bytes = b""

    def read(self, size: int) -> bytes:
        data, self.first = self.first[:size], self.first[size:]
        return data + self.stream.read(size - len(data)) if len(data) < size else data


def read_html_dump(file: BinaryIO, limits: Limits, skip: int = 0) -> Iterator[ArchivedPage | Skipped]:
    """Yield the page of each line, or why there is none. The first `skip` lines were read by an earlier run."""
    for number, line in enumerate(_lines(file)):
        if number < skip:
            continue
        if isinstance(line, Skipped):
            yield line
            continue
        try:
            yield _page_of(orjson.loads(line), limits)
        except (ValueError, TypeError, KeyError, AttributeError) as error:  # one bad line never ends an import
            yield Skipped("no readable article", f"line {number + 1}: {error!r}"[:300])


def _page_of(article: Any, limits: Limits) -> ArchivedPage | Skipped:
    url, html = article["url"], article["article_body"]["html"]
    project = article.get("is_part_of") or {}
    named = project.get("name") or host_of(url)
    licences = [str(each.get("url") or each.get("name") or "") for each in article.get("license") or ()]
    body = with_rights(html.encode("utf-8", "replace"), licences[0] if licences else "", f"Contributors to {named}")
    headers = {"content-type": "text/html; charset=utf-8"}
    if language := (article.get("in_language") or {}).get("identifier"):
        headers["content-language"] = str(language)
    generation = generation_of(str(article.get("date_modified", "")))
    return make_page(str(url), generation, body, "html", limits, 200, headers)


def _lines(file: BinaryIO) -> Iterator[bytes | Skipped]:
    """Yield the lines of all files of a tar file, or of a file of lines."""
    source = _Input(Unpacked(file))
    try:
        source.first = source.read(_TAR_BLOCK)
        if not _is_tar(source.first):
            yield from _split(source, None)
            return
        while len(head := source.read(_TAR_BLOCK)) == _TAR_BLOCK and head.strip(b"\0"):
            size = _tar_number(head[124:136])
            if head[156:157] in _FILES:
                yield from _split(source, size)
            else:
                _pass_over(source, size)
            source.read(-size % _TAR_BLOCK)
    except DamagedArchive as error:
        yield Skipped("the rest of a damaged file", str(error))


def _tar_number(field: bytes) -> int:
    """Return a number of a tar file: octal digits, or bytes behind a mark."""
    if field[0] & 0x80:
        return int.from_bytes(field[1:], "big")
    digits = field.strip(b" \0")
    if digits.strip(b"01234567"):
        raise DamagedArchive("the tar file has a false size")
    return int(digits or b"0", 8)


def _pass_over(source: _Input, size: int) -> None:
    while size > 0 and (piece := source.read(min(size, 1 << 20))):
        size -= len(piece)


def _split(source: _Input, size: int | None) -> Iterator[bytes | Skipped]:
    """Yield the lines of the next `size` bytes, or of all bytes up to the end."""
    for _, line in cut_lines(_blocks(source, size), MAX_LINE_BYTES):
        if line is None:
            yield Skipped("too large", f"a line of more than {MAX_LINE_BYTES:,} bytes")
        elif line.strip():
            yield line


def _blocks(source: _Input, size: int | None) -> Iterator[bytes]:
    while size is None or size > 0:
        if not (piece := source.read(BLOCK_BYTES if size is None else min(size, BLOCK_BYTES))):
            return
        size = None if size is None else size - len(piece)
        yield piece
