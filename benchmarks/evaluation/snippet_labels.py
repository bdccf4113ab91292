"""Labels that readers gave to snippets, beside the judgement of the rule.

FILE has a JSON object a line: `query`, `url`, `title`, `text`, `kind`, `context`, and `alone`: true if the snippet
reads alone, false if it doesn't, null while nobody has judged it. The last line about a snippet counts, and snippets
that are new are added at the end. `/labs/snippets` of `python -m benchmarks label` shows them and writes the labels.

`snippet_labels.jsonl` has labels without texts, which have other licences: the name of a snippet, a hash of what is
shown, and `alone`. **A language model gave them, by the rules on that page; no person has.**
"""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

from benchmarks.evaluation.snippet_rule import Snippet
from benchmarks.labelling.snippets import LabelledSnippet, parse_snippet
from streams.errors import UsageError
from streams.lines.jsonl import read_lines, read_rows

Labels = Mapping[str, bool | None]
"""The last label of each snippet, by its name."""
_KEPT = Path(__file__).with_name("snippet_labels.jsonl")


@dataclass(frozen=True, slots=True)
class Agreement:
    """The rule beside a reader, on the snippets that the reader has judged."""

    both: int
    """Number of snippets that read alone by the reader and by the rule."""
    only_reader: int
    only_rule: int
    neither: int

    def to_dict(self) -> dict[str, Any]:
        """Return the shares that read alone, the agreement, and both kinds of differences."""
        count = self.both + self.only_reader + self.only_rule + self.neither
        shares = {
            "reader": self.both + self.only_reader,
            "rule": self.both + self.only_rule,
            "agreement": self.both + self.neither,
        }
        return {
            "labelled": count,
            **{name: round(number / count, 3) if count else None for name, number in shares.items()},
            "kappa": self._kappa(count),
            "only_reader": self.only_reader,
            "only_rule": self.only_rule,
        }

    def _kappa(self, count: int) -> float | None:
        """Return Cohen's kappa: the agreement beyond chance. None where both give one label only."""
        reader, rule = self.both + self.only_reader, self.both + self.only_rule
        by_chance = reader * rule + (count - reader) * (count - rule)
        if by_chance == count * count:
            return None
        return round((count * (self.both + self.neither) - by_chance) / (count * count - by_chance), 3)


def read_labels(file: Path) -> Labels:
    """Return the labels of a file; a file that is missing or empty has none. Raises UsageError."""
    if not file.exists() or not any(True for _ in read_lines(file)):
        return {}
    return dict(_label(row, f"{file}, line {number}") for number, row in read_rows(file))


def _label(row: Mapping[str, Any], where: str) -> tuple[str, bool | None]:
    try:
        snippet = parse_snippet(row)
    except ValueError as error:
        raise UsageError(f"{where}: {error}") from error
    return snippet.name, snippet.alone


@cache
def kept_labels() -> Labels:
    """Return the labels that come with Riffle."""
    return {row["snippet"]: row["alone"] for _, row in read_rows(_KEPT)}


def to_label(snippet: Snippet) -> LabelledSnippet:
    """Return a snippet that nobody has judged."""
    return LabelledSnippet(snippet.query, snippet.url, snippet.text, snippet.kind, snippet.context, title=snippet.title)


def add_snippets(file: Path, snippets: Iterable[Snippet], known: Labels) -> int:
    """Write the snippets without a line, and return their number."""
    new = {each.name: each for each in map(to_label, snippets) if each.name not in known}
    with file.open("ab") as lines:
        lines.writelines(each.line for each in new.values())
    return len(new)


def compare(snippets: Sequence[Snippet], failures: Sequence[str], labels: Labels) -> Agreement:
    """Return how often the rule and the labels agree, over the snippets with a label."""
    counts = Counter(
        (label, not failure)
        for snippet, failure in zip(snippets, failures, strict=True)
        if (label := labels.get(to_label(snippet).name)) is not None
    )
    return Agreement(counts[True, True], counts[True, False], counts[False, True], counts[False, False])
