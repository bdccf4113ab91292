"""The queries over the second web, the judgements of the snippets that they show first, and the figures of both. Pure.

A judgement has no text of a page, since the pages have licences of their own: it has a hash of what was shown.
**A language model gave the judgements, by the rules below; no person has.**
"""

import json
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from hashlib import blake2b
from pathlib import Path
from typing import Any

from streams.lines.jsonl import read_rows

VERDICTS = {
    "answers": "the snippet says what was asked, or that its page is the thing that was named",
    "reads well": "a reader understands it, and it is about the subject, but it does not answer",
    "bad": "nobody understands it alone, or it is about something else, or it is a line of the site's frame",
}
"""The verdicts of a reader on the first snippet of a query, with their meaning."""
ABSENT = "absent"
"""The kind of queries whose subject no page has."""
LANGUAGE = "language"
"""The kind of queries that are not English."""
FIRST = 3
"""Number of results that a person looks at."""
_QUERIES = Path(__file__).with_name("queries.jsonl")
_JUDGED = Path(__file__).with_name("judged.jsonl")


@dataclass(frozen=True, slots=True)
class Query:
    kind: str
    text: str
    pages: tuple[str, ...]
    """The pages that answer, as host/path."""
    keys: tuple[str, ...]
    """Texts that the sentence which answers has. None: any sentence of the page is as good."""


@dataclass(frozen=True, slots=True)
class Shown:
    """A result as a person sees it."""

    page: str
    """host/path"""
    language: str
    title: str
    statements: tuple[tuple[str, ...], ...]
    """The statements, each with its context before it."""
    is_folded: bool = False
    """True if the page of results folds it, as one that is only near by meaning."""

    @property
    def snippet(self) -> str:
        """The name of the first statement as it is shown."""
        return blake2b(json.dumps([self.page, *self.statements[:1]]).encode(), digest_size=8).hexdigest()


@dataclass(frozen=True, slots=True)
class Asked:
    """A query with its first results."""

    query: Query
    results: tuple[Shown, ...]
    says_so: bool
    """True if the page of results says that the index has nothing, or lacks a word."""

    @property
    def place(self) -> int:
        """The place of the first page that answers, from 1; 0 if none is among the results."""
        return next((place for place, each in enumerate(self.results, 1) if each.page in self.query.pages), 0)

    @property
    def shows_sentence(self) -> bool:
        """True if a statement of the first results has the texts of the sentence that answers."""
        shown = [
            " ".join(statement).casefold()
            for each in self.results[:FIRST]
            if each.page in self.query.pages
            for statement in each.statements
        ]
        return any(all(key.casefold() in text for key in self.query.keys) for text in shown)

    def verdict(self, judged: Mapping[tuple[str, str], str]) -> str:
        """Return the judgement of the first snippet; "" if nobody has judged it. Without a result it is bad."""
        return judged.get((self.query.text, self.results[0].snippet), "") if self.results else "bad"


def read_queries() -> list[Query]:
    """Return the queries, which were written before anybody saw a result."""
    return [Query(row["kind"], row["query"], tuple(row["pages"]), tuple(row["keys"])) for _, row in read_rows(_QUERIES)]


def read_judged(file: Path = _JUDGED) -> dict[tuple[str, str], str]:
    """Return the verdict on each query's snippet."""
    if not file.exists() or not file.stat().st_size:
        return {}
    return {(row["query"], row["snippet"]): row["verdict"] for _, row in read_rows(file) if row["verdict"] in VERDICTS}


def write_judged(judged: Mapping[tuple[str, str], str]) -> None:
    lines = ({"query": query, "snippet": snippet, "verdict": verdict} for (query, snippet), verdict in judged.items())
    _JUDGED.write_text("".join(f"{json.dumps(line, ensure_ascii=False)}\n" for line in lines), encoding="utf-8")


def to_judge(asked: Iterable[Asked], judged: Mapping[tuple[str, str], str]) -> Iterator[dict[str, Any]]:
    """Yield the first snippets without a judgement, with their texts, for a reader."""
    for each in asked:
        if each.results and each.query.kind != ABSENT and not each.verdict(judged):
            first = each.results[0]
            *context, text = first.statements[0]
            yield {
                "query": each.query.text,
                "snippet": first.snippet,
                "verdict": "",
                "page": first.page,
                "title": first.title,
                "context": context,
                "text": text,
            }


def figures(asked: Sequence[Asked], judged: Mapping[tuple[str, str], str]) -> dict[str, Any]:
    """Return the figures of each kind of queries, and of all queries with an answer."""
    kinds = list(dict.fromkeys(each.query.kind for each in asked if each.query.kind != ABSENT))
    answered = [each for each in asked if each.query.kind != ABSENT]
    absent = [each for each in asked if each.query.kind == ABSENT]
    english = [each for each in answered if each.query.kind != LANGUAGE and each.results]
    return {
        "queries": len(asked),
        "all": _figures(answered, judged),
        **{kind: _figures([each for each in answered if each.query.kind == kind], judged) for kind in kinds},
        "absent": {"queries": len(absent), "said": sum(each.says_so for each in absent)},
        "folded": {"right": _folded(answered, are_right=True), "others": _folded(answered, are_right=False)},
        "wrongly said": sum(each.says_so for each in answered),
        "another language first": sum(each.results[0].language != "en" for each in english),
    }


def _folded(asked: Sequence[Asked], *, are_right: bool) -> str:
    """Return how many of the results that answer, or that do not, the page of results folds."""
    some = [one.is_folded for each in asked for one in each.results if (one.page in each.query.pages) is are_right]
    return f"{sum(some)} of {len(some)}"


def _figures(asked: Sequence[Asked], judged: Mapping[tuple[str, str], str]) -> dict[str, Any]:
    verdicts = Counter(each.verdict(judged) or "not judged" for each in asked)
    return {
        "queries": len(asked),
        "page first": sum(each.place == 1 for each in asked),
        "page of three": sum(1 <= each.place <= FIRST for each in asked),
        "sentence of three": sum(each.shows_sentence for each in asked),
        **{name: verdicts[name] for name in (*VERDICTS, "not judged")},
    }
