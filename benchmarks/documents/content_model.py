"""Train the content model of `streams.pages.content.classifier`, and measure it on held-out pages.

    python -m benchmarks.documents.content_model DIR... [--folds 4] [--seeds 0 1] [--out FILE]

DIR holds `html/ID.html` and `truth/ID.json` (as for `python -m benchmarks eval extract`). A segment's label is the
share of its words in trigrams of the truth. All pages have the same weight, segments are weighted by length. The loss
is cross-entropy and the page's soft F1. With --folds the pages are split by site, so that no site is on both sides, and
measured with all passes. The weights that ship were trained on both of WCXB's development sets (CC BY 4.0, Murrough
Foley), all pages, seeds 0 and 1: the mean of the scores of two networks, which is one network of twice the width.
"""

import argparse
import json
import re
import time
import zlib
from collections import Counter
from dataclasses import dataclass, replace
from html import escape
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import numpy as np
from numpy.typing import NDArray

from benchmarks.documents.content_teasers import Teaser, teaser_of, with_list
from benchmarks.evaluation.documents import Page, load_pages, shingles, word_f1, words_of
from streams.pages.content import features, surroundings
from streams.pages.content.classifier import REACHES, ContentModel, Neighbours
from streams.pages.content.lexicon import BITS, ELEMENT_GROUPS
from streams.pages.content.main_content import JudgedPage, page_features, run_passes
from streams.pages.content.prose_runs import is_article
from streams.pages.content.segment_stats import SegmentStats, segment_stats
from streams.pages.parse.head import Head
from streams.pages.parse.page import parse_page
from streams.pages.parse.segments import Walk

F = np.float32
WORD = re.compile(r"\w+")
EPOCHS = 20
PAGES_PER_STEP = 12
LEARNING_RATE = 3e-3
WEIGHT_DECAY = 1e-2
DROPOUT = 0.3
INPUT_DROPOUT = 0.1
HIDDEN = (40, 32)
MAX_SEGMENTS = 2_500
BLINDED = {"terms": 0.5, "classes": 0.3, "kinds": 0.5, "elements": 0.3}
"""Probability that a kind of features is hidden: words of short texts (which are English), class names, page kinds from
metadata, elements and roles. So the model learns to do without, as it must on pages in other languages."""
BARE_EVERY = 20
"""N: one page in N is also trained on in its bare form."""
SHORTENED = 0.1
"""Probability that an article is shown with only its first texts (two to SHORTENED_TO) and all that surrounds it, like
short news, of which the training pages have few."""
SHORTENED_TO = 6
LISTED = {"article": 0.3, "documentation": 0.15, "forum": 0.0, "product": 0.15, "service": 0.15}
"""Probability that a page of a type is shown with a list of other pages' headlines after its text. On other types such
lists are content."""
LISTS_OF = (3, 200)
"""Minimum and maximum number of headlines in such a list."""
NEWS_KINDS = ("newsarticle", "reportagenewsarticle")
CERTAIN_LABEL = 0.8
CONTENT_LABEL = 0.5
LONG_TEXT_WORDS = 8
"""Minimum words of a paragraph of an article, less one."""
PLAIN_TAGS = frozenset({"h1", "h2", "h3", "h4", "p", "li", "pre", "blockquote", "td", "div"})


@dataclass
class Example:
    page: Page
    features: NDArray[Any]
    near: Neighbours
    labels: NDArray[Any]
    counts: list[Counter[str]]
    words: NDArray[Any]
    truth: Counter[str]
    walk: Walk
    stats: SegmentStats
    head: Head
    listed: "Example | None" = None
    """The same page with a list of other pages' headlines after its text."""


def labels_of(texts: list[list[str]], truth: list[str]) -> NDArray[Any]:
    """The share of each text's words in trigrams of the truth. Second copies of a text get none."""
    known = set(zip(truth, truth[1:], truth[2:], strict=False))
    stream = [word for text in texts for word in text]
    covered = np.zeros(len(stream), bool)
    if len(truth) < 3:
        covered[:] = [word in set(truth) for word in stream]
    for at in range(len(stream) - 2):
        if (stream[at], stream[at + 1], stream[at + 2]) in known:
            covered[at : at + 3] = True
    left = Counter(zip(*(truth[n:] for n in range(6)), strict=False))
    labels, at = [], 0
    for text in texts:
        share = float(covered[at : at + len(text)].mean()) if text else 0.0
        at += len(text)
        if len(text) >= 8 and share > 0.5:
            grams = list(zip(*(text[n:] for n in range(6)), strict=False))
            if sum(left[gram] > 0 for gram in grams) < 0.3 * len(grams):
                share = 0.0
            left.subtract(grams)
        labels.append(share)
    return np.array(labels, F)


