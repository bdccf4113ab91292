"""Labels that people gave to snippets, beside the judgement of the rule.

FILE has a JSON object a line: `query`, `url`, `text`, `kind`, `context`, and `alone`: true if the snippet reads alone,
false if it doesn't, null while nobody has judged it. The last line about a snippet counts, and snippets that are new
are added at the end. `/labs/snippets` of the gateway shows them and writes the labels, and has the format.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from streams.errors import UsageError
from streams.evaluation.snippet_rule import Snippet
from streams.gateway.labs.snippets import LabelledSnippet, SnippetKey, parse_snippet
from streams.jsonl import read_lines, read_rows

Labels = Mapping[SnippetKey, bool | None]


@dataclass(frozen=True, slots=True)
class Agreement:
    """The rule beside a person, on the snippets that the person has judged."""

    labelled: int
    alone_by_person: int
    alone_by_rule: int
    equal: int

    def to_dict(self) -> dict[str, Any]:
        shares = (self.alone_by_person, self.alone_by_rule, self.equal)
        person, rule, equal = (round(count / self.labelled, 3) if self.labelled else None for count in shares)
        return {"labelled": self.labelled, "person": person, "rule": rule, "agreement": equal}


def read_labels(file: Path) -> Labels:
    """Return the labels of a file; a file that is missing or empty has none. Raises UsageError."""
    if not file.exists() or not any(True for _ in read_lines(file)):
        return {}
    return dict(_label(row, f"{file}, line {number}") for number, row in read_rows(file))


def _label(row: Mapping[str, Any], where: str) -> tuple[SnippetKey, bool | None]:
    try:
        snippet = parse_snippet(row)
    except ValueError as error:
        raise UsageError(f"{where}: {error}") from error
    return snippet.key, snippet.alone


def to_label(snippet: Snippet) -> LabelledSnippet:
    """Return a snippet that nobody has judged."""
    return LabelledSnippet(snippet.query, snippet.url, snippet.text, snippet.kind, snippet.context)


def add_snippets(file: Path, snippets: Iterable[Snippet], known: Labels) -> int:
    """Write the snippets without a line, and return their number."""
    new = {each.key: each for each in map(to_label, snippets) if each.key not in known}
    with file.open("ab") as lines:
        lines.writelines(each.line for each in new.values())
    return len(new)


def compare(snippets: Sequence[Snippet], failures: Sequence[str], labels: Labels) -> Agreement:
    """Return how often the rule and the labels agree, over the snippets with a label."""
    judged = [
        (label, not failure)
        for snippet, failure in zip(snippets, failures, strict=True)
        if (label := labels.get(to_label(snippet).key)) is not None
    ]
    return Agreement(
        len(judged),
        sum(person for person, _ in judged),
        sum(rule for _, rule in judged),
        sum(person == rule for person, rule in judged),
    )
