"""The marks of Markdown beyond CommonMark: notes, tasks, hints, headings in HTML, and code that keeps all of it."""

import pytest

from streams.pages.document.model import Document
from streams.pages.sandbox.normalizing import read_document

URL = "https://docs.example/user_guide.md"


def read(text: str) -> Document:
    return read_document(text.encode(), url=URL, headers={"content-type": "text/markdown"}).document


@pytest.mark.parametrize(
    ("why", "text", "blocks"),
    [
        ("tasks", "- [x] north\n- [ ] south\n- [X] east", ["☑ north", "☐ south", "☑ east"]),
        ("a task's mark elsewhere is text", "All [x] of it", ["All [x] of it"]),
        ("a hint", "> [!NOTE]\n> The tables are here.", ["The tables are here."]),
        ("a hint without a quotation", "[!NOTE] The tables.", ["[!NOTE] The tables."]),
        ("a comment", "Before.<!-- not shown -->\n\n<!--\nnor this\n-->\nAfter.", ["Before.", "After."]),
        ("a comment in code", "```html\n<!-- shown -->\n<b>\n```", ["<!-- shown -->\n<b>"]),
        (
            "a note in code",
            "~~~\n[^1]: not a note\n```\n[^2]: nor this\n~~~",
            ["[^1]: not a note\n```\n[^2]: nor this"],
        ),
        ("a mark without a note", "Some text[^7] of it.", ["Some text[^7] of it."]),
    ],
)
def test_marks(why: str, text: str, blocks: list[str]) -> None:
    assert [block.text for block in read(f"# Tides\n\n{text}\n").blocks[1:]] == blocks, why


def test_a_note_stands_at_its_mark() -> None:
    document = read(
        "# Tides\n\nThe tide comes twice a day[^a] here.\n\n[^a]: But for *some*\n    seas.\n\nThe end of it."
    )
    assert [block.text for block in document.blocks] == ["Tides", "The tide comes twice a day here.", "The end of it."]
    assert [(span.kind, span.target) for span in document.blocks[1].spans] == [("footnote", "But for some seas.")]


@pytest.mark.parametrize(
    ("why", "text", "title"),
    [
        ("HTML, behind a picture", '<p><img src=l.png></p>\n<h1 align="center">Tide &amp; sea</h1>\n', "Tide & sea"),
        ("a lower heading at the top", '<h2 id="a">Tide</h2>\n\nText.', "Tide"),
        ("no heading", "Text.", "user guide"),
    ],
)  # fmt: skip
def test_the_title_is_the_first_heading(why: str, text: str, title: str) -> None:
    assert read(text).title == title, why
