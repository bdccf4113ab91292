"""What a perfect crawler would find of a folder DIR/HOST/path, worked out from the files alone.

Written apart from the crawler on purpose: other parser (lxml), other robots reader (the standard library), plain
breadth-first search. So a page that the crawl lost, or that it should not have taken, shows as a difference.
"""

import urllib.robotparser
from collections import deque
from dataclasses import dataclass, field
from pathlib import Path
from urllib.parse import unquote, urldefrag, urljoin, urlsplit

import lxml.html

AGENT = "RiffleBot"
PAGE_SUFFIXES = {".html", ".htm", ".xhtml"}


@dataclass(slots=True)
class DiskWeb:
    """Addresses by what is to become of them."""

    allowed: set[str] = field(default_factory=set)
    """HTML pages that are reachable, allowed by robots.txt and not noindex."""
    refused: set[str] = field(default_factory=set)
    noindex: set[str] = field(default_factory=set)


def explore(folder: Path) -> DiskWeb:
    """Follow the links of all hosts from their roots."""
    hosts = {path.name for path in folder.iterdir() if path.is_dir()}
    robots = {host: _robots(folder / host / "robots.txt") for host in hosts}
    web, seen = DiskWeb(), set[str]()
    queue = deque(f"https://{host}/" for host in sorted(hosts))
    while queue:
        url = queue.popleft()
        if url in seen:
            continue
        seen.add(url)
        parts = urlsplit(url)
        if parts.hostname not in hosts or parts.scheme != "https":
            continue
        if not robots[parts.hostname].can_fetch(AGENT, url):
            web.refused.add(url)
            continue
        file = folder / parts.hostname / unquote(parts.path).lstrip("/")
        if file.is_dir():
            if not parts.path.endswith("/"):
                queue.append(url + "/")
                continue
            file = file / "index.html"
        if not file.is_file() or file.suffix.lower() not in PAGE_SUFFIXES:
            continue
        links, directives = _read(file, url)
        (web.noindex if "noindex" in directives else web.allowed).add(url)
        if "nofollow" not in directives:
            queue.extend(links)
    return web


def _robots(file: Path) -> urllib.robotparser.RobotFileParser:
    parser = urllib.robotparser.RobotFileParser()
    parser.parse(file.read_text(errors="replace").splitlines() if file.is_file() else [])
    return parser


def _read(file: Path, url: str) -> tuple[list[str], set[str]]:
    content = file.read_bytes()
    if not content.strip():
        return [], set()
    tree = lxml.html.document_fromstring(content)
    base = tree.find(".//base[@href]")
    root = urljoin(url, base.get("href")) if base is not None else url
    links = [
        urldefrag(urljoin(root, anchor.get("href").strip()))[0]
        for anchor in tree.iter("a", "area")
        if anchor.get("href") and "nofollow" not in (anchor.get("rel") or "")
    ]
    directives: set[str] = set()
    for meta in tree.iter("meta"):
        if (meta.get("name") or "").lower() in {"robots", "rifflebot"}:
            directives |= {part.strip().lower() for part in (meta.get("content") or "").split(",")}
    return links, directives