def example(page: Page) -> Example | None:
    parsed = parse_page(page.html)
    if not parsed.walk.segments:
        return None
    stats = segment_stats(parsed.walk, parsed.head.title)
    matrix, near = page_features(parsed.walk, stats, parsed.head)
    texts = [WORD.findall(segment.text.lower()) for segment in parsed.walk.segments]
    truth = WORD.findall(page.main_content.lower())
    return Example(
        page,
        matrix,
        near,
        labels_of(texts, truth),
        [Counter(text) for text in texts],
        np.array([len(text) for text in texts], F),
        Counter(truth),
        parsed.walk,
        stats,
        parsed.head,
    )


def bare(one: Example, page: Page) -> Example | None:
    """The page's content without anything around it: plain pages are all content."""
    parsed = parse_page(page.html)
    kept = [(parsed.walk.tags[segment.element], segment.text) for segment in parsed.walk.segments]
    kept = [part for part, label in zip(kept, one.labels, strict=True) if label > CERTAIN_LABEL]
    written = "".join(f"<{tag}>{escape(text)}</{tag}>" for tag, text in kept if tag in PLAIN_TAGS)
    text = " ".join(text for tag, text in kept if tag in PLAIN_TAGS)
    return example(replace(page, html=f"<body>{written}".encode("utf-8", "replace"), main_content=text))


def add_lists(examples: list[Example], random: np.random.Generator) -> None:
    """Give each page of the types in LISTED a form with a list of headlines, from the pages of `examples`."""
    teasers = [made for one in examples if (made := teaser_of(one.head.title, one.page.main_content)) is not None]
    for one in examples:
        if LISTED.get(one.page.type):
            one.listed = with_headlines(one, teasers, random)


def with_headlines(one: Example, teasers: list[Teaser], random: np.random.Generator) -> Example | None:
    """The page with a list of headlines after its text. Its truth is the same. None if it can't be made."""
    paragraphs = np.flatnonzero((one.labels > CERTAIN_LABEL) & (one.words > LONG_TEXT_WORDS))
    if not len(paragraphs):
        return None
    last = one.walk.segments[paragraphs[-1]]
    many = int(np.exp(random.uniform(*np.log(LISTS_OF))))
    others = [teasers[at] for at in random.choice(len(teasers), min(many, len(teasers)), replace=False)]
    html = with_list(one.page.html, (one.walk.tags[last.element], last.text), others, random)
    made = example(replace(one.page, html=html)) if html is not None else None
    if made is None or len(made.labels) > MAX_SEGMENTS:
        return None
    known = {segment.text for segment in one.walk.segments}
    made.labels[[segment.text not in known for segment in made.walk.segments]] = 0
    return made


def columns_of(way: str) -> list[int]:
    """The columns of a kind of features in BLINDED."""
    whole, near = features.COLUMNS - features.WHOLE, features.TEXT_COLUMNS
    around = features.COLUMNS + features.SURROUNDINGS
    own = len(ELEMENT_GROUPS)
    starts = (near, near + BITS)  # of the nearest elements, of any around
    if way == "terms":
        of_headings = [around + column for column in surroundings.TERM_COLUMNS]
        return [5 + 9, 5 + 10, 5 + 11, *range(whole + 13, whole + 16), *of_headings]
    if way == "classes":
        return [column for start in starts for column in range(start + own, start + BITS)] + list(
            range(whole + 18 + len(features.PAGE_KINDS), features.COLUMNS)
        )
    if way == "kinds":
        of_titles = [around + column for column in surroundings.TITLE_COLUMNS]
        return [*range(whole + 18, whole + 18 + len(features.PAGE_KINDS)), *of_titles]
    return [column for start in starts for column in range(start, start + own)]


def blinded(one: Example, random: np.random.Generator) -> Example:
    """The page with some kinds of features hidden, at random."""
    hidden = [column for way, share in BLINDED.items() if random.random() < share for column in columns_of(way)]
    if not hidden:
        return one
    shown = one.features.copy()
    shown[:, hidden] = 0
    return replace(one, features=shown)


def shown(one: Example, random: np.random.Generator) -> Example:
    """A page as it is shown in one round."""
    if one.listed is not None and random.random() < LISTED[one.page.type]:
        one = one.listed
    if one.page.type == "article" and random.random() < SHORTENED:
        one = shortened(one, random)
    return blinded(one, random)


