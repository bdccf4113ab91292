"""Print what is suggested for prefixes over two webs, and how much of it was judged as what a person could mean.

    python -m benchmarks.search.suggested_texts MANUALS

The first web, `handbooks`, is bundled. MANUALS has the pages of the second one, which is no part of the project: a
handbook of Debian and the manual of GIMP, as MANUALS/HOST/path.html. `suggested_texts.jsonl` has a prefix a line with
its web, and the suggestions for it that were judged to be no subject. The prefixes were written before anything was
looked at, and none was left out.
"""

import sys
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import orjson

from schemas.ids import page_id
from streams.local.demo import unpack
from streams.models.protocols import Link
from streams.pages.document.consent import Consent
from streams.pages.sandbox.normalizing import normalize_to_outcome
from streams.queries.suggestions.block_words import BlockedWords
from streams.queries.suggestions.build import add_page
from streams.queries.suggestions.index import Suggestion
from streams.queries.suggestions.suggester import Suggester
from streams.queries.suggestions.sums import Sums, suggestions_of
from streams.statements.chaining import chain_input, make_statements
from streams.statements.sandbox_tasks import decode_drafts, draft
from streams.statements.statement import PageStatements

JUDGED = Path(__file__).with_suffix(".jsonl")
SHOWN = 5
HTML = {"content-type": "text/html"}


def read_page(url: str, content: bytes) -> PageStatements | None:
    """Return the statements of a page without chains, which suggestions don't need. None: it has no document."""
    document = normalize_to_outcome(content, url=url, headers=HTML).document
    if not document:
        return None
    found = decode_drafts(draft(document))
    sentences, owners = chain_input(found.drafts)
    made = make_statements(page_id(url), found.drafts, owners, [Link()] * len(sentences))
    return PageStatements(page_id(url), url, found.title, found.language, made)


def suggester_of(folder: Path) -> Suggester:
    """Return the suggestions of all pages of a folder, each as a page that the operator chose."""
    sums: Sums = {}
    for file in sorted(folder.rglob("*.html")):
        host, _, path = str(file.relative_to(folder)).partition("/")
        if page := read_page(f"https://{host}/{path}", file.read_bytes()):
            add_page(sums, page, host, Consent.of_directives(()), is_chosen=True)
    found = suggestions_of(sums, 1, BlockedWords(()))
    return Suggester([Suggestion(each.text, each.weight, each.language) for each in found])


def measure(web: str, suggester: Suggester) -> dict[str, Any]:
    """Return the suggestions of each judged prefix of a web, and the share of them that a person could mean."""
    rows = [row for line in JUDGED.read_bytes().splitlines() if (row := orjson.loads(line))["web"] == web]
    shown = {row["prefix"]: [each.text for each in suggester.suggest(row["prefix"], "en", SHOWN)] for row in rows}
    refused = {row["prefix"]: set(row["no subject"]) for row in rows}
    texts = [(prefix, text) for prefix, found in shown.items() for text in found]
    good = sum(text not in refused[prefix] for prefix, text in texts)
    empty = [prefix for prefix, found in shown.items() if not found]
    return {
        "shown": shown,
        "prefixes": len(rows),
        "suggestions": len(texts),
        "a subject": good / max(len(texts), 1),
        "empty": empty,
    }


def main() -> None:
    with TemporaryDirectory() as folder:
        webs = {"handbooks": unpack(Path(folder)), "manuals": Path(sys.argv[1])}
        found = {name: measure(name, suggester_of(web)) for name, web in webs.items()}
    print(orjson.dumps(found, option=orjson.OPT_INDENT_2).decode())


if __name__ == "__main__":
    main()
