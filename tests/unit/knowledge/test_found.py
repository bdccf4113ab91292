"""Entities found in the index: the names that others use, and what is taken of a page's structured data."""

from collections.abc import Sequence
from typing import Any
from uuid import UUID

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from streams.knowledge.entity import MAX_FACTS, MAX_VALUES, Part
from streams.knowledge.found.names import agreed_names, entity_id_of, page_of
from streams.knowledge.found.properties import GROUPS
from streams.knowledge.found.subject import read_subject
from streams.links.page_links import place_of
from streams.pages.document.consent import Consent
from streams.stores.protocols import PageLink

PAGE = UUID(int=1)
URL = "https://quill.example/"
ACME = {"quill": 7}


def links(*rows: tuple[str, str], nofollow: bool = False) -> list[PageLink]:
    return [PageLink(PAGE, place_of(url), url, anchor, nofollow) for url, anchor in rows]


def from_sites(anchors: Sequence[str]) -> list[PageLink]:
    return links(*((f"https://site{number}.test/", anchor) for number, anchor in enumerate(anchors)))


@pytest.mark.parametrize(
    ("given", "names"),
    [
        (from_sites(["Quill", "quill", "QUILL!"]), {"quill": 3}),  # one key
        (from_sites(["Quill", "quill"]), {}),  # too few
        (from_sites(["Quill"] * 3 + ["Quill tower"] * 4), {"quill tower": 4, "quill": 3}),
        (from_sites(["here"] * 9 + ["Website"] * 9), {}),  # they name nothing
        (from_sites(["2024"] * 9), {}),
        (from_sites(["Quill"] * 3 + [f"a page about {word}" for word in "abcdefghijkl"]), {}),  # no agreement
        (from_sites(["Quill"] * 3 + [""] * 30), {"quill": 3}),  # pictures have no text
        (links(*((f"https://{one}.owner.test/", "Quill") for one in "abcdef")), {}),  # one owner
        (links(*((f"https://site{one}.test/", "Quill") for one in range(9)), nofollow=True), {}),
    ],
)
def test_a_name_counts_if_enough_domains_use_it(given: list[PageLink], names: dict[str, int]) -> None:
    assert agreed_names(given, 3) == names


def read(item: dict[str, Any], directives: tuple[str, ...] = ()) -> Part | None:
    return read_subject([item], ACME, URL, Consent.of_directives(directives))


QUILL = {
    "type": "Organization",
    "name": "Quill",
    "alternateName": ["QUILL", "Wonder of the World"],
    "description": "Quill  makes pens.",
    "foundingDate": "1931-03",
    "founder": [{"type": "Person", "name": "Ada Quill"}, {"type": "Person", "name": "Bo Quill"}],
    "address": {"type": "PostalAddress", "streetAddress": "1 Ink Street", "addressLocality": "Pentown"},
    "logo": {"type": "ImageObject", "url": "https://quill.example/logo.png"},
    "sameAs": ["https://evil.example/"],
}


def test_a_page_says_what_its_subject_is() -> None:
    part = read(QUILL)
    assert part
    assert (part.label, part.type, part.group, part.summary) == (
        "Quill",
        "organization",
        "organization",
        "Quill makes pens.",
    )
    facts = {fact.label: [value.text for value in fact.values] for fact in part.facts}
    assert facts == {
        "Founded": ["March 1931"],
        "Founded by": ["Ada Quill", "Bo Quill"],
        "Address": ["1 Ink Street, Pentown"],
    }
    assert {fact.source_url for fact in part.facts} == {URL}, "each fact leads to the page that says it"
    assert part.facts[0].values[0].time == "1931-03"
    assert part.aliases == ("QUILL",), "a name that nobody else uses is left out"
    assert part.image
    assert (part.image.url, part.image.page_url) == ("https://quill.example/logo.png", URL)
    assert part.linking_domains == 7


@pytest.mark.parametrize(
    ("change", "why"),
    [
        ({"name": "Apple", "alternateName": []}, "others call it something else"),
        ({"type": "WebSite"}, "a site is no entity"),
        ({"type": "Article"}, "a text about something"),
        (dict.fromkeys(("description", "foundingDate", "founder", "address")), "nothing but a name"),
    ],
)
def test_which_items_are_no_entity(change: dict[str, Any], why: str) -> None:
    assert read({**QUILL, **change}) is None, why


def test_publishers_limit_what_is_quoted() -> None:
    assert read(QUILL, ("nosnippet",)) is None
    short = read(QUILL, ("max-snippet:5",))
    assert short
    assert short.summary == ""
    assert short.facts


def test_of_several_items_the_one_with_the_most_facts_is_the_subject() -> None:
    place = {"type": "Place", "name": "Quill", "telephone": "1"}
    page = {"type": "WebPage", "name": "Quill", "mainEntity": QUILL}
    part = read_subject([place, page], ACME, URL, Consent())
    assert part
    assert part.type == "organization"


ANY = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=20) | st.just("x" * 3_000) | st.just("1931-02-30"),
    lambda inner: (
        st.lists(inner, max_size=12)
        | st.dictionaries(
            st.sampled_from(["name", "address", "url", "type", "streetAddress", "value"]), inner, max_size=4
        )
    ),
    max_leaves=15,
)
PROPERTIES = sorted({name for _, facts in GROUPS.values() for name, _ in facts} | {"description", "image", "logo"})


@settings(max_examples=60)
@given(st.sampled_from(sorted(GROUPS)), st.dictionaries(st.sampled_from(PROPERTIES), ANY, max_size=8))
def test_any_item_has_a_part_within_its_limits(kind: str, properties: dict[str, Any]) -> None:
    part = read({**properties, "type": kind, "name": "Quill", "description": "Pens."})
    assert part
    assert part.label == "Quill"
    assert len(part.facts) <= MAX_FACTS
    assert all(1 <= len(fact.values) <= MAX_VALUES for fact in part.facts)
    assert len({fact.label for fact in part.facts}) == len(part.facts)
    assert Part.model_validate_json(part.model_dump_json(exclude_defaults=True)) == part


def test_an_id_names_its_page() -> None:
    assert page_of(entity_id_of(PAGE)) == PAGE
    assert [page_of(other) for other in ("Q42", "enwiki:Quill", "page:x", "")] == [None] * 4
