"""Quality of articles whose paragraphs stand before, between or behind the headlines of other stories.

    python -m benchmarks.documents.content_headlines DIR --model FILE

DIR is an extraction set (`html/ID.html[.gz]`, `truth/ID.json`), FILE has weights that were trained on other pages (by
`content_model`). An article is changed if four or more paragraphs of its truth, 25 words and more each, have one
parent. Headlines are titles of the other articles, drawn by a seed. Prints a Markdown table: 4-gram F1, and the
articles that lose more than LOST of their text, without and with `keep_dropped_prose`.
"""

import argparse
import json
from collections import Counter
from collections.abc import Callable, Sequence
from html import escape
from pathlib import Path

import numpy as np
from selectolax.lexbor import LexborHTMLParser, LexborNode

from benchmarks.documents.content_teasers import teaser_of
from benchmarks.evaluation.documents import Page, load_pages, shingles, word_f1, words_of
from streams.pages.content.classifier import WEIGHTS_FILE, ContentModel
from streams.pages.content.main_content import PASSES, JudgedPage, keep_dropped_prose, page_features, run_passes
from streams.pages.content.prose_runs import is_article
from streams.pages.content.segment_stats import segment_stats
from streams.pages.parse.page import parse_page

LOST = 0.4
MIN_PARAGRAPHS, MIN_WORDS = 4, 25
SEED = 0
Heads = Callable[[int], Sequence[str]]


def paragraphs_of(tree: LexborHTMLParser, truth: list[str]) -> list[LexborNode]:
    """The paragraphs of the truth with the parent that has most of them; none if there are few."""
    known = set(zip(*(truth[n:] for n in range(4)), strict=False))
    found = []
    for node in tree.css("p"):
        words = words_of(node.text())
        hits = sum(gram in known for gram in zip(*(words[n:] for n in range(4)), strict=False))
        if len(words) >= MIN_WORDS and hits > 0.8 * len(words) - 4 and node.parent is not None:
            found.append(node)
    parents = Counter(node.parent.mem_id for node in found if node.parent is not None)
    most = parents.most_common(1)[0][0] if parents else None
    same = [node for node in found if node.parent is not None and node.parent.mem_id == most]
    return same if len(same) >= MIN_PARAGRAPHS else []


def _before(node: LexborNode, html: str) -> None:
    body = LexborHTMLParser(f"<body>{html}</body>").body
    for child in list(body.iter()) if body is not None else []:
        node.insert_before(child)


def _linked(tag: str, headlines: Sequence[str]) -> str:
    return "".join(f'<{tag}><a href="/{n}">{escape(line)}</a></{tag}>' for n, line in enumerate(headlines))


def _list_before(tree: LexborHTMLParser, texts: list[LexborNode], heads: Heads) -> None:
    _before(texts[0], f"<h2>Related stories</h2>{_linked('h3', heads(10))}")


def _list_inside(tree: LexborHTMLParser, texts: list[LexborNode], heads: Heads) -> None:
    _before(texts[2], f"<h3>Read more</h3>{_linked('p', heads(6))}")


def _videos_before(tree: LexborHTMLParser, texts: list[LexborNode], heads: Heads) -> None:
    items = "".join(f'<div class="item">{_linked("h4", [line])}<span>2:34</span></div>' for line in heads(16))
    _before(texts[0], f'<div class="videos"><h3>Videos</h3>{items}</div>')


def _headline_before_each(tree: LexborHTMLParser, texts: list[LexborNode], heads: Heads) -> None:
    for node in texts:
        _before(node, _linked("h3", heads(1)))


def _other_heading(tree: LexborHTMLParser, texts: list[LexborNode], heads: Heads) -> None:
    for heading in tree.css("h1, h2"):
        heading.decompose()
    _before(texts[0], "<h3>Latest news</h3>")


Change = Callable[[LexborHTMLParser, list[LexborNode], Heads], None]
CHANGES: dict[str, Change] = {
    "ten headlines before the text": _list_before,
    "six headlines in the text": _list_inside,
    "sixteen videos before the text": _videos_before,
    "a headline that is a link before each paragraph": _headline_before_each,
    "another heading, and no title": _other_heading,
}


def qualities(page: Page, html: bytes, model: ContentModel) -> list[tuple[float, float]]:
    """4-gram F1 and recall of a page, without and with the pass."""
    parsed = parse_page(html, url=page.url)
    if not parsed.walk.segments or parsed.quirk is not None:
        return []
    stats = segment_stats(parsed.walk, parsed.head.title)
    scores = model.probabilities(*page_features(parsed.walk, stats, parsed.head))
    read, truth = (
        JudgedPage(parsed.walk, stats, is_article(parsed.head)),
        Counter(shingles(words_of(page.main_content))),
    )
    found = []
    for passes in (tuple(step for step in PASSES if step is not keep_dropped_prose), PASSES):
        kept = run_passes(scores, read, passes=passes).kept
        texts = Counter(shingles([word for index in kept for word in words_of(parsed.walk.segments[index].text)]))
        found.append((word_f1(texts, truth), (texts & truth).total() / max(truth.total(), 1)))
    return found


def changed_qualities(
    pages: Sequence[Page], titles: list[str], change: Change, model: ContentModel
) -> list[list[tuple[float, float]]]:
    """The qualities of the pages that can be changed."""
    random, made = np.random.default_rng(SEED), list[list[tuple[float, float]]]()

    def heads(count: int) -> list[str]:
        drawn: list[str] = random.choice(titles, count).tolist()
        return drawn

    for page in pages:
        tree = LexborHTMLParser(page.html.decode("utf-8", "replace"))
        if texts := paragraphs_of(tree, words_of(page.main_content)):
            change(tree, texts, heads)
            made.append(qualities(page, (tree.html or "").encode("utf-8", "replace"), model))
    return [found for found in made if found]


def row(name: str, found: Sequence[list[tuple[float, float]]]) -> str:
    """A row of the table."""
    cells = [name, str(len(found))]
    for variant in range(2):
        lost = sum(each[variant][1] < 1 - LOST for each in found)
        cells += [f"{np.mean([each[variant][0] for each in found]):.4f}", str(lost)]
    return f"| {' | '.join(cells)} |"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("directory", type=Path, metavar="DIR")
    parser.add_argument("--model", type=Path, default=WEIGHTS_FILE)
    asked = parser.parse_args()
    stored = json.loads(asked.model.read_text())
    model = ContentModel(*(np.array(stored[name], np.float32) for name in ContentModel.__slots__))
    pages = [page for page in load_pages(asked.directory) if page.type == "article"]
    titles = [each.headline for page in pages if (each := teaser_of(page.title, page.main_content)) is not None]
    print("| change | articles | without | lost | with | lost |\n|---|---:|---:|---:|---:|---:|")
    print(row("none", [found for page in pages if (found := qualities(page, page.html, model))]), flush=True)
    for name, change in CHANGES.items():
        print(row(name, changed_qualities(pages, titles, change, model)), flush=True)


if __name__ == "__main__":
    main()
