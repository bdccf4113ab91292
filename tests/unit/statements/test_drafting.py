"""Documents as tables of blocks -> statements with their context."""

from collections.abc import Iterable
from uuid import UUID

import pytest
from hypothesis import given
from hypothesis import strategies as st

from streams.models.protocols import Link
from streams.pages.document.model import CONTAINER_TAGS, TEXT_TAGS, Block, Container, Document, Span
from streams.statements.chaining import MAX_EMBEDDED_WORDS, chain_input, make_statements
from streams.statements.contexts import MAX_CONTEXT_WORDS
from streams.statements.drafting import MAX_STATEMENTS, Draft, draft_statements
from streams.statements.sentences.lengths import word_count
from streams.statements.statement import (
    InvalidStatements,
    PageStatements,
    Statement,
    decode_statements,
    encode_statements,
)
from tests.sentence_splitter import SPLITTER

PAGE = UUID("5f0c7a4e-6f43-5f5c-9a3c-2f9f0a3f5b10")


def cut(*blocks: Block, containers: tuple[Container, ...] = (), title: str = "Guide") -> list[Draft]:
    document = Document(url="https://a.test/", title=title, language="de", containers=containers, blocks=blocks)
    return draft_statements(document, SPLITTER)[0]


def linked(antecedents: Iterable[int]) -> list[Link]:
    return [Link((antecedent,) if antecedent >= 0 else (), antecedent) for antecedent in antecedents]


def shown(found: list[Draft]) -> list[tuple[str, tuple[str, ...], str]]:
    return [(draft.kind, draft.context, draft.text) for draft in found]


def test_headings_are_context() -> None:
    found = cut(
        Block("h1", "Guide"),
        Block("h2", "Installing"),
        Block("h3", "On Linux"),
        Block("p", "Run the installer as root."),
        Block("h2", "Using it"),
        Block("p", "Open the window and look."),
        Block("h2", "Nothing yet"),
    )
    assert shown(found) == [
        ("sentence", ("Guide", "Installing", "On Linux"), "Run the installer as root."),
        ("sentence", ("Guide", "Using it"), "Open the window and look."),
        ("heading", ("Guide",), "Nothing yet"),
    ]


def test_a_heading_that_spells_the_title_with_superscript_digits_is_in_the_context_once() -> None:
    found = cut(Block("h1", "CO₂ in 10 m²"), Block("p", "It rises with the years."), title="CO2 in 10 m2")
    assert shown(found) == [("sentence", ("CO₂ in 10 m²",), "It rises with the years.")]


def test_a_lead_in_is_context_of_its_items_and_an_item_of_the_list_inside_it() -> None:
    containers = (Container("ul"), Container("li", 0), Container("ul", 1), Container("li", 2), Container("li", 0))
    found = cut(
        Block("p", "There are two of them here. The options are:"),
        Block("p", "fast mode for servers", 1),
        Block("p", "without any locking", 3),
        Block("p", "safe mode for phones", 4),
        containers=containers,
    )
    assert shown(found)[1:] == [
        ("item", ("Guide", "The options are:"), "fast mode for servers"),
        ("item", ("Guide", "The options are:", "fast mode for servers"), "without any locking"),
        ("item", ("Guide", "The options are:"), "safe mode for phones"),
    ]


def test_short_items_of_one_list_are_one_statement() -> None:
    containers = (Container("ul"), *(Container("li", 0) for _ in range(5)))
    items = ["a program crash,", "an operating system crash, or", "a power failure.", "Nothing is lost then.", "fast"]
    found = cut(
        Block("p", "A commit survives:"),
        *(Block("p", text, place) for place, text in enumerate(items, 1)),
        containers=containers,
    )
    assert shown(found)[1:] == [
        ("list", ("Guide", "A commit survives:"), "a program crash, an operating system crash, or a power failure."),
        ("item", ("Guide", "A commit survives:"), "Nothing is lost then."),  # a sentence
        ("item", ("Guide", "A commit survives:"), "fast"),  # the only one of its run
    ]


def test_joined_items_are_divided_where_they_are_long_and_keep_apart_what_is_of_other_lists() -> None:
    containers = (Container("ul"), *(Container("li", 0) for _ in range(9)), Container("ol"), Container("li", 10))
    found = cut(
        *(Block("p", f"option {number} of the ferry and all its boats;", number) for number in range(1, 10)),
        Block("p", "of another list;", 11),
        containers=containers,
    )
    assert [(draft.kind, draft.text.count(";"), word_count(draft.text) <= 40) for draft in found] == [
        ("list", 4, True),
        ("list", 4, True),
        ("item", 1, True),
        ("item", 1, True),
    ]


