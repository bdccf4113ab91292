"""Labels that people gave to snippets, beside the judgement of the rule.

FILE has a JSON object a line: `query`, `url`, `text`, `kind`, `context`, and `alone`: true if the snippet reads alone,
false if it doesn't, null while nobody has judged it. A line that was written is never changed: snippets that are new
are added at the end.
"""

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from streams.errors import UsageError
from streams.evaluation.snippet_rule import Snippet
from streams.jsonl import read_lines, read_rows

Key = tuple[str, str, str, tuple[str, ...]]
Labels = Mapping[Key, bool | None]


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


def _label(row: Mapping[str, Any], where: str) -> tuple[Key, bool | None]:
    texts, context, alone = [row.get(name) for name in ("url", "text", "kind")], row.get("context"), row.get("alone")
    if not all(isinstance(text, str) for text in texts) or not isinstance(context, list):
        raise UsageError(f"{where}: expected url, text, kind, and context as a list")
    if alone is not None and not isinstance(alone, bool):
        raise UsageError(f"{where}: alone is true, false or null")
    url, text, kind = map(str, texts)
    return (url, text, kind, tuple(map(str, context))), alone


def key_of(snippet: Snippet) -> Key:
    """Return what a label is about: the snippet as it is shown, and not the query."""
    return snippet.url, snippet.text, snippet.kind, snippet.context


def add_snippets(file: Path, snippets: Iterable[Snippet], known: Labels) -> int:
    """Write the snippets without a line, and return their number."""
    new = {key_of(snippet): snippet for snippet in snippets if key_of(snippet) not in known}
    with file.open("a", encoding="utf-8") as lines:
        for each in new.values():
            row: dict[str, Any] = {"query": each.query, "url": each.url, "text": each.text, "kind": each.kind}
            row |= {"context": list(each.context), "alone": None}
            lines.write(json.dumps(row, ensure_ascii=False) + "\n")
    return len(new)


def compare(snippets: Sequence[Snippet], failures: Sequence[str], labels: Labels) -> Agreement:
    """Return how often the rule and the labels agree, over the snippets with a label."""
    judged = [
        (label, not failure)
        for snippet, failure in zip(snippets, failures, strict=True)
        if (label := labels.get(key_of(snippet))) is not None
    ]
    return Agreement(
        len(judged),
        sum(person for person, _ in judged),
        sum(rule for _, rule in judged),
        sum(person == rule for person, rule in judged),
    )
