"""Labels of statements in seven languages: whether a reader understands the statement without the page.

    python -m benchmarks.labelling.standing DIR

The pages are from packages of Debian (SITES), got by apt-get into DIR and unpacked, not installed. A statement is
judged with its title, its headings and its lead-in, and without the sentences before it. `standing.jsonl` has a label
and no text, since the texts have licences of their own: this program finds the texts again by their hashes, and writes
them with the labels to DIR/labelled.jsonl, for the training.

**A language model gave the labels, before it saw an answer of the code; no person has.** Sites in HELD_OUT have no part
in a training: the pages of a site have one author and one form.
"""

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from hashlib import blake2b
from pathlib import Path
from typing import Annotated

import typer

from benchmarks.documents.generators.packages import Packages
from streams.commands.console import command, out
from streams.lines.jsonl import read_rows
from streams.pages.document.codec import encode_document
from streams.pages.document.model import Document
from streams.pages.normalize import normalize
from streams.statements.sandbox_tasks import decode_drafts, draft

GUIDE = ("start.{}.html", "first.{}.html", "build.{}.html")
REFERENCE = ("ch01.{}.html", "ch10.{}.html")
FAQ = ("{0}/support.{0}.html", "{0}/pkg-basics.{0}.html", "{0}/uptodate.{0}.html", "{0}/choosing.{0}.html")
SITES: Mapping[str, Mapping[str, tuple[str, str, Sequence[str]]]] = {
    # site: {language: (package, folder below usr/share, pages)}
    "maint-guide": {
        language: (f"maint-guide-{tag}", f"doc/maint-guide-{tag}/html", [page.format(tag) for page in GUIDE])
        for language, tag in (("de", "de"), ("fr", "fr"), ("es", "es"), ("ru", "ru"), ("ja", "ja"), ("zh", "zh-cn"))
    },
    "debian-reference": {
        language: (f"debian-reference-{tag}", "debian-reference", [page.format(tag) for page in REFERENCE])
        for language, tag in (("de", "de"), ("fr", "fr"), ("es", "es"), ("ja", "ja"), ("zh", "zh-cn"))
    },
    "zsh": {"en": ("zsh-doc", "doc/zsh-common/html", ("Shell-Grammar.html", "Introduction.html", "Redirection.html"))},
    "exim": {
        "en": (
            "exim4-doc-html",
            "doc/exim4-doc-html/spec_html",
            ("ch-retry_configuration.html", "ch-embedded_perl.html", "ch-how_exim_receives_and_delivers_mail.html"),
        )
    },
    "flask": {
        "en": ("python-flask-doc", "doc/python-flask-doc/html", ["design.html", "quickstart.html", "templating.html"])
    },
    "policy": {
        "en": ("debian-policy", "doc/debian-policy/policy.html", ["ch-archive.html", "ch-binary.html", "ch-files.html"])
    },
    "debian-faq": {
        language: (f"debian-faq-{tag}", "doc/debian/FAQ", [page.format(tag) for page in FAQ])
        for language, tag in (("de", "de"), ("fr", "fr"), ("ru", "ru"), ("ja", "ja"), ("zh", "zh-cn"))
    },
    "aptitude": {
        language: (f"aptitude-doc-{language}", "doc/aptitude/html", [f"{language}/{page}.html" for page in PAGES])
        for PAGES in (("ch01s01s02", "ch02s02s02", "ch02s02s06", "ch02s03s03", "ch02s06", "ch03", "pr01s03"),)
        for language in ("es", "ru")
    },
}
HELD_OUT = frozenset({"policy", "debian-faq", "aptitude"})
_LABELS = Path(__file__).with_name("standing.jsonl")


@dataclass(frozen=True, slots=True)
class Standing:
    """A statement to judge. `alone` is None while nobody has."""

    site: str
    language: str
    title: str
    context: tuple[str, ...]
    text: str
    kind: str
    alone: bool | None = None

    @property
    def name(self) -> str:
        """The name of what a reader judges."""
        return blake2b(json.dumps([self.title, self.context, self.text, self.kind]).encode(), digest_size=8).hexdigest()

    def labelled(self, alone: bool) -> "Standing":
        return replace(self, alone=alone)


def drafts_of(site: str, language: str, document: Document) -> list[Standing]:
    """Return the statements of a page, with their structural context, that its readers surely see."""
    found = decode_drafts(draft(encode_document(document)))
    return [
        Standing(site, language, found.title, each.context, each.text, each.kind)
        for each in found.drafts
        if not each.doubtful
    ]


def read_statements(packages: Packages) -> Iterator[tuple[str, list[Standing]]]:
    """Yield each page as its file's name and its statements, in their order."""
    for site, languages in SITES.items():
        for language, (package, folder, pages) in languages.items():
            for page in pages:
                file = packages.binary(package) / "usr/share" / folder / page
                document = normalize(file.read_bytes(), url=f"https://{site}.test/{language}/{file.name}").document
                yield f"{site}/{language}/{file.name}", drafts_of(site, language, document)


def read_labels() -> dict[str, bool]:
    return {row["statement"]: row["alone"] for _, row in read_rows(_LABELS)}


@command
def run(folder: Annotated[Path, typer.Argument(metavar="DIR", help="Gets packages, and labelled.jsonl.")]) -> None:
    """Find the texts of the labels again."""
    labels = read_labels()
    labelled = [
        {**asdict(each), "alone": labels[each.name]}
        for _, statements in read_statements(Packages(folder))
        for each in statements
        if each.name in labels
    ]
    file = folder / "labelled.jsonl"
    file.write_text("".join(f"{json.dumps(row, ensure_ascii=False)}\n" for row in labelled), encoding="utf-8")
    out.print(f"{file}: {len(labelled)} of {len(labels)} labels")


if __name__ == "__main__":
    typer.run(run)