def shortened(one: Example, random: np.random.Generator) -> Example:
    """The page without its content after the first few texts. Unchanged if it has no more."""
    content = one.labels > CONTENT_LABEL
    paragraphs = np.flatnonzero(content & (one.words > LONG_TEXT_WORDS))
    many = int(random.integers(2, SHORTENED_TO + 1))
    if len(paragraphs) <= many + 1:
        return one
    content[: paragraphs[many]] = False
    kept = np.flatnonzero(~content)
    _, groups = np.unique(one.stats.groups[kept], return_inverse=True)
    left = {name: getattr(one.stats, name)[kept] for name in ("elements", "counts", "words", "flags")}
    walk = replace(one.walk, segments=[one.walk.segments[index] for index in kept])
    stats = replace(one.stats, groups=groups.astype(np.int64), **left)
    matrix, near = page_features(walk, stats, one.head)
    labels, words, counts = one.labels[kept], one.words[kept], [one.counts[index] for index in kept]
    truth = sum((count for count, label in zip(counts, labels, strict=True) if label > CONTENT_LABEL), Counter[str]())
    return Example(one.page, matrix, near, labels, counts, words, truth, walk, stats, one.head)


class Mean:
    """The weighted mean of each group for its members, and its derivative."""

    def __init__(self, groups: NDArray[Any], weights: NDArray[Any]) -> None:
        self.order = np.argsort(groups, kind="stable")
        ordered = groups[self.order]
        is_first = np.concatenate([[True], ordered[1:] != ordered[:-1]])
        self.starts = np.flatnonzero(is_first)
        self.inverse = np.empty(len(groups), np.int64)
        self.inverse[self.order] = np.cumsum(is_first) - 1
        self.weights = weights
        self.total = np.add.reduceat(weights[self.order], self.starts)

    def forward(self, values: NDArray[Any]) -> NDArray[Any]:
        means: NDArray[Any] = np.add.reduceat((values * self.weights)[self.order], self.starts) / self.total
        return means[self.inverse]

    def backward(self, gradient: NDArray[Any]) -> NDArray[Any]:
        means: NDArray[Any] = np.add.reduceat(gradient[self.order], self.starts) / self.total
        product: NDArray[Any] = self.weights * means[self.inverse]
        return product


class Window:
    """The mean of the neighbours on the same page, and its derivative.

    Neighbours are so mutually, so the derivative is a sum over the same rows.
    """

    def __init__(self, low: NDArray[Any], high: NDArray[Any]) -> None:
        self.low, self.high = low, high
        self.length = (high - low)[:, None].astype(F)

    def forward(self, values: NDArray[Any]) -> NDArray[Any]:
        means: NDArray[Any] = self._sums(values) / self.length
        return means.astype(F)

    def backward(self, gradient: NDArray[Any]) -> NDArray[Any]:
        return self._sums(gradient / self.length).astype(F)

    def _sums(self, values: NDArray[Any]) -> NDArray[Any]:
        sums: NDArray[Any] = np.concatenate(
            [np.zeros((1, values.shape[1])), np.cumsum(values, axis=0, dtype=np.float64)]
        )
        difference: NDArray[Any] = sums[self.high] - sums[self.low]
        return difference


def pools(batch: list[Example]) -> list[Mean | Window]:
    weights = np.concatenate([one.near.weights for one in batch])
    sizes = [len(one.labels) for one in batch]
    pages = np.repeat(np.arange(len(batch)), sizes)
    found: list[Mean | Window] = [Mean(pages, weights)]
    for number in range(3):
        groups = np.concatenate([one.near.groups[number] for one in batch])
        found.append(Mean(groups + pages * 10_000_000, weights))
    starts = np.repeat(np.cumsum([0, *sizes[:-1]]), sizes)
    ends = starts + np.repeat(sizes, sizes)
    at = np.arange(len(pages))
    for reach in REACHES:
        found.append(Window(np.maximum(at - reach, starts), np.minimum(at + reach + 1, ends)))
    return found


def loss_gradient(probability: NDArray[Any], one: Example) -> NDArray[Any]:
    """The derivative, by the score, of cross-entropy (weighted by length) and of the page's soft F1."""
    weights = (one.words + 2) ** 0.8
    gradient: NDArray[Any] = weights / weights.sum() * (probability - one.labels)
    truth = float(sum(one.truth.values()))
    if truth:
        hits = float((probability * one.words * one.labels).sum())
        size = float((probability * one.words).sum()) + truth
        slope = 2 * one.words * (one.labels * size - hits) / size**2
        gradient -= slope * probability * (1 - probability)
    return gradient.astype(F)


