"""The ablation: the same documents, queries and ranking over other units than statements in their context.

page                     the whole page with its title, up to the model's maximum of tokens
tokens-256               windows of 256 tokens, without context
sentence                 statements without context
sentence+context         statements with title, headings and lead-ins
sentence+context+chain   the same with the sentences that they need: what Riffle indexes
"""

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from tokenizers import Tokenizer

from benchmarks.evaluation.indexing import Progress, change_statements, pages_of
from schemas.ids import page_id, statement_id
from streams.models.inference.repository import LOCAL_REPOSITORY, find_file, parameters_of, read_config
from streams.models.inprocess import VERSION
from streams.models.protocols import ChainModel, Link
from streams.pages.document.model import Document
from streams.settings import Settings
from streams.statements.statement import PageStatements, Statement

WINDOW_TOKENS = 256
CHAINED = "sentence+context+chain"
"""The variant that Riffle indexes."""


class NoChains:
    """A chain model by which no sentence needs another."""

    async def links(self, sentences: Sequence[str], *, deadline_seconds: float | None = None) -> list[Link]:
        return [Link()] * len(sentences)


async def variants(
    documents: Sequence[Document], chained: Sequence[PageStatements], settings: Settings, progress: Progress | None
) -> dict[str, list[PageStatements]]:
    """Return the pages of each variant except the variant that Riffle indexes."""
    no_chains: ChainModel = NoChains()
    tokenizer = local_tokenizer(settings)
    return {
        "page": [_page(document, [(0, len(document.text))], document.title) for document in documents],
        "tokens-256": [_page(document, _windows(tokenizer, document.text)) for document in documents],
        "sentence": [change_statements(page, _drop_context) for page in chained],
        "sentence+context": await pages_of(documents, no_chains, progress),
    }


def local_tokenizer(settings: Settings) -> Tokenizer:
    """Return the tokenizer of the local model. Raises UsageError when its file is missing."""
    folder: Path = settings.models_path / LOCAL_REPOSITORY / settings.triton.model
    file = find_file(parameters_of(read_config(folder)), "tokenizer", folder / VERSION)
    tokenizer = Tokenizer.from_file(str(file))
    tokenizer.no_truncation()
    tokenizer.no_padding()
    return tokenizer


def _drop_context(statement: Statement) -> Statement:
    return replace(statement, context=())


def _page(document: Document, spans: Sequence[tuple[int, int]], context: str = "") -> PageStatements:
    identity = page_id(document.url)
    found = [
        Statement(statement_id(identity, ordinal, ""), ordinal, document.text[start:end], (context,) if context else ())
        for ordinal, (start, end) in enumerate(spans)
    ]
    return PageStatements(identity, document.url, document.title, document.language, tuple(found))


def _windows(tokenizer: Tokenizer, text: str) -> list[tuple[int, int]]:
    """Return the spans of a text's windows, each of WINDOW_TOKENS tokens."""
    offsets = tokenizer.encode(text, add_special_tokens=False).offsets
    windows = [offsets[start : start + WINDOW_TOKENS] for start in range(0, len(offsets), WINDOW_TOKENS)]
    return [(window[0][0], window[-1][1]) for window in windows] or [(0, len(text))]
