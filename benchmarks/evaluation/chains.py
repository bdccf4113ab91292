"""Measures statement chains on labelled sentences: `python -m benchmarks eval chains FILE`.

FILE is a JSONL file with one sentence a line, in the format of `/labs/label`'s export:

    doc, i          document, and the sentence's place in it
    sent_id, text
    needs_context   true if a pronoun or demonstrative of the sentence has its antecedent in an earlier sentence;
                    null for a sentence without a label, which is read and not measured
    deps            its dependencies; if `via` is "coref" and `form` "pron3", "dem" or "label", `to` names the sentence
                    with the nearest antecedent, and `nominal_to` the sentence that names the entity (or null)

A chain is made by the stage's own code, within its limits of hops and words.
"""

import re
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from reprlib import repr as shown
from typing import Any

from streams.errors import UsageError
from streams.lines.jsonl import read_rows
from streams.models.protocols import Link
from streams.statements.chaining import MAX_HOPS, chain_of
from streams.statements.sentences.lengths import word_count

REFERRING = frozenset({"pron3", "dem", "label"})
"""Forms of mentions that make a sentence need context: third-person pronouns, demonstratives, labels of people."""
_REFERRING_WORDS = re.compile(
    r"\b(?:he|she|it|they|him|her|them|his|hers|its|their|theirs|himself|herself|itself|themselves|this|that|these|"
    r"those)\b",
    re.IGNORECASE,
)
_FIRST_WORDS = 6
"""Number of words at a sentence's start that the narrower pronoun rule reads."""


@dataclass(frozen=True, slots=True)
class LabelledSentence:
    """One sentence of a document, with the places of its antecedents in the document."""

    text: str
    needs: bool | None
    """True if the sentence needs an earlier one. None: it has no label."""
    nominal: frozenset[int] = frozenset()
    """The sentences that name the entity that it refers to."""
    nearest: int = -1
    """The nearest sentence with an antecedent, or -1."""


@dataclass(frozen=True, slots=True)
class ChainQuality:
    """The quality of chains, as shares (0..1)."""

    contained: float
    """Share of chains with a naming sentence, among the sentences that need context and have a named antecedent."""
    added: float
    """Share of the other sentences that got a chain."""
    nearest_f1: float
    """F1 of the most probable antecedent of each chain, compared with the nearest sentence that has an antecedent."""
    antecedents: float
    """Mean number of antecedents in a chain."""

    def to_dict(self) -> dict[str, float]:
        return asdict(self)


Document = Sequence[LabelledSentence]
Chains = Sequence[Sequence[int]]
"""The antecedents of each sentence of a document, the most probable first."""


def measure_quality(documents: Sequence[tuple[Document, Chains]]) -> ChainQuality:
    """Return the quality of the chains of these documents."""
    pairs = [
        (sentence, chain)
        for document, chains in documents
        for sentence, chain in zip(document, chains, strict=True)
        if sentence.needs is not None
    ]
    named = [(sentence, chain) for sentence, chain in pairs if sentence.needs and sentence.nominal]
    others = [chain for sentence, chain in pairs if not sentence.needs]
    made = [chain for _, chain in pairs if chain]
    return ChainQuality(
        contained=_share(sum(not sentence.nominal.isdisjoint(chain) for sentence, chain in named), len(named)),
        added=_share(sum(map(bool, others)), len(others)),
        nearest_f1=_nearest_f1(pairs),
        antecedents=_share(sum(map(len, made)), len(made)),
    )


def _nearest_f1(pairs: Sequence[tuple[LabelledSentence, Sequence[int]]]) -> float:
    wanted = sum(bool(sentence.needs) and sentence.nearest >= 0 for sentence, _ in pairs)
    given = sum(bool(chain) for _, chain in pairs)
    right = sum(bool(sentence.needs and chain) and chain[0] == sentence.nearest for sentence, chain in pairs)
    return _share(2 * right, wanted + given)


def _share(part: int, whole: int) -> float:
    return round(part / whole, 4) if whole else 0.0


