"""Makes labelled pairs from real pages: a page and edited copies of it, and a page and others of its folder.

    python -m benchmarks.dedup.near_duplicates PAGES OUT [--seed 1] [--count 400]

PAGES is a folder of HTML (any depth) or a JSONL file with `id` and `text`. OUT gets `pages.jsonl` and `pairs.jsonl` for
`python -m benchmarks eval dedup`. Copies are edited as real sites edit: sentences are cut, added, reordered or
reworded, and another template surrounds the text. The label is the Jaccard similarity of the texts' word 3-shingles,
counted with plain sets of strings and without the measured code.
"""

import argparse
import json
import random
import re
from collections.abc import Iterable, Iterator
from itertools import islice
from pathlib import Path

_EDITS = ("cut", "add", "swap", "move", "reword")
MIN_WORDS = 60
MAX_WORDS = 4_000
COPIES = 5
SHINGLE = 3

_TEMPLATES = (
    ("Skip to content\nHome\nAbout\nContact", "All rights reserved. Terms of use. Privacy policy."),
    ("You are here: Home / Archive / Documentation", "Share this page\nPrint\nReport a problem with this page"),
    ("Sign in\nSubscribe to our newsletter to get updates every week", "Related articles\nMost read\nBack to the top"),
)


def shingled(text: str, size: int = SHINGLE) -> set[str]:
    words = re.findall(r"\w+", text.lower())
    return {" ".join(words[at : at + size]) for at in range(max(1, len(words) - size + 1))}


def jaccard(one: str, other: str, size: int = SHINGLE) -> float:
    first, second = shingled(one, size), shingled(other, size)
    return len(first & second) / len(first | second)


def sentences(text: str) -> list[str]:
    return [part for part in re.split(r"(?<=[.!?])\s+|\n+", text) if part.strip()]


def edit(text: str, strength: float, foreign: list[str], chance: random.Random) -> str:
    """A copy in which about `strength` of the sentences are cut, replaced, followed by another, moved or reworded."""
    parts = sentences(text)
    result: list[str] = []
    for part in parts:
        kind = chance.choice(_EDITS) if chance.random() < strength else "keep"
        if kind in ("keep", "add"):
            result.append(part)
        if kind in ("add", "swap"):
            result.append(chance.choice(foreign))
        if kind == "move":
            result.insert(chance.randrange(len(result) + 1), part)
        if kind == "reword":
            result.append(_reworded(part, chance))
    if chance.random() < 0.4:
        before, after = chance.choice(_TEMPLATES)
        result = [before, *result, after]
    return "\n".join(result)


def _reworded(sentence: str, chance: random.Random) -> str:
    words = sentence.split()
    words[chance.randrange(len(words))] = f"edited{chance.randrange(1000)}"
    return " ".join(words)


def labelled(pages: dict[str, str], count: int, seed: int) -> Iterator[tuple[dict[str, str], list[dict[str, object]]]]:
    """For each chosen page: the copies that were made of it, and the pairs."""
    chance = random.Random(seed)
    usable = sorted(name for name, text in pages.items() if MIN_WORDS <= len(text.split()) <= MAX_WORDS)
    for name in chance.sample(usable, min(count, len(usable))):
        foreign = sentences(pages[chance.choice(usable)])
        copies = {f"{name}#{number}": edit(pages[name], chance.random() ** 2 * 0.5, foreign, chance)
                  for number in range(COPIES)}  # fmt: skip
        others = [*copies, chance.choice(usable), *chance.sample(_neighbours(name, usable), 2)]
        texts = {**copies, **{other: pages[other] for other in others if other in pages}}
        yield (
            texts,
            [
                {"a": name, "b": other, "jaccard": round(jaccard(pages[name], texts[other]), 4)}
                for other in others
                if other != name
            ],
        )


def _neighbours(name: str, usable: list[str]) -> list[str]:
    """Pages of the same folder. They share a template and a subject, so they are hard to distinguish."""
    at = usable.index(name)
    return [other for other in usable[max(0, at - 5) : at + 6] if other != name]


def read_pages(path: Path) -> dict[str, str]:
    if path.is_file():
        rows = (json.loads(line) for line in path.read_text().splitlines())
        return {row["id"]: row["text"] for row in rows}
    return {str(file.relative_to(path)): text for file, text in _normalized(sorted(path.rglob("*.html")))}


def _normalized(files: Iterable[Path]) -> Iterator[tuple[Path, str]]:
    from streams.errors import Refused
    from streams.pages.normalize import normalize

    for file in files:
        try:
            yield file, normalize(file.read_bytes(), url=f"https://example.com/{file.name}").document.text
        except Refused:
            continue


def main() -> None:
    parser = argparse.ArgumentParser(description="Make labelled near-duplicate pairs from real pages.")
    parser.add_argument("pages", type=Path)
    parser.add_argument("out", type=Path)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--count", type=int, default=400)
    options = parser.parse_args()
    pages = read_pages(options.pages)
    used: dict[str, str] = {}
    pairs: list[dict[str, object]] = []
    for texts, found in islice(labelled(pages, options.count, options.seed), options.count):
        used |= texts | {str(pair["a"]): pages[str(pair["a"])] for pair in found}
        pairs += found
    options.out.mkdir(parents=True, exist_ok=True)
    _write(options.out / "pages.jsonl", ({"id": name, "text": text} for name, text in sorted(used.items())))
    _write(options.out / "pairs.jsonl", pairs)


def _write(path: Path, rows: Iterable[dict[str, object]]) -> None:
    path.write_text("".join(json.dumps(row, ensure_ascii=False) + "\n" for row in rows))


if __name__ == "__main__":
    main()
