"""From a request's path to a file of a host's folder, and what to say about it. No sockets here.

A host's folder may hold `redirects.json`: `{"/old": "/new", "/moved": "https://other.test/x", "/gone": null}`.
Each path answers 301 to its target, or 410 when there is none. The file itself is not served.
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

_TYPES = mimetypes.MimeTypes(filenames=())  # the machine's own lists differ from machine to machine
for _type, _ending in (("text/markdown", ".md"), ("font/woff2", ".woff2"), ("image/webp", ".webp")):
    _TYPES.add_type(_type, _ending)
_META_CHARSET = re.compile(rb"""<meta[^>]{0,200}?charset\s*=\s*["']?\s*([A-Za-z0-9._:-]{2,40})""", re.IGNORECASE)
_META_BYTES = 1_024
"""Where browsers look for it: HTML standard, 13.2.3.2."""


@dataclass(frozen=True, slots=True)
class Answer:
    """What to send: a status and, with 200, a file's content."""

    status: Literal[200, 301, 404, 410]
    content: bytes = b""
    content_type: str = ""
    location: str = ""
    modified: float = 0.0
    """Seconds since 1970 UTC; 0 when it has no date."""
    etag: str = field(default="")


def answer(root: Path, host: str, raw_path: str) -> Answer:
    """What the host at folder `root` answers to the path as it stood in the request (percent-encoded, no query)."""
    path = _decoded(raw_path)
    if path is None or path == f"/{REDIRECTS}":
        return Answer(404)
    redirects = _redirects(root)
    if path in redirects:
        target = redirects[path]
        return Answer(410) if target is None else Answer(301, location=target)
    file = _inside(root, path)
    if file is None:
        return _generated(root, host, path)
    if file.is_dir():
        if not path.endswith("/"):
            return Answer(301, location=f"{quote(path)}/")
        file = file / "index.html"
    elif path.endswith("/"):
        return Answer(404)
    return _file(file) if file.is_file() else Answer(404)


def sitemap(root: Path, host: str) -> str:
    """All HTML pages below `root` with the day on which they were last changed (sitemaps.org, protocol 0.9)."""
    entries = "".join(
        f"<url><loc>{escape(f'https://{host}{quote(path)}')}</loc><lastmod>{_day(modified)}</lastmod></url>\n"
        for path, modified in pages(root)
    )
    return (
        '<?xml version="1.0" encoding="UTF-8"?>\n'
        f'<urlset xmlns="http://www.sitemaps.org/schemas/sitemap/0.9">\n{entries}</urlset>\n'
    )


def pages(root: Path) -> Iterator[tuple[str, float]]:
    """Path and time of change of each HTML page; a folder's index stands under the folder's path."""
    for file in sorted(root.rglob("*.htm*")):
        if file.is_file() and not file.is_symlink():
            path = "/" + file.relative_to(root).as_posix()
            yield path.removesuffix("index.html") if path.endswith("/index.html") else path, file.stat().st_mtime


def content_type(name: str, content: bytes) -> str:
    """By the file's ending, or its first bytes when it has none; texts with their character set."""
    found, _ = _TYPES.guess_type(name, strict=False)
    if found is None:
        start = content[:_META_BYTES].lstrip().lower()
        if start.startswith((b"<!doctype html", b"<html")):
            found = "text/html"
        else:
            found = "application/octet-stream" if b"\0" in start else "text/plain"
    is_text = found.startswith("text/") or found in ("application/xml", "application/json", "image/svg+xml")
    return f"{found}; charset={_charset(found, content)}" if is_text else found


def _charset(kind: str, content: bytes) -> str:
    """What a page says of itself; else UTF-8 if it is that, else what the early web wrote."""
    if kind == "text/html" and (said := _META_CHARSET.search(content[:_META_BYTES])):
        return said[1].decode("ascii").lower()
    try:
        content.decode("utf-8")
    except UnicodeDecodeError:
        return "windows-1252"
    return "utf-8"


def _decoded(raw_path: str) -> str | None:
    """The path's characters, or None when it is no path of ours."""
    if not raw_path.startswith("/"):
        return None
    try:
        path = unquote_to_bytes(raw_path).decode("utf-8")
    except UnicodeDecodeError:
        return None
    return None if "\0" in path or "\\" in path else path


def _inside(root: Path, path: str) -> Path | None:
    """The file or folder, or None when there is none below `root`: neither `..` nor a link leads out of it."""
    parts = path.strip("/").split("/") if path.strip("/") else []
    if any(part in ("", ".", "..") or part.startswith(".") for part in parts):
        return None
    try:
        found = root.joinpath(*parts).resolve(strict=True)
    except (OSError, ValueError, RuntimeError):  # there is none, a name too long, a loop of links (before Python 3.13)
        return None
    return found if found.is_relative_to(root.resolve()) else None


def _generated(root: Path, host: str, path: str) -> Answer:
    """Every host has these two, whether somebody wrote them or not."""
    if path == "/robots.txt":
        # A crawler's own delay is for other people's servers; this one is on its own machine.
        text = f"User-agent: *\nAllow: /\nCrawl-delay: 0.05\n\nSitemap: https://{host}/sitemap.xml\n"
        return _made(text, "text/plain; charset=utf-8")
    if path == "/sitemap.xml":
        return _made(sitemap(root, host), "application/xml; charset=utf-8")
    return Answer(404)


def _made(text: str, kind: str) -> Answer:
    content = text.encode()
    return Answer(200, content, kind, etag=_etag(content))


def _file(file: Path) -> Answer:
    content = file.read_bytes()
    return Answer(200, content, content_type(file.name, content), modified=file.stat().st_mtime, etag=_etag(content))


def _etag(content: bytes) -> str:
    return f'"{hashlib.blake2b(content, digest_size=12).hexdigest()}"'


def _redirects(root: Path) -> dict[str, str | None]:
    try:
        stat = (root / REDIRECTS).stat()
    except FileNotFoundError:
        return {}
    return _read_redirects(root / REDIRECTS, stat.st_mtime_ns)


@lru_cache(maxsize=64)
def _read_redirects(file: Path, _changed_ns: int) -> dict[str, str | None]:
    redirects: dict[str, str | None] = json.loads(file.read_text())
    return redirects


def _day(seconds: float) -> str:
    return datetime.fromtimestamp(seconds, UTC).strftime("%Y-%m-%d")