def trained_on(examples: list[Example], seed: int = 0) -> list[Example]:
    """The examples that the model is trained on: pages of a usual size, some with a list of headlines, some bare."""
    trainable = [one for one in examples if len(one.labels) <= MAX_SEGMENTS]
    add_lists(trainable, np.random.default_rng(seed))
    return trainable + [made for one in trainable[::BARE_EVERY] if (made := bare(one, one.page)) is not None]


def trained(examples: list[Example], seeds: list[int]) -> ContentModel:
    shown_pages = trained_on(examples)
    return together([train(shown_pages, seed) for seed in seeds])


def train(examples: list[Example], seed: int = 0) -> ContentModel:
    random = np.random.default_rng(seed)
    everything = np.concatenate([one.features for one in examples])
    mean, deviation = everything.mean(axis=0), everything.std(axis=0) + F(0.02)
    del everything
    one, two = HIDDEN
    shapes = [(len(mean), one), (one,), (one * 7, two), (two,), (two, 1), (1,)]
    weights = [
        (random.standard_normal(shape) * np.sqrt(2 / shape[0])).astype(F) if len(shape) == 2 else np.zeros(shape, F)
        for shape in shapes
    ]
    momentum = [np.zeros_like(array) for array in weights]
    squares = [np.zeros_like(array) for array in weights]
    steps = EPOCHS * -(-len(examples) // PAGES_PER_STEP)
    step = 0
    for _ in range(EPOCHS):
        order = random.permutation(len(examples))
        for at in range(0, len(order), PAGES_PER_STEP):
            batch = [shown(examples[index], random) for index in order[at : at + PAGES_PER_STEP]]
            step += 1
            gradients = gradients_of(batch, weights, mean, deviation, random)
            rate = LEARNING_RATE * min(1.0, step / 30) * 0.5 * (1 + np.cos(np.pi * step / steps))
            for array, gradient, first, second in zip(weights, gradients, momentum, squares, strict=True):
                first += 0.1 * (gradient - first)
                second += 0.01 * (gradient * gradient - second)
                change = first / (1 - 0.9**step) / (np.sqrt(second / (1 - 0.99**step)) + 1e-7)
                array -= (rate * (change + (WEIGHT_DECAY * array if array.ndim > 1 else 0))).astype(F)
    # The scaling of the inputs goes into the first layer, so that nothing needs to be scaled at run time.
    first = weights[0] / deviation[:, None]
    return ContentModel(first, weights[1] - mean @ first, *weights[2:])


def together(models: list[ContentModel]) -> ContentModel:
    """One network that gives the mean of the scores of several: their layers side by side, with zeros between them."""
    width = sum(len(model.first_bias) for model in models)
    second = np.zeros((7, width, sum(len(model.second_bias) for model in models)), F)
    row = column = 0
    for model in models:
        rows, columns = len(model.first_bias), len(model.second_bias)
        second[:, row : row + rows, column : column + columns] = model.second.reshape(7, rows, columns)
        row, column = row + rows, column + columns
    return ContentModel(
        np.concatenate([model.first for model in models], axis=1),
        np.concatenate([model.first_bias for model in models]),
        second.reshape(7 * width, -1),
        np.concatenate([model.second_bias for model in models]),
        np.concatenate([model.last for model in models]) / F(len(models)),
        np.mean([model.last_bias for model in models], axis=0, dtype=F),
    )


def gradients_of(
    batch: list[Example],
    weights: list[NDArray[Any]],
    mean: NDArray[Any],
    deviation: NDArray[Any],
    random: np.random.Generator,
) -> list[NDArray[Any]]:
    first, first_bias, second, second_bias, last, last_bias = weights
    means = pools(batch)
    inputs = (np.concatenate([one.features for one in batch]) - mean) / deviation
    inputs *= random.random((1, inputs.shape[1]), dtype=F) > INPUT_DROPOUT
    hidden = np.maximum(inputs @ first + first_bias, 0)
    hidden_mask = (random.random(hidden.shape, dtype=F) > DROPOUT) / F(1 - DROPOUT)
    dropped = hidden * hidden_mask
    joined = np.concatenate([dropped, *(pool.forward(dropped) for pool in means)], axis=1)
    upper = np.maximum(joined @ second + second_bias, 0)
    upper_mask = (random.random(upper.shape, dtype=F) > DROPOUT) / F(1 - DROPOUT)
    scores = ((upper * upper_mask) @ last + last_bias)[:, 0]
    probability = 1 / (1 + np.exp(-np.clip(scores, -30, 30)))
    parts, at = [], 0
    for one in batch:
        parts.append(loss_gradient(probability[at : at + len(one.labels)], one) / len(batch))
        at += len(one.labels)
    score_gradient = np.concatenate(parts)[:, None]
    last_gradient = (upper * upper_mask).T @ score_gradient
    upper_gradient = (score_gradient @ last.T) * upper_mask * (upper > 0)
    joined_gradient = upper_gradient @ second.T
    width = hidden.shape[1]
    hidden_gradient = joined_gradient[:, :width].copy()
    for number, pool in enumerate(means, start=1):
        hidden_gradient += pool.backward(joined_gradient[:, width * number : width * (number + 1)])
    hidden_gradient *= hidden_mask * (hidden > 0)
    return [
        inputs.T @ hidden_gradient,
        hidden_gradient.sum(axis=0),
        joined.T @ upper_gradient,
        upper_gradient.sum(axis=0),
        last_gradient,
        score_gradient.sum(axis=0),
    ]


@dataclass(frozen=True, slots=True)
class Score:
    """The quality of one page's extraction."""

    page_type: str
    is_news: bool
    """The page declares itself a news article (schema.org)."""
    words: float
    """F1 of words."""
    shingles: float
    """F1 of runs of four words."""


def scores(model: ContentModel, examples: list[Example]) -> list[Score]:
    found = []
    for one in examples:
        likely = model.probabilities(one.features, one.near)
        kept = run_passes(likely, JudgedPage(one.walk, one.stats, is_article(one.head))).kept
        words = [word for index in kept for word in words_of(one.walk.segments[index].text)]
        true_words = words_of(one.page.main_content)
        by_shingles = word_f1(Counter(shingles(words)), Counter(shingles(true_words)))
        is_news = any(kind.lower() in NEWS_KINDS for kind in one.head.kinds)
        found.append(Score(one.page.type, is_news, word_f1(Counter(words), Counter(true_words)), by_shingles))
    return found


def report(found: list[Score], name: str) -> None:
    """Print F1 of words, of all pages and by type, then of runs of four words."""
    types = sorted({one.page_type for one in found})
    line = "  ".join(f"{kind} {np.mean([one.words for one in found if one.page_type == kind]):.3f}" for kind in types)
    print(f"{name}: {np.mean([one.words for one in found]):.4f}  {line}", flush=True)
    articles = [one for one in found if one.page_type == "article"]
    news = [one for one in articles if one.is_news]
    for title, chosen in (("all", found), ("articles", articles), ("articles that declare themselves news", news)):
        if chosen:
            print(f"  4-grams, {title} ({len(chosen)}): {np.mean([one.shingles for one in chosen]):.4f}", flush=True)


def save(model: ContentModel, path: Path) -> None:
    stored = {name: np.round(getattr(model, name).astype(float), 4).tolist() for name in ContentModel.__slots__}
    path.write_text(json.dumps(stored, separators=(",", ":")) + "\n")


def fold_of(page: Page, folds: int) -> int:
    """The fold of a page: the same for all pages of a site (the last two labels of the host)."""
    site = ".".join((urlsplit(page.url).hostname or "").split(".")[-2:])
    return zlib.crc32(site.encode()) % folds


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("directories", type=Path, nargs="+", metavar="DIR")
    parser.add_argument("--folds", type=int, default=0)
    parser.add_argument("--only", type=int, nargs="*", help="these folds alone")
    parser.add_argument("--seeds", type=int, nargs="+", default=[0], help="one network each; the model is their mean")
    parser.add_argument("--out", type=Path)
    arguments = parser.parse_args()
    started = time.perf_counter()
    pages = (page for directory in arguments.directories for page in load_pages(directory))
    examples = [found for page in pages if (found := example(page)) is not None]
    print(f"{len(examples)} pages, {examples[0].features.shape[1]} features, {time.perf_counter() - started:.0f} s")
    if arguments.out:
        save(trained(examples, arguments.seeds), arguments.out)
    tested: list[Score] = []
    folds = arguments.only if arguments.only is not None else list(range(arguments.folds))
    for fold in folds:
        held = [one for one in examples if fold_of(one.page, arguments.folds) == fold]
        others = [one for one in examples if fold_of(one.page, arguments.folds) != fold]
        model = trained(others, arguments.seeds)
        tested += scores(model, held)
        report(tested, f"fold {fold}, {time.perf_counter() - started:.0f} s")


if __name__ == "__main__":
    main()