def test_terms_without_a_description_are_joined_as_the_lines_of_a_table_of_contents() -> None:
    tags = (("dl", -1), ("dt", 0), ("dd", 0), ("dl", 2), ("dt", 3), ("dt", 3), ("dt", 0))
    containers = tuple(Container(*tag) for tag in tags)
    lines = {1: "2. The Ship", 4: "2.1. The Masts", 5: "2.2. The Ropes", 6: "3. The Harbour"}
    found = cut(*(Block("p", text, place) for place, text in lines.items()), containers=containers)
    assert shown(found) == [
        ("list", ("Guide", "2. The Ship"), "2.1. The Masts; 2.2. The Ropes"),
        ("item", ("Guide",), "3. The Harbour"),
    ]


def test_names_are_joined_and_facts_stay_apart() -> None:
    containers = (Container("ul"), *(Container("li", 0) for _ in range(3)))

    def of(*items: str) -> list[tuple[str, str]]:
        blocks = (Block("p", text, place) for place, text in enumerate(items, 1))
        return [(draft.kind, draft.text) for draft in cut(*blocks, containers=containers)]

    assert of("30.4. Asynchronous Commit", "30.5. WAL Configuration", "Index") == [
        ("list", "30.4. Asynchronous Commit; 30.5. WAL Configuration; Index")
    ]
    facts = ("free tea on each ferry", "transactions, even after power loss", "a single file")
    assert of(*facts) == [("item", fact) for fact in facts]


@pytest.mark.parametrize(
    ("kind", "text", "links"),
    [
        # Items, with the texts in them that are links.
        ("link", "How long ropes are made", ["How long ropes are made"]),
        ("link", "Long ropes (1), and knots", ["Long ropes", "knots"]),
        ("link", "made of hemp, Long Ropes, Knots", ["Long Ropes", "Knots"]),  # an entry of an index
        ("item", "A safe harbour, even after a storm", ["A safe harbour, even after a storm"]),  # a fact
        ("item", "How long ropes are made of hemp", ["long ropes"]),
        ("item", "Long ropes are made of hemp.", ["Long ropes are made of hemp"]),  # a sentence
        ("item", "The rope of each ferry, by the Harbour Office of Oban", ["Harbour"]),
        ("item", "The rope of each ferry", ["rope of each", "of each"]),  # one in the other
        ("item", "How long ropes are made", []),
        ("item", "2021-12-24, 2021-12-25", ["2021-12-24"]),  # no letters
    ],
)
def test_an_item_that_only_names_other_pages_is_a_link(kind: str, text: str, links: list[str]) -> None:
    starts = [text.index(link) for link in links]
    spans = tuple(Span(start, start + len(link), "link") for start, link in zip(starts, links, strict=True))
    (found,) = cut(Block("p", text, 1, spans), containers=(Container("ul"), Container("li", 0)))
    assert (found.kind, found.text) == (kind, text)


def test_a_paragraph_that_is_a_link_stays_a_sentence() -> None:
    text = "How long ropes are made"
    assert [draft.kind for draft in cut(Block("p", text, -1, (Span(0, len(text), "link"),)))] == ["sentence"]


def test_a_term_is_context_of_what_defines_it() -> None:
    dl = (
        Container("dl"),
        Container("dt", 0),
        Container("dt", 0),
        Container("dd", 0),
        Container("dt", 0),
        Container("dd", 0),
    )
    found = cut(
        Block("p", "-v", 1),
        Block("p", "--verbose", 2),
        Block("p", "Say more about everything.", 3),
        Block("p", "-q", 4),
        Block("p", "Say less about everything.", 5),
        containers=dl,
    )
    assert shown(found) == [
        ("item", ("Guide", "-v", "--verbose"), "Say more about everything."),
        ("item", ("Guide", "-q"), "Say less about everything."),
    ]


