"""Texts for the models: statements as the embed stage gives them to its model, and the sentences of pages for chains.

They come from pages, by the code of the stages, or from a file that an earlier run wrote: so a machine that only serves
models needs no pages and no parsers.
"""

import json
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

from streams.errors import UsageError


@dataclass(frozen=True, slots=True)
class ModelTexts:
    statements: tuple[str, ...]
    pages: tuple[tuple[str, ...], ...]
    """The sentences of each page. An empty sentence is a break."""

    def save(self, path: Path) -> None:
        path.write_text(json.dumps(asdict(self), ensure_ascii=False))

    @classmethod
    def read(cls, path: Path) -> "ModelTexts":
        """Read what `save` wrote. Raises UsageError."""
        try:
            found = json.loads(path.read_text())
            return cls(tuple(map(str, found["statements"])), tuple(tuple(map(str, page)) for page in found["pages"]))
        except (OSError, ValueError, KeyError, TypeError) as error:
            raise UsageError(f"{path} holds no texts of this benchmark ({error}): write it by --save-texts") from error


def texts_of_pages(web: Path, pages: int) -> ModelTexts:
    """Return the texts of pages that are spread evenly over the folder. Links between sentences are by rule."""
    from benchmarks.models.embed import drafts_of, statements_of
    from streams.statements.chaining import chain_input
    from streams.vectors.points import texts_of

    sentences = tuple(tuple(chain_input(found.drafts)[0]) for _, found in drafts_of(web, pages))
    statements = tuple(text for page in statements_of(web, pages) for text in texts_of(page))
    return ModelTexts(statements, tuple(page for page in sentences if page))


def spread_by_length(texts: Sequence[str], count: int) -> list[str]:
    """Return texts of all lengths: at most `count`, evenly spread over the texts in the order of their lengths."""
    ordered = sorted(set(texts), key=lambda text: (len(text), text))
    if len(ordered) <= count:
        return ordered
    step = (len(ordered) - 1) / max(count - 1, 1)
    return [ordered[round(number * step)] for number in range(count)]
