"""The answer to a request's path from the files of a host's folder. Pure apart from reading files: no sockets.

A host's folder may hold `redirects.json`: `{"/old": "/new", "/moved": "https://other.test/x", "/gone": null}`.
Each path answers 301 to its target, or 410 if the target is null. The file itself is not served.
"""

import hashlib
import json
import mimetypes
import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from datetime import UTC, datetime
from functools import lru_cache
from pathlib import Path
from typing import Literal
from urllib.parse import quote, unquote_to_bytes
from xml.sax.saxutils import escape

REDIRECTS = "redirects.json"

_TYPES = mimetypes.MimeTypes(filenames=())  # without the machine's own lists, which differ
for _type, _ending in (("text/markdown", ".md"), ("font/woff2", ".woff2"), ("image/webp", ".webp")):
    _TYPES.add_type(_type, _ending)
_META_CHARSET = re.compile(rb"""<meta[^>]{0,200}?charset\s*=\s*["']?\s*([A-Za-z0-9._:-]{2,40})""", re.IGNORECASE)
_META_BYTES = 1_024
"""Number of bytes in which browsers look for the character set (HTML standard, 13.2.3.2)."""


@dataclass(frozen=True, slots=True)
class Answer:
    """An answer: a status and, with 200, a file's content."""

    status: Literal[200, 301, 404, 410]
    content: bytes = b""
    content_type: str = ""
    location: str = ""
    modified: float = 0.0
    """Seconds since 1970 UTC, or 0 without a date."""
    etag: str = field(default="")


def answer(root: Path, host: str, raw_path: str) -> Answer:
    """Return the answer of the host in folder `root` to a path of a request (percent-encoded, no query)."""
    path = _decode_path(raw_path)
    if path is None or path == f"/{REDIRECTS}":
        return Answer(404)
    redirects = _load_redirects(root)
    if path in redirects:
        target = redirects[path]
        return Answer(410) if target is None else Answer(301, location=target)
    file = _find_file(root, path)
    if file is None:
        return _generate_file(root, host, path)
    if file.is_dir():
        if not path.endswith("/"):
            return Answer(301, location=f"{quote(path)}/")
        file = file / "index.html"
    elif path.endswith("/"):
        return Answer(404)
    return _answer_file(file) if file.is_file() else Answer(404)


def sitemap(root: Path, host: str) -> str:
    """Return a sitemap of all HTML pages in `root` with the day of their last change (sitemaps.org, protocol 0.9)."""
    entries = "".join(
        f"<url><loc>{escape(f'https://{host}{quote(path)}')}</loc><lastmod>{_format_day(modified)}</lastmod></url>\n"
        for path, modified in pages(root)
    )
    return (
        '<?xml version="1.0" encoding="UTF-8"?>\n'
        f'<urlset xmlns="http://www.sitemaps.org/schemas/sitemap/0.9">\n{entries}</urlset>\n'
    )


def pages(root: Path) -> Iterator[tuple[str, float]]:
    """Yield path and time of change of each HTML page. A folder's index has the folder's path."""
    for file in sorted(root.rglob("*.htm*")):
        if file.is_file() and not file.is_symlink():
            path = "/" + file.relative_to(root).as_posix()
            yield path.removesuffix("index.html") if path.endswith("/index.html") else path, file.stat().st_mtime


def content_type(name: str, content: bytes) -> str:
    """Return the content type by a file's ending, or by its first bytes. Texts get their character set."""
    found, _ = _TYPES.guess_type(name, strict=False)
    if found is None:
        start = content[:_META_BYTES].lstrip().lower()
        if start.startswith((b"<!doctype html", b"<html")):
            found = "text/html"
        else:
            found = "application/octet-stream" if b"\0" in start else "text/plain"
    is_text = found.startswith("text/") or found in ("application/xml", "application/json", "image/svg+xml")
    return f"{found}; charset={_find_charset(found, content)}" if is_text else found


def _find_charset(kind: str, content: bytes) -> str:
    """Return the character set that a page declares, else UTF-8 if it is valid UTF-8, else windows-1252."""
    if kind == "text/html" and (declared := _META_CHARSET.search(content[:_META_BYTES])):
        return declared[1].decode("ascii").lower()
    try:
        content.decode("utf-8")
    except UnicodeDecodeError:
        return "windows-1252"
    return "utf-8"


def _decode_path(raw_path: str) -> str | None:
    """Return the decoded path, or None if it isn't a path of a file."""
    if not raw_path.startswith("/"):
        return None
    try:
        path = unquote_to_bytes(raw_path).decode("utf-8")
    except UnicodeDecodeError:
        return None
    return None if "\0" in path or "\\" in path else path


def _find_file(root: Path, path: str) -> Path | None:
    """Return the file or folder at a path, or None if `root` has none. Neither `..` nor a link leads out of `root`."""
    parts = path.strip("/").split("/") if path.strip("/") else []
    if any(part in ("", ".", "..") or part.startswith(".") for part in parts):
        return None
    try:
        found = root.joinpath(*parts).resolve(strict=True)
    except (OSError, ValueError, RuntimeError):  # missing, a name too long, or a loop of links (before Python 3.13)
        return None
    return found if found.is_relative_to(root.resolve()) else None


def _generate_file(root: Path, host: str, path: str) -> Answer:
    """Return robots.txt or sitemap.xml, which each host has even without such files, else status 404."""
    if path == "/robots.txt":
        # A crawler's default delay protects other servers. This one is on the crawler's own machine.
        text = f"User-agent: *\nAllow: /\nCrawl-delay: 0.05\n\nSitemap: https://{host}/sitemap.xml\n"
        return _answer_text(text, "text/plain; charset=utf-8")
    if path == "/sitemap.xml":
        return _answer_text(sitemap(root, host), "application/xml; charset=utf-8")
    return Answer(404)


def _answer_text(text: str, kind: str) -> Answer:
    content = text.encode()
    return Answer(200, content, kind, etag=_make_etag(content))


def _answer_file(file: Path) -> Answer:
    content = file.read_bytes()
    return Answer(
        200, content, content_type(file.name, content), modified=file.stat().st_mtime, etag=_make_etag(content)
    )


def _make_etag(content: bytes) -> str:
    return f'"{hashlib.blake2b(content, digest_size=12).hexdigest()}"'


def _load_redirects(root: Path) -> dict[str, str | None]:
    try:
        stat = (root / REDIRECTS).stat()
    except FileNotFoundError:
        return {}
    return _read_redirects(root / REDIRECTS, stat.st_mtime_ns)


@lru_cache(maxsize=64)
def _read_redirects(file: Path, _changed_ns: int) -> dict[str, str | None]:
    redirects: dict[str, str | None] = json.loads(file.read_text())
    return redirects


def _format_day(seconds: float) -> str:
    return datetime.fromtimestamp(seconds, UTC).strftime("%Y-%m-%d")
