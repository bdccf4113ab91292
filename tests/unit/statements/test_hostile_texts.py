"""Texts that a stranger writes to hold the stage: each is drafted in time that only grows with its length."""

import unicodedata
from collections.abc import Sequence

import pytest

from streams.models.inference.antecedents import antecedents
from streams.pages.document.model import Block, Container, Document, Span
from streams.statements import drafting
from streams.statements.contexts import MAX_CONTEXT_WORDS
from streams.statements.drafting import MAX_BLOCKS, MAX_CHARS, draft_statements
from streams.statements.sentences.lengths import word_count
from streams.statements.sentences.splitter import (
    MAX_BATCH_CHARS,
    MAX_MODEL_CHARS_PER_PAGE,
    SentenceSplitter,
    find_endings,
)
from tests.cpu_guard import cpu_guard
from tests.sentence_splitter import SPLITTER
from tests.sizes import guard_seconds, size

GUARD_SECONDS = guard_seconds(8.0)
BLOCKS = size(MAX_BLOCKS)


@pytest.fixture(scope="module", autouse=True)
def loaded() -> None:
    """The model is loaded first: no guard counts that."""
    SPLITTER.load()


def page(*blocks: Block, containers: tuple[Container, ...] = (), title: str = "Guide") -> Document:
    return Document(url="https://a.test/", title=title, language="en", containers=containers, blocks=blocks)


@pytest.mark.parametrize("digits", [40, 5_000])
def test_superscript_digits_behind_a_full_stop_take_linear_time(digits: int) -> None:
    with cpu_guard(GUARD_SECONDS):
        assert find_endings("text." + "²" * digits + "x") == []
        assert len(find_endings("text." + "²" * digits + " The")) == 1


TEXTS = {
    "20 KB of full stops": "." * size(20_000),
    "100 KB of exclamation and question marks": "!?" * size(50_000),
    "marks and closing brackets": ".)" * size(50_000) + "x",
    "references in brackets behind a mark": "a." + "[1] " * size(25_000) + "[note 12",
    "a mark and white space": ". " * size(50_000) + "x",
    "white space without end": "a." + " " * size(400_000) + "b",
    "words with wide gaps": ("word" + " " * 2_000) * 200,
    "200 KB of words in one block": "word " * size(40_000),
    "140 KB of short sentences": "A b c. " * size(20_000),
    "100 KB of Han": "中文" * size(17_000),
    "1 MB of words in one block": "words of a book and " * size(50_000),
    "one word of 1 MB": "x" * size(1_000_000),
    "commas": ", " * size(200_000),
    "abbreviations": "e.g. No. 5 J. " * size(12_000),
    "empty lines": "a\n\n" * size(100_000),
}


@pytest.mark.parametrize("tag", ["p", "pre", "h2"])
@pytest.mark.parametrize("text", TEXTS.values(), ids=TEXTS.keys())
def test_a_block_takes_linear_time(text: str, tag: str) -> None:
    with cpu_guard(GUARD_SECONDS):
        draft_statements(page(Block(tag, text), Block("p", "A paragraph below it.")), SPLITTER)


def _one_of_each_category() -> dict[str, str]:
    """A character of each Unicode category, and a few that sentence rules know."""
    found: dict[str, str] = {}
    for code in (*range(0x3100), *range(0xE000, 0xE010), *range(0x1F300, 0x1F310)):
        found.setdefault(unicodedata.category(chr(code)), chr(code))
    return found | {char: char for char in "._²。؟।’」)[中ไ한\u200d\u00ad"}


@pytest.mark.parametrize("char", _one_of_each_category().values(), ids=_one_of_each_category().keys())
def test_any_character_repeated_takes_linear_time(char: str) -> None:
    unit = size(4_000)
    texts = [char * unit, f".{char}" * unit, f"a{char} " * unit, f"a.{char * unit}x", f"{char}\n" * unit]
    blocks = [Block(tag, text) for text in texts for tag in ("p", "pre", "h3")]
    with cpu_guard(GUARD_SECONDS):
        found, _ = draft_statements(page(*blocks), SPLITTER)
        antecedents([draft.text for draft in found])


@pytest.mark.parametrize("tag", ["ul", "ol", "li", "dl", "dd", "blockquote", "table", "tr", "td", "th", "figure"])
def test_any_container_nested_or_repeated_takes_linear_time(tag: str) -> None:
    deep, wide = 250, size(2_500)
    nested = [Container(tag, number - 1) for number in range(deep)]
    containers = (*nested, *[Container(tag, deep - 1)] * wide)
    blocks = [Block("p", f"text {number}", number) for number in range(deep + wide)]
    with cpu_guard(GUARD_SECONDS):
        draft_statements(page(*blocks, containers=containers), SPLITTER)


