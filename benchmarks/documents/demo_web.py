"""Builds `web.tar.zst` of `streams/local/demo`: its `pages.txt`, a robots file and redirects of each host.

The pages are Debian's documentation packages, each under a host's name:

    postgresql.test     /usr/share/doc/postgresql-doc-15/html
    docs.python.test    /usr/share/doc/python3.11/html
    sqlite.test         /usr/share/doc/sqlite3/html (package sqlite3-doc)
    git-scm.test/html   /usr/share/doc/git/html (package git-doc)
    debian.test         /usr/share/doc/debian/FAQ/de (package debian-faq-de): in German

    python -m benchmarks.documents.demo_web DIR      where DIR/HOST/... are these folders

The same pages give the same bytes. A linked page that isn't in the list is disallowed by the robots file (families of
reference pages, and the rest one by one), redirected, gone, or missing, as on any site.
"""

import argparse
import html
import io
import json
import re
import sys
import tarfile
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import urljoin, urlsplit

import zstandard

from streams.local.demo import ARCHIVE

HERE = ARCHIVE.parent
CRAWL_DELAY_SECONDS = 0.05
"""Crawl delay in the robots files. It is short because the sites are on the crawler's own machine."""
WRITTEN = 1_767_225_600
"""Time of the generated files (2026-01-01), so that the archive doesn't depend on the time of the build."""
_LEVEL = 19
_HREF = re.compile(r"""<a\s[^>]*?href\s*=\s*["']?([^"'\s>]+)""", re.IGNORECASE)


@dataclass(frozen=True)
class Site:
    """The generated part of a host."""

    disallow: tuple[str, ...]
    """Prefixes of paths. Pages of `pages.txt` with such a prefix are allowed one by one, except those in `hidden`."""
    hidden: tuple[str, ...]
    """Pages that exist, are linked, and may not be fetched by crawlers."""
    missing: tuple[str, ...]
    """Pages that are linked and not disallowed, but don't exist: dead links."""
    redirects: Mapping[str, str | None]
    """The content of `redirects.json`. None: gone for good."""


SITES = {
    "sqlite.test": Site(
        disallow=(
            "/c3ref/",
            "/session/",
            "/syntax/",
            "/releaselog/",
            "/capi3ref",
            "/lang_",
            "/fts",
            "/doc_",
            "/pragma",
        ),
        hidden=("/lang_naming.html",),
        missing=("/features.html", "/fullsql.html", "/json1.html", "/datatype3.html"),
        redirects={"/prosupport.html": "/support.html", "/news.html": None, "/changes.html": "/chronology.html"},
    ),
    "docs.python.test": Site(
        disallow=("/c-api/", "/library/", "/reference/", "/extending/", "/install/", "/whatsnew/", "/search.html"),
        hidden=("/search.html",),
        missing=("/glossary.html", "/genindex.html", "/faq/programming.html", "/howto/regex.html"),
        redirects={
            "/distutils/index.html": None,
            "/download.html": None,
            "/faq/installed.html": "/faq/general.html",
            "/howto/pyporting.html": "/howto/index.html",
        },
    ),
    "postgresql.test": Site(
        disallow=(
            *("/sql-", "/app-", "/runtime-config", "/functions-", "/catalog", "/view-", "/libpq", "/ecpg", "/spi"),
            *("/information", "/infoschema", "/source-", "/nls-", "/xfunc", "/release", "/storage-", "/monitoring"),
            *("/datatype", "/textsearch", "/auth-", "/logical", "/install", "/contrib", "/plpgsql", "/extend"),
        ),
        hidden=("/release-15-9.html",),
        missing=("/glossary.html", "/bookindex.html", "/features.html", "/docguide.html", "/arrays.html"),
        redirects={
            "/ddl-inherit.html": "/tutorial-inheritance.html",
            "/routine-vacuuming.html": "/maintenance.html",
            "/adminpack.html": None,
        },
    ),
    "git-scm.test": Site(
        disallow=("/html/git-", "/html/gitformat-", "/html/gitprotocol-", "/html/howto", "/html/technical/"),
        hidden=("/html/git-var.html",),
        missing=("/html/gitattributes.html", "/html/user-manual.html"),
        redirects={"/": "/html/index.html", "/html/git.html": "/html/index.html", "/html/gitk.html": None},
    ),
    "debian.test": Site(
        disallow=(),
        hidden=(),
        missing=(),
        redirects={"/": "/getting-debian.de.html", "/index.de.html": "/getting-debian.de.html"},
    ),
}


