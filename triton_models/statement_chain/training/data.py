"""Labelled sentences -> examples: token ids, and what each sentence needs.

A line of the JSONL files is one sentence with its document, its order and its dependencies on earlier sentences (the
format that `/labs/label/export` has, and that the GUM corpus was converted to). Of a document's sentences one example
is made for each window.
"""

import json
from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from tokenizers import Tokenizer

from streams.models.inference.chain_windows import MAX_SENTENCE_TOKENS

REFERRING = frozenset({"pron3", "dem", "label"})
"""Forms of mentions that make a sentence need context: third-person pronouns, demonstratives, and labels of people."""
POINTING = frozenset({"def", "name", "other"})
"""Further forms whose antecedents the network learns to find, as practice."""
NO_LEAF = frozenset({"organization-preparation", "organization-phatic", "organization-heading"})
"""Discourse relations of a sentence that only prepares another one, or only keeps a conversation alive."""


@dataclass(slots=True)
class Sentence:
    """One labelled sentence of a document."""

    ids: list[int]
    needs: bool
    leaf: bool
    labelled: bool = True
    """False: it is only read as context."""
    antecedents: frozenset[int] = frozenset()
    """Indices of the sentences with a nominal antecedent, else with the nearest one."""
    referring: tuple[int, ...] = ()
    """Positions of the tokens that refer to earlier sentences."""
    pointing: tuple[tuple[int, frozenset[int]], ...] = ()
    """Positions of further mentions, and the sentences of their antecedents."""


@dataclass(slots=True)
class Document:
    name: str
    sentences: list[Sentence] = field(default_factory=list)


def read_documents(paths: Iterable[Path], tokenizer: Tokenizer) -> list[Document]:
    """All documents of these files, in their order."""
    rows: dict[str, list[dict[str, Any]]] = defaultdict(list)
    for path in paths:
        with path.open(encoding="utf-8") as file:
            for line in file:
                row = json.loads(line)
                rows[row["doc"]].append(row)
    return [_document(name, sorted(lines, key=lambda row: row["i"]), tokenizer) for name, lines in rows.items()]


def _document(name: str, rows: Sequence[dict[str, Any]], tokenizer: Tokenizer) -> Document:
    index = {row["sent_id"]: number for number, row in enumerate(rows)}
    encodings = tokenizer.encode_batch([row["text"] for row in rows], add_special_tokens=False)
    return Document(
        name,
        [
            _sentence(row, number, encoding.ids[: MAX_SENTENCE_TOKENS - 1], index, tokenizer)
            for number, (row, encoding) in enumerate(zip(rows, encodings, strict=True))
        ],
    )


def _sentence(
    row: dict[str, Any], number: int, ids: list[int], index: dict[str, int], tokenizer: Tokenizer
) -> Sentence:
    mentions = [dep for dep in row["deps"] if dep["via"] == "coref"]
    referring = [dep for dep in mentions if dep["form"] in REFERRING]
    relations = {dep["relation"].removesuffix("_m") for dep in row["deps"] if dep["via"] == "erst"}
    nominal = _targets((dep.get("nominal_to") for dep in referring), index, number)
    nearest = _targets((dep["to"] for dep in referring), index, number)
    return Sentence(
        ids=ids,
        needs=bool(row["needs_context"]),
        leaf=row["leaf"] is True if "leaf" in row else not row["needs_context"] and not relations & NO_LEAF,
        labelled=row["needs_context"] is not None,
        antecedents=(nominal or nearest) if row["needs_context"] else frozenset(),
        referring=tuple(
            {place for dep in referring if (place := _place(dep.get("mention", ""), ids, tokenizer)[0]) is not None}
        ),
        pointing=tuple(_pointing(mentions, ids, index, number, tokenizer)),
    )


def _pointing(
    mentions: Sequence[dict[str, Any]], ids: list[int], index: dict[str, int], number: int, tokenizer: Tokenizer
) -> Iterable[tuple[int, frozenset[int]]]:
    for dep in mentions:
        targets = _targets((dep["to"], dep.get("nominal_to")), index, number)
        last = _place(dep.get("mention", ""), ids, tokenizer)[1]
        if dep["form"] in POINTING | REFERRING and targets and last is not None:
            yield last, targets


def _targets(names: Iterable[str | None], index: dict[str, int], number: int) -> frozenset[int]:
    return frozenset(index[name] for name in names if name in index and index[name] < number)


def _place(mention: str, ids: Sequence[int], tokenizer: Tokenizer) -> tuple[int | None, int | None]:
    """The positions of a mention's first and last token, or None where it isn't found (its spacing may differ)."""
    wanted = tokenizer.encode(mention, add_special_tokens=False).ids
    for start in range(len(ids) - len(wanted) + 1):
        if wanted and ids[start : start + len(wanted)] == wanted:
            return start, start + len(wanted) - 1
    return None, None
