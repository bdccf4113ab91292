# ruff: noqa: E501 - pages as they come
"""The training of the content model: pages with lists of headlines put after their text, and networks put together."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from benchmarks.documents.content_model import CERTAIN_LABEL, add_lists, example, together
from benchmarks.documents.content_teasers import Teaser, teaser_of, with_list
from benchmarks.evaluation.documents import Page
from streams.pages.content.classifier import ContentModel, group_neighbours
from streams.pages.content.segment_stats import segment_stats
from streams.pages.parse.page import parse_page

PARAGRAPH = "Herons of the lower river wait for hours in the shallow water, and seldom for nothing."
PAGE = f"<title>Herons of the lower river</title><main><article><h1>Herons</h1><p>First one. {PARAGRAPH}</p><p>{PARAGRAPH}</p></article></main>"
TEASERS = [Teaser(f"Headline number {number} of many", f"Summary number {number} of it.") for number in range(30)]

TITLES = [
    ("a site's name is cut off", "Port workers vote on contract | The Paper", "Port workers vote on contract"),
    ("by a dash, too", "The Paper – Port workers vote on contract", "Port workers vote on contract"),
    ("a short title is no headline", "Contact us", None),
    ("nor is a very long one", "word " * 40, None),
]


@pytest.mark.parametrize(("why", "title", "expected"), TITLES, ids=[case[0] for case in TITLES])
def test_headline_of_a_page(why: str, title: str, expected: str | None) -> None:
    made = teaser_of(title, f"By A. Author\n{PARAGRAPH} And then " + "again " * 40)
    assert (made and made.headline) == expected, why
    assert made is None or made.summary == PARAGRAPH


@pytest.mark.parametrize("seed", range(12))
def test_a_list_is_put_after_the_text_and_nothing_is_lost(seed: int) -> None:
    made = with_list(PAGE.encode(), ("p", PARAGRAPH), TEASERS, np.random.default_rng(seed))
    assert made is not None
    texts = [segment.text for segment in parse_page(made).walk.segments]
    assert texts[:3] == ["Herons", f"First one. {PARAGRAPH}", PARAGRAPH]
    assert sum("Headline number" in text for text in texts) == len(TEASERS)
    assert made == with_list(PAGE.encode(), ("p", PARAGRAPH), TEASERS, np.random.default_rng(seed))


def test_a_page_without_that_paragraph_gets_no_list() -> None:
    assert with_list(PAGE.encode(), ("p", "Not on the page"), TEASERS, np.random.default_rng(0)) is None


def page(number: int, kind: str) -> Page:
    html = PAGE.replace("Herons of the", f"Herons {number} of the", 1).encode()
    return Page(str(number), f"https://{number}.example/", kind, html, f"First one. {PARAGRAPH}\n{PARAGRAPH}")


def test_the_truth_of_a_page_with_a_list_is_the_same() -> None:
    examples = [made for n in range(30) if (made := example(page(n, "article" if n else "listing"))) is not None]
    add_lists(examples, np.random.default_rng(0))
    assert examples[0].listed is None, "such lists are content of a listing"
    listed = [one.listed for one in examples[1:] if one.listed is not None]
    assert len(listed) == 29
    for one, made in zip(examples[1:], listed, strict=True):
        assert made.truth == one.truth
        assert len(made.labels) > len(one.labels)
        labelled = {segment.text for segment, label in zip(made.walk.segments, made.labels, strict=True) if label > 0}
        assert labelled <= {segment.text for segment in one.walk.segments}
        assert sum(made.labels > CERTAIN_LABEL) == 2


def network(random: Callable[..., NDArray[Any]]) -> ContentModel:
    shapes = ((9, 4), (4,), (7 * 4, 3), (3,), (3, 1), (1,))
    return ContentModel(*(random(shape).astype(np.float32) for shape in shapes))


def test_networks_put_together_give_the_mean_of_their_scores() -> None:
    random = np.random.default_rng(0)
    models = [network(random.standard_normal) for _ in range(3)]
    parsed = parse_page("<h1>a</h1><ul><li>b c<li>d</ul>" + "<p>some more of it" * 20)
    near = group_neighbours(segment_stats(parsed.walk, ""))
    features = random.standard_normal((len(parsed.walk.segments), 9)).astype(np.float32) / 9
    each = [model.probabilities(features, near) for model in models]
    mean = np.mean([np.log(found / (1 - found)) for found in each], axis=0)
    assert together(models).probabilities(features, near) == pytest.approx(1 / (1 + np.exp(-mean)), abs=1e-4)
