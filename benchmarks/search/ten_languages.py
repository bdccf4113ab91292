"""A web of pages in ten languages, and ten questions in six of them: which pages a search finds.

    python -m benchmarks ten-languages DIR

The pages are Debian's list of frequent questions and its translations (the packages `debian-faq` and `debian-faq-de`
to `debian-faq-zh-cn`, got by apt-get into DIR/packages and unpacked, not installed). DIR/web holds
faq.test/LANGUAGE/*.html: `riffle import DIR/web/faq.test --as https://faq.test/` makes a running stack search it. This
program asks the questions in its own process, with the model that the settings name. The right page of each question
was named before the first run.
"""

import shutil
from collections.abc import Sequence
from contextlib import AsyncExitStack
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Annotated
from urllib.parse import urlsplit

import typer

from benchmarks.documents.generators.packages import Packages
from benchmarks.evaluation.commands.in_process import search_in_process
from benchmarks.evaluation.search import open_run
from benchmarks.evaluation.sites import ask
from benchmarks.search.open_sets import read_web
from streams.commands.console import AsJson, command, out, print_json
from streams.plain_text import shorten
from streams.search.searcher import Searcher

HOST = "faq.test"
LANGUAGES = ("en", "de", "fr", "it", "ja", "ko", "nl", "pt", "ru", "zh-cn")
QUESTIONS = (
    # (language, question, right page in each language)
    ("de", "Wie halte ich mein System aktuell?", "uptodate"),
    ("de", "Woher bekomme ich Debian?", "getting-debian"),
    ("fr", "Comment puis-je obtenir de l'aide sur une mailing list ?", "support"),
    ("fr", "Quelle version de Debian dois-je choisir ?", "choosing"),
    ("ru", "Как собрать собственное ядро?", "kernel"),
    ("ru", "Что такое виртуальный пакет?", "pkg-basics"),
    ("ja", "カーネルを自分でコンパイルするには", "kernel"),
    ("ja", "パッケージの依存関係とは何ですか", "pkg-basics"),
    ("zh-cn", "如何为Debian做贡献？", "contributing"),
    ("it", "Posso vendere un CD con Debian?", "redistributing"),
)
MAX_TEXT_CHARS = 60


@dataclass(frozen=True, slots=True)
class Answered:
    """A question with the first result."""

    language: str
    question: str
    path: str
    text: str
    place: int
    """The place of the right page in the question's language; 0 if it is not among the first results."""
    any_place: int
    """The place of the first right page in any language."""


@command
async def run(
    folder: Annotated[Path, typer.Argument(metavar="DIR", help="Gets packages and pages.")], as_json: AsJson = False
) -> None:
    """Make a web in ten languages, and ask ten questions in six languages.

    Example:  python -m benchmarks ten-languages /tmp/languages
    """
    answered = await measure(make_web(folder))
    if as_json:
        print_json([asdict(each) for each in answered])
        return
    out.print("\n".join(rows(answered)), highlight=False, markup=False, soft_wrap=True)


def make_web(folder: Path) -> Path:
    """Return the folder of the web, with the pages of each language in a folder of their own."""
    packages, web = Packages(folder / "packages"), folder / "web"
    for language in LANGUAGES:
        name = "debian-faq" if language == "en" else f"debian-faq-{language}"
        pages = packages.binary(name) / "usr/share/doc/debian/FAQ" / ("" if language == "en" else language)
        target = web / HOST / language
        target.mkdir(parents=True, exist_ok=True)
        for page in sorted(pages.glob(f"*.{language}.html")):
            shutil.copy(page, target / f"{page.name.partition('.')[0]}.html")
    return web


async def measure(web: Path) -> list[Answered]:
    """Return the first results of the questions over the web."""
    pages = [page.document for page in read_web(web)]
    async with AsyncExitStack() as stack:
        opened = await open_run(stack, *search_in_process(), lambda step, done, of: None)
        _, index = await opened.index("ten languages", pages)
        searcher = opened.searcher(index)
        return [await _answer(searcher, *question) for question in QUESTIONS]


async def _answer(searcher: Searcher, language: str, question: str, right: str) -> Answered:
    hits = [page.hits[0].payload for page in (await ask(searcher, question)).pages]
    paths = [urlsplit(each.url).path for each in hits]
    own = f"/{language}/{right}.html"
    place = paths.index(own) + 1 if own in paths else 0
    in_any = [number for number, path in enumerate(paths, start=1) if path.endswith(f"/{right}.html")]
    text = " ".join(hits[0].text.split()) if hits else ""
    return Answered(language, question, paths[0] if paths else "", text, place, in_any[0] if in_any else 0)


def rows(answered: Sequence[Answered]) -> list[str]:
    """Return a table in Markdown."""
    lines = ["| question | first page | its first statement | right page |", "|---|---|---|---|"]
    for each in answered:
        text = shorten(each.text, MAX_TEXT_CHARS).replace("|", "\\|")
        other = f"in another language: place {each.any_place}" if each.any_place else "no"
        place = f"place {each.place}" if each.place else other
        lines.append(f"| {each.question} | `{each.path[1:]}` | {text} | {place} |")
    right = sum(each.place == 1 for each in answered)
    return [*lines, "", f"{right} of {len(answered)} questions have the right page first."]
