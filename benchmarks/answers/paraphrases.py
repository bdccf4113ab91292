"""Measure a wider check of support, which accepts another order: true paraphrases kept, and changed facts kept.

    python -m benchmarks.answers.paraphrases CHOOSE JUDGE... [--statements N]

The rule that is tried (decision 0054): a sentence is supported if all of its names, content words and quantities are in
the statement, in any order, if its negations, limits and relations are the statement's (`by` may go), and if its
embedding is near enough. The bound is chosen on the collection CHOOSE, so that less than 1 % of the changed facts are
kept, and judged on the others and on the fixed sentences of tests/data/support.

Paraphrases are made by patterns: another voice, another order of clauses or names, a possessive. Changed facts are the
ones of `benchmarks.answers.contradictions`, and sentences that exchange two words, two numbers, or who does what.
"""

import argparse
import asyncio
import json
import random
import re
import sys
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.answers.contradictions import SEED, contradictions_of, statements_of
from streams.answers.support.check import Source, check_support
from streams.answers.support.tokens import Token, tokens_of
from streams.models.opening import open_models
from streams.settings import Settings
from streams.vectors.batching import TextBatcher

FIXED = Path(__file__).parents[2] / "tests" / "data" / "support"
MAX_KEPT = 0.01
"""Maximum share of changed facts that may be kept."""
BATCH = 64

_PASSIVE = re.compile(r"([A-Z][^,.;]{2,80}) (?:was|were) (\w+ed) by ([^,.;]{3,60}?)((?: in \d{4})?)\.")
_CLAUSES = re.compile(r"([A-Z][^,.;]{10,120}?),? (because|after|before|when|while) ([^,.;]{10,120})\.")
_NAMES = re.compile(r"\b([A-Z][a-z]{2,}) and ([A-Z][a-z]{2,})\b")
_OF = re.compile(r"\b[Tt]he ([a-z]{4,}) of ([A-Z][a-z]{2,})\b")
_WORD = re.compile(r"\b[a-z]{5,}\b")
_NUMBER = re.compile(r"\b\d[\d,.]*\d\b|\b\d\b")

Pair = tuple[str, str, str]
"""A kind, a statement, and a sentence."""


def paraphrases_of(text: str) -> Iterator[tuple[str, str]]:
    """Yield sentences in another form that say the same."""
    if found := _PASSIVE.fullmatch(text):
        what, verb, who, when = found.groups()
        yield "active voice", f"{_upper(who)} {verb} {_lower(what)}{when}."
    if found := _CLAUSES.fullmatch(text):
        yield "clauses in another order", f"{found[2].title()} {found[3]}, {_lower(found[1])}."
    if found := _NAMES.search(text):
        yield "names in another order", f"{text[: found.start()]}{found[2]} and {found[1]}{text[found.end() :]}"
    if found := _OF.search(text):
        yield "possessive", f"{text[: found.start()]}{found[2]}'s {found[1]}{text[found.end() :]}"


def changes_of(text: str) -> Iterator[tuple[str, str]]:
    """Yield sentences with the words of the statement that say something else."""
    chance = random.Random(f"{SEED} exchanged {text}")
    if found := _PASSIVE.fullmatch(text):
        what, verb, who, when = found.groups()
        yield "agent exchanged", f"{_upper(who)} was {verb} by {_lower(what)}{when}."
    if found := _CLAUSES.fullmatch(text):
        yield "clauses exchanged", f"{_upper(found[3])} {found[2]} {_lower(found[1])}."
    for kind, pattern in (("words exchanged", _WORD), ("numbers exchanged", _NUMBER)):
        places = list(pattern.finditer(text))
        if len({place[0] for place in places}) > 1:
            one = chance.choice(places)
            other = chance.choice([place for place in places if place[0] != one[0]])
            first, last = sorted((one, other), key=lambda place: place.start())
            middle = text[first.end() : last.start()]
            yield kind, f"{text[: first.start()]}{last[0]}{middle}{first[0]}{text[last.end() :]}"


def _upper(text: str) -> str:
    return text[:1].upper() + text[1:]


def _lower(text: str) -> str:
    first = text.split(" ", 1)[0]
    return (
        text[:1].lower() + text[1:] if first in ("The", "A", "An", "It", "This", "These", "In", "He", "They") else text
    )


def has_same_parts(sentence: str, statement: str) -> bool:
    """Return the first half of the rule: the words of the sentence are in the statement, whatever their order."""
    claim, stated = tokens_of(sentence), tokens_of(statement)
    missing = _bag(claim, "name", "content", "quantity") - _bag(stated, "name", "content", "quantity")
    return not missing and all(_bag(claim, role) == _bag(stated, role) for role in ("negation", "limit", "relation"))