@pytest.mark.parametrize(
    ("blocks", "last", "left_out", "why"),
    [
        ([Block("p", "x" * (MAX_CHARS + 7))], (0, MAX_CHARS), 0.0, "one block is cut: at least one statement"),
        ([Block("p", "x" * (MAX_CHARS - 7))] * 2, (1, 7), 1.0, "of the second block little is left"),
        ([Block("p", "x" * MAX_CHARS)] * 3, (0, MAX_CHARS), 2.0, "two blocks as long as the first are left out"),
        ([Block("p", "")] * BLOCKS + [Block("p", "x")], None, 0.0, "a block too many: at least one statement"),
    ],
)
def test_the_rest_of_a_page_that_is_too_long_is_left_out(
    blocks: list[Block], last: tuple[int, int] | None, left_out: float, why: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """`left_out` is the share of the statements that are kept: text that isn't read counts as text that is."""
    monkeypatch.setattr(drafting, "MAX_BLOCKS", BLOCKS)
    found, counted = draft_statements(page(*blocks), SPLITTER)
    assert max(((draft.block, draft.end) for draft in found), default=None) == last, why
    assert counted == pytest.approx(max(left_out * len(found), 1), rel=0.01), why


def test_many_blocks_take_the_time_of_the_first_ones(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(drafting, "MAX_BLOCKS", BLOCKS)
    with cpu_guard(GUARD_SECONDS):
        draft_statements(page(*[Block("p", "a.")] * size(1_000_000)), SPLITTER)


def test_a_row_of_many_cells_takes_linear_time() -> None:
    cells = size(5_000)
    containers = (Container("table"), Container("tr", 0), *(Container("td", 1) for _ in range(cells)))
    blocks = (Block("p", f"cell {number}", 2 + number) for number in range(cells))
    with cpu_guard(GUARD_SECONDS):
        found, _ = draft_statements(page(*blocks, containers=containers), SPLITTER)
    assert found[0].text.startswith("cell 0 | cell 1")


def test_the_links_of_an_item_are_read_once_for_all_its_statements() -> None:
    links = size(200_000)
    spans = tuple(Span(2 * number, 2 * number + 1, "link") for number in range(links))
    block = Block("p", "x " * links, 1, spans)
    with cpu_guard(GUARD_SECONDS):
        found, _ = draft_statements(page(block, containers=(Container("ul"), Container("li", 0))), SPLITTER)
    assert len(found) > links / 200
    assert {draft.kind for draft in found} == {"item"}  # too many words for links


def test_long_column_headings_are_cut_once() -> None:
    columns, rows = 3, size(5_000)
    containers = [Container("table"), Container("tr", 0), *(Container("th", 1) for _ in range(columns))]
    blocks = [Block("p", "heading " * size(25_000), 2 + column) for column in range(columns)]
    for _ in range(rows):
        containers.append(Container("tr", 0))
        row = len(containers) - 1
        for column in range(columns):
            containers.append(Container("td", row))
            blocks.append(Block("p", f"cell {column}", len(containers) - 1))
    with cpu_guard(GUARD_SECONDS):
        draft_statements(page(*blocks, containers=tuple(containers)), SPLITTER)


def test_a_long_heading_is_cut_once_for_all_paragraphs_below_it() -> None:
    below = [Block("p", f"Paragraph number {n}.") for n in range(size(3_000))]
    blocks = (Block("h1", "heading " * size(25_000)), *below)
    with cpu_guard(GUARD_SECONDS):
        draft_statements(page(*blocks, title="title " * size(25_000)), SPLITTER)


def test_thousands_of_terms_before_thousands_of_descriptions_take_linear_time() -> None:
    count = size(4_000)
    containers = [
        Container("dl"),
        *(Container("dt", 0) for _ in range(count)),
        *(Container("dd", 0) for _ in range(count)),
    ]
    blocks = [Block("p", f"text {n}", 1 + n) for n in range(2 * count)]
    with cpu_guard(GUARD_SECONDS):
        found, _ = draft_statements(page(*blocks, containers=tuple(containers)), SPLITTER)
    assert all(sum(map(word_count, draft.context)) <= MAX_CONTEXT_WORDS for draft in found)


def test_a_caption_of_thousands_of_blocks_takes_linear_time() -> None:
    count = size(3_000)
    containers = [Container("table"), Container("caption", 0)]
    blocks = [Block("p", f"caption {n}", 1) for n in range(count)]
    for n in range(count):
        containers += [Container("tr", 0), Container("td", len(containers)), Container("td", len(containers))]
        blocks += [Block("p", f"a {n}", len(containers) - 2), Block("p", f"b {n}", len(containers) - 1)]
    with cpu_guard(GUARD_SECONDS):
        draft_statements(page(*blocks, containers=tuple(containers)), SPLITTER)


class _RecordingSplitter(SentenceSplitter):
    """A splitter without a model, which records how many characters it would have read at once."""

    def __init__(self) -> None:
        super().__init__()
        self.batches: list[int] = []

    def _model_starts(self, texts: Sequence[str]) -> list[frozenset[int]]:
        self.batches.append(sum(map(len, texts)))
        return [frozenset() for _ in texts]


def test_many_blocks_of_abbreviations_go_to_the_model_in_bounded_batches() -> None:
    splitter = _RecordingSplitter()
    splitter.split(["e.g. No. 5 J. " * 1_350] * 50, ["en"] * 50)
    assert 0 < max(splitter.batches) <= MAX_BATCH_CHARS
    assert sum(splitter.batches) <= MAX_MODEL_CHARS_PER_PAGE