def build(source: Path, target: Path) -> int:
    """Write the archive and return the number of its pages."""
    pages = (HERE / "pages.txt").read_text().split()
    files: dict[str, tuple[bytes, int]] = {}
    for page in pages:
        files[page] = ((source / page).read_bytes(), int((source / page).stat().st_mtime))
    for host, site in SITES.items():
        there = {page.removeprefix(host): files[page][0] for page in pages if page.startswith(f"{host}/")}
        files[f"{host}/robots.txt"] = (robots(host, site, there).encode(), WRITTEN)
        files[f"{host}/redirects.json"] = ((json.dumps(site.redirects, indent=2) + "\n").encode(), WRITTEN)
    packed = zstandard.ZstdCompressor(level=_LEVEL).compress(_build_tar(files))
    target.write_bytes(packed)
    return len(pages)


def robots(host: str, site: Site, pages: Mapping[str, bytes]) -> str:
    """Return the robots.txt of a host. The longest matching rule decides (RFC 9309)."""
    allowed = [path for path in pages if path.startswith(site.disallow) and path not in site.hidden]
    absent = find_linked_paths(host, pages) - pages.keys() - site.redirects.keys() - set(site.missing)
    return "\n".join(
        (
            "User-agent: *",
            *(f"Disallow: {beginning}" for beginning in site.disallow),
            *(f"Allow: {path}" for path in sorted(allowed)),
            *(f"Disallow: {path}" for path in sorted(absent) if not path.startswith(site.disallow)),
            f"Crawl-delay: {CRAWL_DELAY_SECONDS}",
            "",
            f"Sitemap: https://{host}/sitemap.xml",
            "",
        )
    )


def find_linked_paths(host: str, pages: Mapping[str, bytes]) -> set[str]:
    """Return the paths on this host that the pages link to."""
    paths = set()
    for path, content in pages.items():
        for href in _HREF.findall(content.decode("utf-8", "replace")):
            target = urlsplit(urljoin(f"https://{host}{path}", html.unescape(href)))
            if target.netloc == host and target.path not in ("", "/"):
                paths.add(target.path)
    return paths


def _build_tar(files: Mapping[str, tuple[bytes, int]]) -> bytes:
    """Return a tar archive, sorted, without owners, with the given times."""
    written = io.BytesIO()
    with tarfile.open(fileobj=written, mode="w", format=tarfile.USTAR_FORMAT) as archive:
        for name, (content, modified) in sorted(files.items()):
            entry = tarfile.TarInfo(name)
            entry.size, entry.mtime, entry.mode = len(content), modified, 0o644
            archive.addfile(entry, io.BytesIO(content))
    return written.getvalue()


def main() -> None:
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks.documents.demo_web", description=__doc__.partition("\n")[0]
    )
    parser.add_argument("source", type=Path, metavar="DIR", help="folder that holds a folder of pages for each host")
    parser.add_argument("--target", type=Path, default=HERE / "web.tar.zst")
    options = parser.parse_args()
    pages = build(options.source, options.target)
    size = options.target.stat().st_size
    sys.stdout.write(f"{options.target}: {pages} pages of {len(SITES)} hosts, {size / 1e6:.2f} MB\n")


if __name__ == "__main__":
    main()
