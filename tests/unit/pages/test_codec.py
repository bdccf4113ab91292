"""Documents are encoded and decoded without loss, and equal documents have equal bytes."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from streams.pages.document.codec import InvalidDocument, decode_document, encode_document
from streams.pages.document.model import Block, Container, Document, Link, Span

TEXT = st.text(max_size=20)
FACTS = st.dictionaries(TEXT, st.recursive(TEXT | st.booleans(), lambda inner: st.lists(inner, max_size=3)), max_size=3)
DOCUMENTS = st.builds(
    Document,
    url=TEXT,
    title=TEXT,
    language_confidence=st.floats(0, 1),
    script=TEXT,
    containers=st.lists(st.builds(Container, TEXT, st.integers(-1, 5), st.integers(-1, 5)), max_size=3).map(tuple),
    blocks=st.lists(
        st.builds(
            Block,
            TEXT,
            TEXT,
            st.integers(-1, 3),
            st.lists(
                st.builds(Span, kind=TEXT, start=st.integers(0, 9), end=st.integers(0, 9), target=TEXT, label=TEXT),
                max_size=2,
            ).map(tuple),
            TEXT,
            st.just(0.0) | st.floats(0, 1),
            st.just("") | TEXT,
        ),
        max_size=3,
    ).map(tuple),
    links=st.lists(st.builds(Link, TEXT, TEXT, st.booleans(), st.booleans()), max_size=3).map(tuple),
    facts=FACTS,
)


@given(DOCUMENTS)
def test_a_document_is_encoded_without_loss(document: Document) -> None:
    assert decode_document(encode_document(document)) == document


def test_the_order_of_facts_does_not_change_the_bytes() -> None:
    one = Document("https://a.example/", facts={"author": "A", "image": {"b": 1, "a": 2}})
    other = Document("https://a.example/", facts={"image": {"a": 2, "b": 1}, "author": "A"})
    assert encode_document(one) == encode_document(other)


@pytest.mark.parametrize("content", [b"", b"\xc1", b"\x90", b"\x92\x01\x02", b"\x91\x63", b"\x91\x01", b"\x01"])
def test_other_bytes_are_refused(content: bytes) -> None:
    with pytest.raises(InvalidDocument):
        decode_document(content)