MEANING = "Say more about everything."
NAMED = [
    # the first paragraph of an item, the second one, and the context of the second one behind the title
    ("--verbose", MEANING, ("--verbose",)),
    ("add [path ...]", MEANING, ("add [path ...]",)),
    ("Here is all about it.", MEANING, ()),  # a sentence
    ("Say more,", "and say it about everything.", ("Say more, …",)),  # its beginning
    ("a name that has more words than any name in a manual has", MEANING, ()),
]


@pytest.mark.parametrize(("first", "second", "context"), NAMED)
def test_the_first_paragraph_of_an_item_may_be_the_name_of_the_others(
    first: str, second: str, context: tuple[str, ...]
) -> None:
    item = (Container("ul"), Container("li", 0), Container("li", 0))
    found = cut(Block("p", first, 1), Block("p", second, 1), Block("p", "Another item is here.", 2), containers=item)
    assert shown(found)[-2:] == [("item", ("Guide", *context), second), ("item", ("Guide",), "Another item is here.")]


def test_a_short_paragraph_before_a_quotation_is_its_name() -> None:
    quotation = (Container("blockquote"), Container("p"))
    found = cut(
        Block("p", "SPEECH=<0 through 3>"),
        Block("p", MEANING, 0),
        Block("p", "Say less about everything.", 0),
        Block("p", "This stands behind it."),
        containers=quotation,
    )
    assert shown(found) == [
        ("sentence", ("Guide", "SPEECH=<0 through 3>"), MEANING),
        ("sentence", ("Guide", "SPEECH=<0 through 3>"), "Say less about everything."),
        ("sentence", ("Guide",), "This stands behind it."),
    ]


TABLE = (
    Container("table"),
    Container("caption", 0),
    Container("thead", 0),
    Container("tr", 2),
    Container("th", 3),
    Container("th", 3),
    Container("tbody", 0),
    Container("tr", 6),
    Container("td", 7),
    Container("td", 7),
    Container("tr", 6),
    Container("td", 10),
    Container("td", 10),
)


def test_a_row_has_its_cells_with_the_headings_of_their_columns() -> None:
    found = cut(
        Block("p", "Data types", 1),
        Block("p", "Name", 4),
        Block("p", "Bytes", 5),
        Block("p", "smallint", 8),
        Block("p", "2", 9),
        Block("p", "integer", 11),
        containers=TABLE,
    )
    assert shown(found) == [
        ("row", ("Guide", "Data types"), "Name: smallint | Bytes: 2"),
        ("sentence", ("Guide", "Data types", "Name"), "integer"),
    ]


@pytest.mark.parametrize(
    ("row", "name", "value"),
    [
        ("Default: 12 knots", "Default:", "12 knots"),
        ("ferry.ropes: The ropes of a ferry.", "ferry.ropes", "The ropes of a ferry."),  # an index of names
        ("max_ropes: ropes of a ferry", "max_ropes", "ropes of a ferry"),
        ("Oban | 12 km", "Oban", "12 km"),
        ("Oban | from the northern pier", "Oban", "from the northern pier"),  # a place, and no sentence about it
        ("12.5 | The ropes of a ferry.", "12.5", "The ropes of a ferry."),
        ("It leaves. | It comes back at noon.", "It leaves.", "It comes back at noon."),
    ],
)
def test_a_row_of_a_name_and_what_it_means_is_one_phrase(row: str, name: str, value: str) -> None:
    tags = (("table", -1), ("tr", 0), ("td", 1), ("td", 1))
    found = cut(Block("p", name, 2), Block("p", value, 3), containers=tuple(Container(*tag) for tag in tags))
    assert [(draft.kind, draft.text) for draft in found] == [("row", row)]


ROPES = "https://ferry.test/ropes"


@pytest.mark.parametrize(
    ("kind", "targets"),
    [
        ("link", (f"{ROPES}#hawser", f"{ROPES}#lines")),  # an entry of an index, and the section where it is
        ("row", (f"{ROPES}/hawser", f"{ROPES}/lines")),  # what is in one row may belong together
        ("row", (f"{ROPES}#hawser", None)),
    ],
)
def test_a_row_whose_links_lead_to_one_page_is_a_link(kind: str, targets: tuple[str | None, ...]) -> None:
    texts = ("hawser", "Lines of the ship")
    cells = (
        Block("p", text, place, spans=(Span(0, len(text), "link", target),) if target else ())
        for place, (text, target) in enumerate(zip(texts, targets, strict=True), start=2)
    )
    tags = (("table", -1), ("tr", 0), ("td", 1), ("td", 1))
    (draft,) = cut(*cells, containers=tuple(Container(*tag) for tag in tags))
    assert (draft.kind, draft.text) == (kind, "hawser | Lines of the ship")


