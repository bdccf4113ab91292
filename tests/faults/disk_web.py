"""The pages that a perfect crawler finds in a folder DIR/HOST/path, worked out only from the files.

Written apart from the crawler on purpose: other parser (lxml), a robots reader of a few lines (the longest rule wins,
RFC 9309 section 2.2.2; the standard library's takes the first one), plain breadth-first search. So a page that the
crawl lost, or that it should not have taken, shows as a difference.
"""

import json
from collections import deque
from dataclasses import dataclass, field
from pathlib import Path
from urllib.parse import quote, unquote, urldefrag, urljoin, urlsplit

import lxml.html

PAGE_SUFFIXES = {".html", ".htm", ".xhtml"}


@dataclass(slots=True)
class DiskWeb:
    """Addresses by their expected outcome."""

    allowed: set[str] = field(default_factory=set)
    """HTML pages that are reachable, allowed by robots.txt and not noindex."""
    refused: set[str] = field(default_factory=set)
    noindex: set[str] = field(default_factory=set)
    files: dict[str, Path] = field(default_factory=dict)
    """The file of each HTML page."""


def explore(folder: Path) -> DiskWeb:
    """Follow the links of all hosts from their roots and their sitemaps."""
    hosts = {path.name for path in folder.iterdir() if path.is_dir()}
    robots = {host: _robots(folder / host / "robots.txt") for host in hosts}
    moved = {host: _moved(folder / host / "redirects.json") for host in hosts}
    web, seen = DiskWeb(), set[str]()
    queue = deque(f"https://{host}/" for host in sorted(hosts))
    for host in sorted(hosts):
        queue.extend(_sitemap(folder / host, host))
    while queue:
        url = queue.popleft()
        if url in seen:
            continue
        seen.add(url)
        parts = urlsplit(url)
        if parts.hostname not in hosts or parts.scheme != "https":
            continue
        if not _may_fetch(robots[parts.hostname], parts.path):
            web.refused.add(url)
            continue
        if parts.path in moved[parts.hostname]:
            if target := moved[parts.hostname][parts.path]:
                queue.append(urljoin(url, target))
            continue
        file = folder / parts.hostname / unquote(parts.path).lstrip("/")
        if file.is_dir():
            if not parts.path.endswith("/"):
                queue.append(url + "/")
                continue
            file = file / "index.html"
        if not file.is_file() or file.suffix.lower() not in PAGE_SUFFIXES:
            continue
        web.files[url] = file
        links, directives = _read(file, url)
        (web.noindex if "noindex" in directives else web.allowed).add(url)
        if "nofollow" not in directives:
            queue.extend(links)
    return web


def _moved(file: Path) -> dict[str, str | None]:
    """Path -> where it moved, or None where it is gone: as `riffle web` reads it."""
    found: dict[str, str | None] = json.loads(file.read_text()) if file.is_file() else {}
    return found


def _sitemap(root: Path, host: str) -> list[str]:
    """All HTML pages of a host: its sitemap. Empty if its own robots.txt names none."""
    robots = root / "robots.txt"
    if robots.is_file() and "\nsitemap:" not in robots.read_text(errors="replace").lower():
        return []
    files = [file for file in root.rglob("*") if file.suffix.lower() in PAGE_SUFFIXES]
    paths = sorted(quote(file.relative_to(root).as_posix()) for file in files)
    return [urljoin(f"https://{host}/{path}", "./" if path.endswith("/index.html") else "") for path in paths]


Rules = list[tuple[str, bool]]
"""Path prefix, and whether it is allowed."""


def _robots(file: Path) -> Rules:
    """The rules of the only group there is: `User-agent: *`, without wildcards."""
    lines = file.read_text(errors="replace").splitlines() if file.is_file() else []
    pairs = [(name.strip().lower(), value.strip()) for name, _, value in (line.partition(":") for line in lines)]
    return [(value, name == "allow") for name, value in pairs if name in {"allow", "disallow"} and value]


def _may_fetch(rules: Rules, path: str) -> bool:
    matching = [(len(prefix), allowed) for prefix, allowed in rules if path.startswith(prefix)]
    return max(matching)[1] if matching else True


def _read(file: Path, url: str) -> tuple[list[str], set[str]]:
    content = file.read_bytes()
    if not content.strip():
        return [], set()
    tree = lxml.html.document_fromstring(content)
    base = tree.find(".//base[@href]")
    root = urljoin(url, base.get("href")) if base is not None else url
    links = [
        urldefrag(urljoin(root, href.strip()))[0]
        for anchor in tree.iter("a", "area")
        if (href := anchor.get("href")) and "nofollow" not in (anchor.get("rel") or "")
    ]
    directives: set[str] = set()
    for meta in tree.iter("meta"):
        if (meta.get("name") or "").lower() in {"robots", "rifflebot"}:
            directives |= {part.strip().lower() for part in (meta.get("content") or "").split(",")}
    return links, directives
