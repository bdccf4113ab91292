"""The snippets that people label, and the format of their file: `snippets.jsonl` in the folder of labels. Pure.

`python -m benchmarks eval snippets --label FILE` writes a line for each shown snippet, and people say whether it reads
alone. A line that was written is never changed: the last line about a snippet counts, and a label is a line at the end.
"""

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from hashlib import blake2b
from typing import Any

FILE_NAME = "snippets.jsonl"
SnippetKey = tuple[str, str, str, tuple[str, ...]]


@dataclass(frozen=True, slots=True)
class LabelledSnippet:
    """A statement as a reader of results sees it, and the label of a person."""

    query: str
    url: str
    text: str
    kind: str
    context: tuple[str, ...]
    alone: bool | None = None
    """True if the snippet reads alone, None while nobody has judged it."""
    title: str = ""
    """The title of the page, which stands above the snippet."""

    @property
    def key(self) -> SnippetKey:
        """The snippet as it is shown, which the label is about, without the query and the page's title."""
        return self.url, self.text, self.kind, self.context

    @property
    def name(self) -> str:
        """A name of the key for forms and addresses."""
        return blake2b(json.dumps(self.key).encode(), digest_size=12).hexdigest()

    @property
    def line(self) -> bytes:
        """The line of the file, with its end. Half of a pair of surrogates is left as an escape."""
        return (json.dumps(asdict(self)) + "\n").encode()


def parse_snippet(row: Mapping[str, Any]) -> LabelledSnippet:
    """Return the snippet of a line. Raises ValueError."""
    texts, context, alone = [row.get(name) for name in ("url", "text", "kind")], row.get("context"), row.get("alone")
    if not all(isinstance(text, str) for text in texts) or not isinstance(context, list):
        raise ValueError("expected url, text, kind, and context as a list")
    if alone is not None and not isinstance(alone, bool):
        raise ValueError("alone is true, false or null")
    url, text, kind = map(str, texts)
    query, title = (str(row.get(name, "")) for name in ("query", "title"))
    return LabelledSnippet(query, url, text, kind, tuple(map(str, context)), alone, title)


def read_snippets(lines: Iterable[str]) -> Iterator[LabelledSnippet]:
    """Yield the snippets of these lines. A line that a crash cut short, or that a person broke, is left out."""
    for line in lines:
        try:
            row = json.loads(line)
            if isinstance(row, dict):
                yield parse_snippet(row)
        except (ValueError, RecursionError):
            continue


@dataclass(frozen=True, slots=True)
class SnippetTask:
    """The snippet to label next, and the progress."""

    snippet: LabelledSnippet | None
    place: int
    """The place of the snippet in the file, from 0."""
    count: int
    labelled: int
    alone: int
    """Number of labelled snippets that read alone."""
    last: LabelledSnippet | None
    """The snippet that was labelled last."""


def next_snippet(snippets: Sequence[LabelledSnippet], passed: frozenset[int]) -> SnippetTask:
    """Return the first snippet without a label that was not passed over. `snippets` are all lines, in their order."""
    latest = _latest(snippets)
    current = list(latest.values())
    done = [each for each in current if each.alone is not None]
    place = next((n for n, each in enumerate(current) if each.alone is None and n not in passed), -1)
    return SnippetTask(
        current[place] if place >= 0 else None,
        place,
        len(current),
        len(done),
        sum(each.alone is True for each in done),
        _last_labelled(snippets, latest),
    )


def last_labelled(snippets: Sequence[LabelledSnippet]) -> LabelledSnippet | None:
    """Return the snippet whose label was written last, and was not taken back."""
    return _last_labelled(snippets, _latest(snippets))


def _last_labelled(
    snippets: Sequence[LabelledSnippet], latest: Mapping[SnippetKey, LabelledSnippet]
) -> LabelledSnippet | None:
    return next((each for each in reversed(snippets) if each.alone is not None and latest[each.key] is each), None)


def _latest(snippets: Iterable[LabelledSnippet]) -> dict[SnippetKey, LabelledSnippet]:
    """Return the last line about each snippet, in the order of the first lines."""
    return {each.key: each for each in snippets}


def judged(snippets: Iterable[LabelledSnippet], name: str, alone: bool | None) -> LabelledSnippet | None:
    """Return the snippet of this name with another label; None if there is no such snippet."""
    found = next((each for each in snippets if each.name == name), None)
    return None if found is None else replace(found, alone=alone)