def _bag(tokens: Iterable[Token], *roles: str) -> Counter[str]:
    return Counter(token.key for token in tokens if token.role in roles and token.key != "by")


async def cosines(pairs: Sequence[Pair]) -> list[float]:
    """Return the cosine of each sentence and its statement."""
    models = await open_models(Settings.load(triton={"url": "inprocess:"}))
    batcher = TextBatcher(models.embedder)
    texts = sorted({text for _, *both in pairs for text in both})
    vectors: dict[str, Any] = {}
    for start in range(0, len(texts), BATCH):
        part = texts[start : start + BATCH]
        vectors |= zip(part, map(np.asarray, await batcher.embed(part)), strict=True)
    await batcher.close()
    await models.close()
    return [
        float(vectors[a] @ vectors[b] / np.linalg.norm(vectors[a]) / np.linalg.norm(vectors[b])) for _, a, b in pairs
    ]


Judged = list[tuple[str, bool, float]]
"""The kind of each pair, whether today's check keeps it, and its cosine: -1 where the words differ."""


def judge(pairs: Sequence[Pair]) -> Judged:
    near = iter(asyncio.run(cosines(same := [pair for pair in pairs if has_same_parts(pair[2], pair[1])])))
    kept = set(same)
    return [
        (
            kind,
            check_support(sentence, Source(statement)).is_supported,
            next(near) if (kind, statement, sentence) in kept else -1.0,
        )
        for kind, statement, sentence in pairs
    ]


def choose_bound(changed: Judged) -> float:
    """Return the lowest cosine with which less than 1 % of the changed facts are kept; above 1: there is none."""
    near = sorted((cosine for _, _, cosine in changed), reverse=True)
    allowed = int(MAX_KEPT * len(near))
    return float(np.nextafter(near[allowed], 2.0)) if near[allowed] > 0 else 0.0


def shares(judged: Judged, bound: float) -> dict[str, Any]:
    """Return, by kind: the share that today's check keeps, the share that either keeps, the number."""
    by_kind: defaultdict[str, list[tuple[bool, bool]]] = defaultdict(list)
    for kind, is_kept, cosine in judged:
        for name in ("all", kind):
            by_kind[name].append((is_kept, is_kept or cosine >= bound))
    return {
        kind: [
            round(sum(today for today, _ in rows) / len(rows), 3),
            round(sum(new for _, new in rows) / len(rows), 3),
            len(rows),
        ]
        for kind, rows in by_kind.items()
    }


def pairs_of(statements: Sequence[str]) -> tuple[list[Pair], list[Pair]]:
    """Return true pairs and changed ones."""
    true = [(kind, text, other) for text in statements for kind, other in paraphrases_of(text)]
    changed = [(kind, text, other) for text in statements for kind, other in changes_of(text)]
    return true, changed + [(kind, statements[at], other) for kind, at, other in contradictions_of(statements)]


def fixed_pairs() -> tuple[list[Pair], list[Pair]]:
    def read(name: str) -> list[dict[str, str]]:
        return [json.loads(line) for line in (FIXED / name).read_text(encoding="utf-8").splitlines()]

    true = [("paraphrase", row["statement"], row["paraphrase"]) for row in read("true.jsonl")]
    return true, [(row["kind"], row["statement"], row["sentence"]) for row in read("contradictions.jsonl")]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("choose", type=Path, metavar="CHOOSE")
    parser.add_argument("judge", type=Path, nargs="*", metavar="JUDGE")
    parser.add_argument("--statements", type=int, default=1_000)
    arguments = parser.parse_args()
    true, changed = pairs_of(statements_of(arguments.choose, arguments.statements))
    judged_true, judged_changed = judge(true), judge(changed)
    bound = choose_bound(judged_changed)
    found: dict[str, Any] = {"bound": bound}
    for name, (kept, lost) in {
        arguments.choose.name: (judged_true, judged_changed),
        **{
            each.name: tuple(map(judge, pairs_of(statements_of(each, arguments.statements))))
            for each in arguments.judge
        },
        "fixed": tuple(map(judge, fixed_pairs())),
    }.items():
        found[name] = {"true": shares(kept, bound), "changed": shares(lost, bound)}
        found[name]["without a bound"] = {"true": shares(kept, 0.0)["all"], "changed": shares(lost, 0.0)["all"]}
    sys.stdout.write(json.dumps(found, indent=1) + "\n")


if __name__ == "__main__":
    main()