def chains_of(links: Sequence[Link], texts: Sequence[str]) -> Chains:
    """Return the chains that the stage makes of a document without headings."""
    words = [word_count(text) for text in texts]
    return [chain_of(position, links, words) for position in range(len(links))]


def compare_baselines(documents: Sequence[Document]) -> dict[str, ChainQuality]:
    """Return the quality of the simple ways to chain, by their names. Only the number of hops bounds their chains."""
    ways = {
        "never": [_by_rule(document, 0, _never) for document in documents],
        "always previous, one hop": [_by_rule(document, 1, _always) for document in documents],
        "always previous, six hops": [_by_rule(document, MAX_HOPS, _always) for document in documents],
        "pronoun anywhere": [_by_rule(document, MAX_HOPS, _refers) for document in documents],
        "pronoun near the start": [_by_rule(document, MAX_HOPS, _refers_early) for document in documents],
    }
    return {name: measure_quality(list(zip(documents, chains, strict=True))) for name, chains in ways.items()}


def _never(text: str) -> bool:
    return False


def _always(text: str) -> bool:
    return True


def _refers(text: str) -> bool:
    return _REFERRING_WORDS.search(text) is not None


def _refers_early(text: str) -> bool:
    return _refers(" ".join(text.split()[:_FIRST_WORDS]))


def _by_rule(document: Document, hops: int, needs: Any) -> Chains:
    """Return chains of previous sentences, as long as each sentence needs the one before it."""
    chains: list[list[int]] = []
    for number, sentence in enumerate(document):
        chain: list[int] = []
        if number and needs(sentence.text):
            chain = [number - 1, *chains[number - 1]][:hops]
        chains.append(chain)
    return chains


def read_documents(path: Path) -> dict[str, Document]:
    """Return the labelled documents of a file by their names. Raises UsageError with the first invalid line."""
    rows: dict[str, list[tuple[int, dict[str, Any]]]] = defaultdict(list)
    for number, row in read_rows(path):
        try:
            _check(row)
            rows[row["doc"]].append((number, row))
        except (KeyError, TypeError, ValueError, OverflowError) as error:
            raise UsageError(f"{path}, line {number}: not a labelled sentence ({error!r}); see --help") from error
    return {name: _document(path, sorted(lines, key=lambda line: int(line[1]["i"]))) for name, lines in rows.items()}


def _check(row: Mapping[str, Any]) -> None:
    """Raise KeyError, TypeError, ValueError or OverflowError for a row that is not a labelled sentence."""
    int(row["i"])
    for name in ("doc", "sent_id", "text"):
        if not isinstance(row[name], str):
            raise TypeError(f"{name!r} is {shown(row[name])}, and should be a text")
    if row["needs_context"] not in (None, True, False):  # a text, such as "no", would count as true
        raise ValueError(f"'needs_context' is {shown(row['needs_context'])}, and should be true, false or null")


def _document(path: Path, lines: Sequence[tuple[int, dict[str, Any]]]) -> Document:
    index = {row["sent_id"]: place for place, (_, row) in enumerate(lines)}
    sentences = []
    for place, (number, row) in enumerate(lines):
        try:
            referring = [dep for dep in row["deps"] if dep["via"] == "coref" and dep["form"] in REFERRING]
            nominal = _earlier((dep.get("nominal_to") for dep in referring), index, place)
            nearest = max(_earlier((dep["to"] for dep in referring), index, place), default=-1)
        except (KeyError, TypeError) as error:
            raise UsageError(f"{path}, line {number}: not a list of dependencies ({error!r}); see --help") from error
        needs = None if row["needs_context"] is None else bool(row["needs_context"])
        sentences.append(LabelledSentence(row["text"], needs, nominal, nearest))
    return sentences


def _earlier(names: Iterable[str | None], index: dict[str, int], place: int) -> frozenset[int]:
    return frozenset(index[name] for name in names if name is not None and index.get(name, place) < place)
