"""The language that each page of a folder gets, beside the language that its markup declares.

    python -m benchmarks page-languages DIR

DIR holds HOST/path pages, such as the unpacked miniweb. Each page is read twice: as it is, and without its
`<html lang>`. A page whose primary language differs from its declaration is named: a person who reads the list sees
whether the page or its declaration is wrong. Pages that declare nothing are named where their language is not the
host's most frequent one.
"""

import re
from collections import Counter
from pathlib import Path
from typing import Annotated, Any

import typer

from benchmarks.machine import describe, machine, table
from streams.commands.console import AsJson, command, err, out, print_json
from streams.errors import Refused, UsageError
from streams.pages.normalize import normalize

ROOT = re.compile(rb"<html\b[^<>]{0,2000}>", re.IGNORECASE)
LANG = re.compile(rb"""\s(?:xml:)?lang\s*=\s*["']?([A-Za-z-]{2,20})["']?""", re.IGNORECASE)
MAX_NAMED = 20


@command
def run(
    folder: Annotated[Path, typer.Argument(exists=True, file_okay=False, metavar="DIR")], as_json: AsJson = False
) -> int:
    """Compare the language of each page with its declaration.

    Example:  python -m benchmarks page-languages mirror/
    """
    result = {"machine": machine(), **measure(folder)}
    if as_json:
        print_json(result)
    else:
        out.print(describe(result["machine"]), highlight=False)
        rows = table("Languages of pages", "", "as it is", "without <html lang>")
        for name in ("pages", "declared", "others"):
            rows.add_row(name, *(str(result[kind][name]) for kind in ("whole", "bare")))
        rows.add_row("languages", *(str(result[kind]["languages"]) for kind in ("whole", "bare")))
        out.print(rows)
        for kind in ("whole", "bare"):
            for line in result[kind]["named"]:
                out.print(f"{kind}: {line}", highlight=False, markup=False)
    return 0


def measure(folder: Path) -> dict[str, Any]:
    files = sorted(path for path in folder.rglob("*") if path.suffix.lower() in {".html", ".htm"} and path.is_file())
    if not files:
        raise UsageError(f"{folder} holds no HTML file: it must hold a folder for each host")
    found: dict[str, list[tuple[str, str, str]]] = {"whole": [], "bare": []}
    with err.status("Reading") as status:
        for number, path in enumerate(files):
            body, name = path.read_bytes(), path.relative_to(folder).as_posix()
            root = ROOT.search(body)
            declared = LANG.search(root[0]) if root else None
            bare = body.replace(root[0], LANG.sub(b"", root[0]), 1) if root else body
            for kind, content in (("whole", body), ("bare", bare)):
                if language := language_of(content, f"https://{name}"):
                    found[kind].append((name, declared[1].decode().lower() if declared else "", language))
            status.update(f"{number + 1} of {len(files)} pages")
    return {kind: judge(pages) for kind, pages in found.items()}


def language_of(body: bytes, url: str) -> str:
    """Return the language of a page. Empty for a page that is refused, or has no text."""
    try:
        return normalize(body, url=url, headers={"content-type": "text/html"}).document.language
    except Refused:
        return ""


def judge(pages: list[tuple[str, str, str]]) -> dict[str, Any]:
    """Count the pages whose language is not the declared one, or without one not the most frequent of the host.

    `pages`: path below a folder of its host, declared language, found language.
    """
    of_host: dict[str, Counter[str]] = {}
    for name, _, language in pages:
        of_host.setdefault(name.partition("/")[0], Counter())[language] += 1
    others = [
        f"{name}: {language} instead of {declared or 'what its host has'}"
        for name, declared, language in pages
        if primary(language) != primary(declared or of_host[name.partition("/")[0]].most_common(1)[0][0])
    ]
    return {
        "pages": len(pages),
        "declared": sum(bool(declared) for _, declared, _ in pages),
        "others": len(others),
        "languages": dict(Counter(language for *_, language in pages).most_common()),
        "named": others[:MAX_NAMED],
    }


def primary(tag: str) -> str:
    return tag.partition("-")[0]
