"""Quality of the main content without each pass of `streams.pages.content.main_content`.

    python -m benchmarks.documents.content_passes DIR [--model FILE]

DIR is an extraction set (`html/ID.html[.gz]`, `truth/ID.json`, as for `python -m benchmarks eval extract`) of which the
model saw no page in its training. Prints a Markdown table: the quality with all passes, then the difference without
each.
"""

import argparse
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from benchmarks.evaluation.documents import Page, load_pages, shingles, word_f1, words_of
from streams.pages.content.boilerplate_elements import segments_outside_boilerplate
from streams.pages.content.classifier import WEIGHTS_FILE, ContentModel
from streams.pages.content.main_content import LIMITS, PASSES, JudgedPage, Kept, Pass, page_features, run_passes
from streams.pages.content.prose_runs import is_article
from streams.pages.content.segment_stats import segment_stats
from streams.pages.parse.page import parse_page

COLUMNS = ("pages changed", "word F1", "4-gram F1", "4-gram F1 of articles", "precision of articles")


def fixed_cutoff(scores: NDArray[Any], page: JudgedPage, kept: Kept) -> Kept:
    """The simplest first pass: keep what is more likely content than not."""
    return np.flatnonzero(scores >= LIMITS.max_cutoff)


def variants() -> dict[str, tuple[Pass, ...]]:
    """All passes, and all but one. The first pass can't be left out, and is replaced by a fixed cutoff."""
    first, *rest = PASSES
    found = {"all passes": PASSES, f"a fixed cutoff for `{first.__name__}`": (fixed_cutoff, *rest)}
    return found | {f"without `{one.__name__}`": tuple(step for step in PASSES if step is not one) for one in rest}


def qualities(page: Page, model: ContentModel) -> Iterator[tuple[str, tuple[float, ...]]]:
    """Word F1, 4-gram F1 and precision of a page under each variant. Nothing for a page that no pass looks at."""
    parsed = parse_page(page.html, url=page.url)
    walk = parsed.walk
    if not walk.segments or parsed.quirk is not None or parsed.head.clean:
        return
    stats = segment_stats(walk, parsed.head.title)
    scores = model.probabilities(*page_features(walk, stats, parsed.head))
    is_judged = stats.words.sum() >= LIMITS.min_words and len(scores) <= LIMITS.max_segments
    words = [words_of(segment.text) for segment in walk.segments]
    truth = words_of(page.main_content)
    read = JudgedPage(walk, stats, is_article(parsed.head))
    for name, passes in variants().items():
        kept = run_passes(scores, read, passes=passes).kept if is_judged else []
        found = [word for index in kept or segments_outside_boilerplate(walk, stats) for word in words[index]]
        hits, size = (Counter(found) & Counter(truth)).total(), max(len(found), 1)
        shingle_f1 = word_f1(Counter(shingles(found)), Counter(shingles(truth)))
        yield name, (word_f1(Counter(found), Counter(truth)), shingle_f1, hits / size)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("directory", type=Path)
    parser.add_argument("--model", type=Path, default=WEIGHTS_FILE)
    options = parser.parse_args()
    model = ContentModel.load(options.model)
    rows: dict[str, list[tuple[str, tuple[float, ...]]]] = {name: [] for name in variants()}
    for page in load_pages(options.directory):
        for name, found in qualities(page, model):
            rows[name].append((page.type, found))
    base = rows["all passes"]
    print(f"| {len(base)} pages | {' | '.join(COLUMNS)} |\n|---|{'---:|' * len(COLUMNS)}")
    for name, row in rows.items():
        changed = sum(one != other for one, other in zip(row, base, strict=True))
        values, best = means(row), means(base)
        shown = [
            f"{value:.4f}" if row is base else f"{value - of:+.4f}" for value, of in zip(values, best, strict=True)
        ]
        print(f"| {name} | {changed if changed else ''} | {' | '.join(shown)} |")


def means(found: list[tuple[str, tuple[float, ...]]]) -> tuple[float, ...]:
    """Word F1 and 4-gram F1 of all pages, 4-gram F1 and precision of articles."""
    pages = np.array([values for _, values in found])
    articles = np.array([values for kind, values in found if kind == "article"])
    return (*pages.mean(axis=0)[:2].tolist(), *articles.mean(axis=0)[1:].tolist())


if __name__ == "__main__":
    main()
