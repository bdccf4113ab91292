"""Texts and markup that nobody writes, in families: each is read or refused, and none of them hangs a stage.

The guards are CPU times that are many times what the cases need. A case whose time grows with the square of its size
is far beyond them. Sizes are no larger than that takes, and by day texts are a quarter as long.
"""

import sys
import unicodedata
from contextlib import suppress
from itertools import product

import pytest

from streams.errors import Refused
from streams.pages.normalize import normalize
from streams.pages.parse.elements import KINDS_BY_NAME
from streams.pages.text.tokens import words
from tests.cpu_guard import cpu_guard
from tests.sizes import FULL

URL = "https://site.example/page"
GUARD_SECONDS = 8
TEXT_CHARS = 40_000 if FULL else 10_000
LEVELS = 4_900
"""Just below the depth that is refused."""
REPEATED = 1_500

CATEGORIES: dict[str, list[str]] = {}
"""The first and the last character of each Unicode category."""
for _code in range(sys.maxunicode + 1):
    _ends = CATEGORIES.setdefault(unicodedata.category(chr(_code)), [chr(_code)])
    _ends[1:] = [chr(_code)]
NEIGHBOURS = ("", "a", "'", "_", "\u0301", "中")

OTHER_ELEMENTS = (
    "annotation b bdo big data del foreignObject font g h7 html i ins marquee mfrac mi mrow msup mtable mtd mtr output "
    "picture q rb ruby s semantics slot span strike time u x-y xmp"
)
ELEMENTS = sorted({*KINDS_BY_NAME, *OTHER_ELEMENTS.split()})
ATTRIBUTES = (
    'role="navigation"', 'role="doc-footnote"', 'class="katex-html"', 'class="MathJax"', 'lang="de"',
    "itemscope itemprop=a",
    'typeof="Thing" property="a"', 'href="#n1" id="n1"', 'href="/p" rel="author"', 'class="date author comment"',
    'type="math/tex"', 'type="application/ld+json"', 'colspan="1000" rowspan="65534"', 'src="x" alt="y"',
    'datetime="2024"',
)  # fmt: skip


def read(html: str) -> None:
    with cpu_guard(GUARD_SECONDS), suppress(Refused):
        normalize(html.encode("utf-8", "replace"), url=URL)


@pytest.mark.parametrize("category", CATEGORIES)
def test_words_of_each_class_of_characters(category: str) -> None:
    for char, neighbour in product(CATEGORIES[category], NEIGHBOURS):
        text = "é" + (char + neighbour) * (TEXT_CHARS // 2)
        with cpu_guard(GUARD_SECONDS):
            assert all(words(text)), "a word has characters"


@pytest.mark.parametrize("category", CATEGORIES)
def test_pages_of_each_class_of_characters(category: str) -> None:
    for char in CATEGORIES[category]:
        text = char * TEXT_CHARS
        read(f"<title>{text}</title><meta name=author content='{text[:5_000]}'><h1>{text[:500]}</h1><p>{text}")


@pytest.mark.parametrize("element", ELEMENTS)
def test_each_element_nested_and_repeated(element: str) -> None:
    read(f"<{element}>" * LEVELS + "text")
    read(f"<{element}>text</{element}>" * REPEATED)
    read(f"<{element}>text " * LEVELS)


@pytest.mark.parametrize("attributes", ATTRIBUTES)
@pytest.mark.parametrize("element", ["div", "a", "td", "script", "svg", "html"] if FULL else ["a", "td"])
def test_each_attribute_nested_and_repeated(element: str, attributes: str) -> None:
    read(f"<{element} {attributes}>" * LEVELS + "text")
    read(f"<{element} {attributes}>text</{element}>" * REPEATED)
