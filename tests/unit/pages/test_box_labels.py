"""Labels of boxes, and headings that only say which part of a document begins, in the context of a statement."""

from uuid import UUID

import pytest

from streams.pages.text.tokens import is_box_label
from streams.statements.statement import Statement

PARTS = ["Introduction", "EXECUTIVE SUMMARY", "Table of contents", "Zusammenfassung:", "Visão geral", "Aperçu"]


@pytest.mark.parametrize("label", ["Note", "Warning", "TIP:", "Achtung!", " Remarque :", *PARTS])
def test_a_label_is_a_whole_text(label: str) -> None:
    assert is_box_label(label)
    assert not is_box_label(f"{label} of the release")


def test_the_embedding_text_is_without_labels_and_with_the_title() -> None:
    # "release notes" was near each note about releasing something.
    context = ("Warnings", "Savepoints", "Note", "Important:")
    boxed = Statement(UUID(int=1), 0, "They are released.", context)
    assert boxed.in_context == "Warnings\nSavepoints\nThey are released."
    assert boxed.context == context, "a reader sees the box's label"


def test_a_short_statement_is_embedded_without_the_name_of_its_part() -> None:
    item = Statement(UUID(int=1), 0, "Transactions, even after power loss", ("About a database", "Executive Summary"))
    assert item.in_context == "About a database\nTransactions, even after power loss"
    named = Statement(UUID(int=1), 0, "It has nine parts.", ("Introduction", "Summary of the laws"))
    assert named.in_context == "Introduction\nSummary of the laws\nIt has nine parts.", "a title, and a subject"
