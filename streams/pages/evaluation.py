"""How good the extraction is, beside others on the same pages in the same run: `riffle eval extract DIR`.

DIR holds `html/ID.html` (or `.html.gz`) and `truth/ID.json` with `main_content`, `title`, `author` and `publish_date`, at the
top or below `ground_truth`. Word F1 is of the multisets of lower-cased `\\w+`, 4-gram F1 of their shingles; both are means
over pages. Speed is pages per second of this process's CPU time.
"""

import gzip
import json
import re
from collections import Counter
from collections.abc import Hashable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import TypeVar

from streams.errors import UsageError

_WORD = re.compile(r"\w+")
_T = TypeVar("_T", bound=Hashable)


@dataclass(frozen=True, slots=True)
class Page:
    """One page and what people say that it holds."""

    id: str
    url: str
    type: str
    html: bytes
    main_content: str
    title: str = ""
    author: str = ""
    published: str = ""


def load_pages(directory: Path, limit: int | None = None) -> Iterator[Page]:
    """The pages by id. Raises UsageError when DIR is not laid out so."""
    truths = sorted((directory / "truth").glob("*.json"))
    if not truths:
        raise UsageError(f"{directory}/truth holds no .json file; expected DIR/html/ID.html and DIR/truth/ID.json")
    for path in truths[:limit]:
        yield _page(directory, path)


def _page(directory: Path, path: Path) -> Page:
    try:
        stored = json.loads(path.read_text(encoding="utf-8"))
    except ValueError as error:
        raise UsageError(f"{path} is not JSON: {error}") from error
    truth = stored.get("ground_truth") or stored
    plain = directory / "html" / f"{path.stem}.html"
    packed = plain.with_suffix(".html.gz")
    try:
        html = gzip.decompress(packed.read_bytes()) if packed.exists() else plain.read_bytes()
    except OSError as error:
        raise UsageError(f"{path.stem}: its HTML can't be read: {error}") from error
    kind = (stored.get("_internal") or {}).get("page_type") or stored.get("page_type") or ""
    if isinstance(kind, dict):
        kind = kind.get("primary") or ""
    return Page(
        id=path.stem,
        url=stored.get("url") or f"https://{path.stem}.example/",
        type=kind or "all",
        html=html,
        main_content=truth.get("main_content") or "",
        title=truth.get("title") or "",
        author=truth.get("author") or "",
        published=truth.get("publish_date") or "",
    )


def words_of(text: str) -> list[str]:
    return _WORD.findall(text.lower())


def word_f1(found: Counter[_T], truth: Counter[_T]) -> float:
    """Of two multisets. Two empty ones are equal."""
    size = found.total() + truth.total()
    return 2 * (found & truth).total() / size if size else 1.0
