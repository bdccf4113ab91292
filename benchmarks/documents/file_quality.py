"""The quality of files that are not HTML, as documents: a Markdown table with a row for each file.

    python -m benchmarks files FILE... [--show 5]

The columns are made without a truth, so each is a sign of a fault and no proof of quality: `garbage` is the share of
words that no writer wrote, `order` the share of numbered headings that follow a smaller number, `anchors` the share of
statements with the number of their page. With --show a person reads blocks in a row at a place that a hash chooses.
"""

import re
import time
import unicodedata
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from hashlib import blake2b
from itertools import pairwise
from pathlib import Path
from typing import Annotated

import typer

from streams.commands.console import command
from streams.errors import Refused
from streams.pages.document.model import Block, Document
from streams.pages.formats.reading import convert, find_kind
from streams.pages.normalize import normalize_file
from streams.statements.drafting import draft_statements
from streams.statements.sentences.splitter import SentenceSplitter

HEADINGS = frozenset({"h1", "h2", "h3", "h4", "h5", "h6"})
MIN_NUMBERED = 5
"""Minimum numbered headings of a file whose order is judged."""
MIN_SPACED = 4
"""Minimum single letters in a row that are a word whose letters stand apart: `c h a p t e r`."""
_CUT_WORD = re.compile(r"[a-z]{2,}-\s(?!and |or |und |oder |to )[a-z]{2,}")
"""A word that was cut at the end of a line: `exam- ple`."""
_SPACED = re.compile(rf"(?:(?<!\S)[^\W\d_] ){{{MIN_SPACED},}}")
_NUMBER = re.compile(r"(?:Chapter |Section |Appendix )?(\d{1,3}(?:\.\d{1,3}){0,4})[.:]?\s")
_NEVER_WRITTEN = frozenset({"Co", "Cn", "Cs", "Cc"})
"""Unicode's categories of private use, of no character, of halves of characters, and of controls."""


@dataclass(frozen=True, slots=True)
class FileQuality:
    """A row of the table. A figure that a file can't have is None."""

    name: str
    kind: str
    title: str = ""
    words: int = 0
    headings: int = 0
    order: float | None = None
    anchors: float | None = None
    garbage: float | None = None
    seconds: float = 0.0
    """CPU time of the conversion and of the document."""
    refused: str = ""
    """The reason why the file is no document."""

    def row(self) -> str:
        """Return the row in Markdown."""
        if self.refused:
            return f"| {self.name} | refused: {self.refused} | | | | | | |"
        shares = (f"{share:.3f}" if share is not None else "-" for share in (self.order, self.anchors))
        cells = [self.name, self.title, f"{self.words:,}", str(self.headings), *shares]
        return f"| {' | '.join(cells)} | {100 * (self.garbage or 0):.2f} % | {self.seconds:.1f} |"


HEADER = """| file | title | words | headings | order | anchors | garbage | CPU seconds |
|---|---|---:|---:|---:|---:|---:|---:|"""


def measure(path: Path, splitter: SentenceSplitter) -> tuple[FileQuality, Document | None]:
    """Return the figures of a file and its document, which is None if the file is refused."""
    url, started = f"https://files.test/{path.name}", time.process_time()
    kind = ""
    try:
        body = path.read_bytes()
        kind = find_kind(body, {"content-type": "application/octet-stream"}, url)
        document = normalize_file(convert(kind, body, {}, url), kind=kind, url=url).document
    except Refused as error:
        return FileQuality(path.name, kind, refused=str(error)), None
    seconds = time.process_time() - started
    words = len(document.text.split())
    headings = [block.text for block in document.blocks if block.tag in HEADINGS]
    anchors = anchored(document, splitter) if document.facts.get("pages") else None
    garbage = sum(map(count_garbage, (block.text for block in document.blocks))) / max(words, 1)
    title = document.title[:60].replace("|", "/")
    found = FileQuality(path.name, kind, title, words, len(headings), order_of(headings), anchors, garbage, seconds)
    return found, document


def anchored(document: Document, splitter: SentenceSplitter) -> float:
    """Return the share of the statements that have the number of their page."""
    drafts = draft_statements(document, splitter)[0]
    return sum(draft.page > 0 for draft in drafts) / max(len(drafts), 1)


def order_of(headings: Sequence[str]) -> float | None:
    """Return the share of the numbered headings with a larger number than the one before; None for few of them."""
    numbers = [tuple(map(int, found[1].split("."))) for text in headings if (found := _NUMBER.match(text))]
    if len(numbers) < MIN_NUMBERED:
        return None
    return sum(one < other for one, other in pairwise(numbers)) / (len(numbers) - 1)


def count_garbage(text: str) -> int:
    """Return the number of words that no writer wrote: cut at a line's end, letters apart, characters of no script."""
    odd = sum(any(_is_odd(char) for char in word) for word in text.split())
    return odd + len(_CUT_WORD.findall(text)) + sum(len(found.split()) for found in _SPACED.findall(text))


def _is_odd(char: str) -> bool:
    return not char.isascii() and (char == "\ufffd" or unicodedata.category(char) in _NEVER_WRITTEN)


def blocks_to_read(document: Document, count: int) -> Sequence[Block]:
    """Return blocks in a row, at a place that only the document's text decides."""
    blocks = document.blocks
    place = int.from_bytes(blake2b(document.text.encode("utf-8", "replace"), digest_size=8).digest())
    first = place % max(len(blocks) - count + 1, 1)
    return blocks[first : first + count]


@command
def run(
    files: Annotated[list[Path], typer.Argument(exists=True, dir_okay=False, metavar="FILE...")],
    show: Annotated[int, typer.Option(min=0, max=50, help="Number of blocks of each file to print.")] = 0,
) -> None:
    """Measure files that are not HTML as documents: title, headings, their order, page numbers, garbage.

    Example:  python -m benchmarks files manuals/*.pdf manuals/*.epub --show 5
    """
    splitter, documents = SentenceSplitter(), list[tuple[Path, Document]]()
    print(HEADER)
    for path in files:
        quality, document = measure(path, splitter)
        print(quality.row(), flush=True)
        if document is not None:
            documents.append((path, document))
    for line in _lines_to_read(documents, show) if show else ():
        print(line)


def _lines_to_read(documents: Sequence[tuple[Path, Document]], show: int) -> Iterator[str]:
    for path, document in documents:
        yield f"\n{path.name}: {document.title}"
        for block in blocks_to_read(document, show):
            yield f"  {block.tag:3} {block.text[:300]}"