def test_a_colon_behind_the_term_of_an_index_is_no_part_of_its_link() -> None:
    tags = (("table", -1), ("tr", 0), ("td", 1), ("td", 1))
    term = Block("p", "hawser:", 2, spans=(Span(0, 6, "link", f"{ROPES}#hawser"),))
    section = Block("p", "Lines of the ship", 3, spans=(Span(0, 17, "link", f"{ROPES}#lines"),))
    (draft,) = cut(term, section, containers=tuple(Container(*tag) for tag in tags))
    assert draft.kind == "link"


def test_a_cell_of_prose_is_cut_like_prose_below_its_columns_heading() -> None:
    long = "The storage grows with the value. " * 9
    found = cut(
        Block("p", "Name", 4),
        Block("p", "Notes", 5),
        Block("p", "text", 8),
        Block("p", long.strip(), 9),
        containers=TABLE,
    )
    assert {draft.context for draft in found if "storage" in draft.text} == {("Guide", "Notes")}
    assert len(found) > 2


def test_a_listing_is_cut_at_empty_lines_and_led_in_by_the_sentence_before_it() -> None:
    listing = "\n".join(f"line {number} of the first part" for number in range(12)) + "\n\nCREATE TABLE t (a, b);"
    found = cut(Block("p", "Some text here first. Run this script:"), Block("pre", listing))
    assert [draft.kind for draft in found[1:]] == ["code", "code"]
    assert found[2].text == "CREATE TABLE t (a, b);"
    assert found[1].context == ("Guide", "Run this script:")


def test_a_page_has_at_most_so_many_statements() -> None:
    document = Document(
        url="https://a.test/", blocks=tuple(Block("p", f"Number {n} is a number.") for n in range(MAX_STATEMENTS + 7))
    )
    found, left_out = draft_statements(document, SPLITTER)
    assert (len(found), left_out) == (MAX_STATEMENTS, 7)


@st.composite
def documents(draw: st.DrawFn) -> Document:
    containers: list[Container] = []
    for index in range(draw(st.integers(0, 12))):
        containers.append(Container(draw(st.sampled_from(CONTAINER_TAGS)), draw(st.integers(-1, index - 1))))
    parents = sorted(draw(st.lists(st.integers(-1, len(containers) - 1), max_size=12)))
    words = st.lists(
        st.sampled_from(["Wort", "a.", "b:", "Ende.", "中文。", "x" * 50, "und,"]), min_size=1, max_size=120
    )
    blocks = [Block(draw(st.sampled_from(TEXT_TAGS)), " ".join(draw(words)), parent) for parent in parents]
    return Document(
        url="https://a.test/",
        title=draw(st.sampled_from(["", "Titel"])),
        language="de",
        containers=tuple(containers),
        blocks=tuple(blocks),
    )


@given(documents())
def test_every_text_is_in_a_statement_or_its_context(document: Document) -> None:
    found, left_out = draft_statements(document, SPLITTER)
    assert left_out == 0
    shown_text = " ".join(part for draft in found for part in (draft.text, *draft.context))
    covered: dict[int, set[int]] = {}
    for draft in found:
        covered.setdefault(draft.block, set()).update(range(draft.start, draft.end))
        if draft.kind not in {"row", "list"}:
            assert document.blocks[draft.block].text[draft.start : draft.end] == draft.text
        assert sum(map(word_count, draft.context)) <= MAX_CONTEXT_WORDS or len(draft.context) == 1
    for index, block in enumerate(document.blocks):
        missing = [
            at for at, char in enumerate(block.text) if not char.isspace() and at not in covered.get(index, set())
        ]
        assert not missing or block.text in shown_text, (index, block)


@given(documents())
def test_statements_survive_their_bytes_and_are_the_same_for_the_same_document(document: Document) -> None:
    def page() -> PageStatements:
        found, _ = draft_statements(document, SPLITTER)
        sentences, owners = chain_input(found)
        chained = make_statements(PAGE, found, owners, linked(index - 1 for index in range(len(sentences))))
        return PageStatements(PAGE, document.url, document.title, document.language, chained)

    content = encode_statements(page())
    assert content == encode_statements(page())
    assert decode_statements(content) == page()
    assert len({statement.id for statement in page().statements}) == len(page().statements)


