from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from streams.statements.sentences.lengths import MAX_WORDS, bound_lengths, word_count
from streams.statements.sentences.splitter import choose_starts, find_endings, spans_between
from tests.sentence_splitter import SPLITTER


def by_rule(text: str) -> list[str]:
    return [text[start:end] for start, end in spans_between(text, choose_starts(text, find_endings(text)))]


@pytest.mark.parametrize(
    ("text", "count", "why"),
    [
        ("One sentence here.", 1, "the last terminator ends the text, not a sentence before another"),
        ("The file is written. The journal is deleted.", 2, "a word before, a capital behind"),
        ("It uses e.g. the journal. Nothing else.", 2, "an abbreviation is no ending"),
        ("See fig. 3 for the layout.", 1, "an abbreviation before a number"),
        ("Written by J. Smith in Paris.", 1, "an initial"),
        ("Really? Yes! Good.", 3, "question and exclamation marks are clear"),
        ('He cried "stop." Then he left.', 2, "the closing quote belongs to the sentence"),
        ("It was found in 2009. [2] The prize came later.", 2, "a reference belongs to the sentence before it"),
        ("It was found in the archive.¹² The prize came later.", 2, "and one in superscript digits"),
        ("这是第一句。这是第二句！第三句", 3, "ideographic terminators need no space"),
        ("यह पहला वाक्य है। यह दूसरा है।", 2, "danda"),
        ("هذه جملة. وهذه جملة أخرى.", 2, "letters without case start a sentence"),
        ("version 3.8.0 was released", 1, "points inside a number"),
        ("foo.bar() returns. then it stops", 1, "a small letter behind continues the sentence"),
        ("", 0, "nothing"),
        ("  \n ", 0, "white space"),
    ],
)
def test_sentences_by_rule(text: str, count: int, why: str) -> None:
    assert len(by_rule(text)) == count, (why, by_rule(text))


@pytest.mark.parametrize(
    ("text", "count"),
    [
        ("He works at Acme Inc. in Boston. She works at Foo Co. too.", 2),
        ("The U.S. Senate voted. It passed in 1971. Then it was in force.", 3),
    ],
)
def test_the_model_decides_doubtful_endings(text: str, count: int) -> None:
    spans = SPLITTER.split([text], ["en"])[0]
    assert len(spans) == count, [text[start:end] for start, end in spans]


def test_languages_without_a_model_are_split_by_rule() -> None:
    text = "Der Vertrag gilt bis 31. Dezember 2024. Danach endet er, z. B. durch Kündigung."
    assert [text[start:end] for start, end in SPLITTER.split([text], ["de"])[0]] == [
        "Der Vertrag gilt bis 31. Dezember 2024.",
        "Danach endet er, z. B. durch Kündigung.",
    ]


texts = st.lists(
    st.one_of(
        st.sampled_from([". ", "? ", "。", "; ", ", and ", " – ", "\n\n", ' "', " e.g. ", "Dr. ", "1. "]),
        st.text(max_size=30),
    ),
    max_size=40,
).map("".join)


@given(texts, st.sampled_from(["en", "de", "", "zh"]))
def test_spans_cover_all_but_white_space(text: str, language: str) -> None:
    """In order, disjoint, trimmed, and nothing that can be read is lost: before and behind `bound_lengths`."""
    spans = SPLITTER.split([text], ["de" if language == "en" else language])[0]
    for found in (spans, bound_lengths(text, spans)):
        assert [span for span in found if not text[slice(*span)].strip()] == []
        assert sorted(found) == found
        assert all(first[1] <= second[0] for first, second in pairwise(found))
        left = text
        for start, end in reversed(found):
            left = left[:start] + left[end:]
        assert not left.strip()


@given(st.text(alphabet="ab ,;。中文x\n", max_size=3_000))
def test_no_span_is_too_long(text: str) -> None:
    spans = bound_lengths(text, spans_between(text, []))
    assert all(word_count(text[start:end]) <= MAX_WORDS for start, end in spans)


def test_an_overlong_sentence_is_cut_at_clauses() -> None:
    text = "the first clause has exactly seven words; " * 20
    parts = [text[start:end] for start, end in bound_lengths(text, spans_between(text, []))]
    assert len(parts) > 1
    assert all(part.endswith(";") for part in parts), parts


def test_a_fragment_joins_its_neighbour() -> None:
    text = "No. The file is never deleted. See below. Nothing else is stored in this place."
    spans = spans_between(text, [4, 31, 42])
    assert [text[start:end] for start, end in bound_lengths(text, spans)] == [
        "No. The file is never deleted. See below.",
        "Nothing else is stored in this place.",
    ]