@pytest.mark.parametrize(
    "content",
    [b"", b"\x00", b"\x91\x02", b"\x92\x01\xc0", encode_statements(PageStatements(PAGE, "", "", "", ()))[:-3]],
)
def test_other_bytes_are_no_statements(content: bytes) -> None:
    with pytest.raises(InvalidStatements):
        decode_statements(content)


def test_chains_lead_back_but_not_into_another_section() -> None:
    found = cut(
        Block("h2", "One"),
        Block("p", "A dog came into the house. It barked at the cat. It left the house again."),
        Block("h2", "Two"),
        Block("p", "It was a different story here."),
    )
    sentences, owners = chain_input(found)
    assert sentences == [*(draft.text for draft in found[:3]), "", found[3].text]
    chained: tuple[Statement, ...] = make_statements(PAGE, found, owners, linked([-1, 0, 1, -1, 3]))
    assert [statement.context for statement in chained] == [
        ("Guide", "One"),
        ("Guide", "One", "A dog came into the house."),
        ("Guide", "One", "A dog came into the house.", "It barked at the cat."),
        ("Guide", "Two"),
    ]


def test_a_chain_goes_on_where_a_sentence_that_needs_nothing_itself_is_followed() -> None:
    found = cut(Block("p", "A dog came into the house. It barked at the cat. The neighbours did not like that."))
    _, owners = chain_input(found)
    links = [Link(), Link((), 0), Link((1,), 1)]
    contexts = [statement.context for statement in make_statements(PAGE, found, owners, links)]
    assert contexts == [("Guide",), ("Guide",), ("Guide", "A dog came into the house.", "It barked at the cat.")]


WORDS_40 = " ".join(f"w{n}" for n in range(39))


def test_a_chain_is_cut_at_its_far_end_and_the_context_before_the_chain() -> None:
    """Within the words that the embedding reads: the statement and its nearest antecedent are whole in any case."""
    texts = [f"Sentence {n} has {WORDS_40}." for n in range(5)]
    found = [Draft(text, ("Guide", "Part one", f"Section {WORDS_40}"), "sentence", 0, 0, 0, 0) for text in texts]
    links = linked(range(-1, 4))
    contexts = [statement.context for statement in make_statements(PAGE, found, list(range(5)), links)]
    assert contexts[1] == ("Guide", "Part one", f"Section {WORDS_40}", texts[0])
    assert contexts[4] == ("Guide", "Part one", f"Section {WORDS_40}", texts[2], texts[3])
    for draft, context in zip(found, contexts, strict=True):
        assert sum(map(word_count, (*context, draft.text))) <= MAX_EMBEDDED_WORDS


def test_the_nearest_antecedent_is_kept_and_the_context_makes_room_for_it() -> None:
    long = "word " * 79 + "end."
    found = [Draft(long, ("Guide", WORDS_40, "Last"), "sentence", 0, 0, 0, 0) for _ in range(3)]
    made = make_statements(PAGE, found, [0, 1, 2], linked([-1, 0, 1]))
    assert [statement.context for statement in made[1:]] == [("Guide", "Last", long)] * 2


@pytest.mark.parametrize(
    ("links", "why"),
    [
        ([Link(), Link((), 9), Link((1,), 1)], "beyond the page"),
        ([Link(), Link((2,), 2), Link((1,), 1)], "a later sentence, and a cycle"),
        ([Link((0,), 0), Link((1,), 1), Link((2,), 2)], "itself"),
    ],
)
def test_an_impossible_link_is_ignored(links: list[Link], why: str) -> None:
    found = [Draft(f"Sentence number {n}.", ("Guide",), "sentence", 0, 0, 0, 0) for n in range(3)]
    for statement in make_statements(PAGE, found, [0, 1, 2], links):
        assert statement.context in {("Guide",), ("Guide", "Sentence number 1.")}, why


def test_a_link_to_a_break_is_ignored() -> None:
    found = [Draft(f"Sentence number {n}.", ("Guide",), "sentence", 0, 0, 0, n) for n in range(2)]
    made = make_statements(PAGE, found, [0, -1, 1], [Link(), Link(), Link((1,), 1)])
    assert [statement.context for statement in made] == [("Guide",), ("Guide",)]
