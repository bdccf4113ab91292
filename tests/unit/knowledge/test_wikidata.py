"""Items of Wikidata: values in words, ranks, times, and which items have a panel."""

from string import ascii_lowercase
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from streams.knowledge.entity import MAX_FACTS, MAX_LANGUAGES, MAX_NAMES, Fact, Part
from streams.knowledge.wikidata.items import to_part
from streams.knowledge.wikidata.values import to_value
from tests.sizes import examples

JULIAN = "http://www.wikidata.org/entity/Q1985786"


def time(text: str, precision: int, calendar: str = "") -> dict[str, Any]:
    return {"type": "time", "value": {"time": text, "precision": precision, "calendarmodel": calendar}}


@pytest.mark.parametrize(
    ("datavalue", "words", "iso"),
    [
        (time("+1952-03-11T00:00:00Z", 11), "11 March 1952", "1952-03-11"),
        (time("+1952-03-00T00:00:00Z", 10), "March 1952", "1952-03"),
        (time("+1952-00-00T00:00:00Z", 9), "1952", "1952"),
        (time("+1952-03-11T00:00:00Z", 9), "1952", "1952"),  # the rest is not known, whatever is written
        (time("+1952-00-00T00:00:00Z", 8), "1950s", ""),
        (time("+1952-00-00T00:00:00Z", 7), "20th century", ""),
        (time("+1900-00-00T00:00:00Z", 7), "19th century", ""),
        (time("+1112-00-00T00:00:00Z", 7), "12th century", ""),
        (time("+0272-02-27T00:00:00Z", 11, JULIAN), "27 February 272 (Julian)", "0272-02-27"),
        (time("-0044-03-15T00:00:00Z", 11), "15 March 44 BC", "-0044-03-15"),
        (time("-0300-00-00T00:00:00Z", 7), "3rd century BC", ""),
        (time("-13798000000-00-00T00:00:00Z", 3), "about 13,798,000,000 years ago", ""),
        (time("+1952-13-40T00:00:00Z", 11), "1952", "1952"),
        (time("+2023-02-31T00:00:00Z", 11), "February 2023", "2023-02"),  # no such day
        (time("+2024-02-29T00:00:00Z", 11), "29 February 2024", "2024-02-29"),
        (time("-4000-00-00T00:00:00Z", 5), "about 10,000 years ago", ""),  # 6,000, exact to 10,000
        (time("-45000-00-00T00:00:00Z", 5), "about 50,000 years ago", ""),
    ],
)
def test_a_date_is_as_exact_as_it_is_known(datavalue: Any, words: str, iso: str) -> None:
    value = to_value(datavalue, "en")
    assert value
    assert (value.text, value.time) == (words, iso)


@pytest.mark.parametrize(
    ("datavalue", "words", "unit"),
    [
        (
            {"type": "quantity", "value": {"amount": "+8848.860", "unit": "http://www.wikidata.org/entity/Q11573"}},
            "8,848.86",
            "Q11573",
        ),
        ({"type": "quantity", "value": {"amount": "-40", "unit": "1"}}, "−40", ""),
        (
            {"type": "globecoordinate", "value": {"latitude": 27.98806, "longitude": -86.925, "globe": "http://x/Q2"}},
            "27°59′N, 86°56′W",
            "",
        ),
        ({"type": "monolingualtext", "value": {"text": "Hallo", "language": "en"}}, "Hallo", ""),
        ({"type": "string", "value": " two\n words "}, "two words", ""),
        ({"type": "string", "value": "https://www.example.org/a/"}, "example.org/a", ""),
    ],
)
def test_other_values(datavalue: Any, words: str, unit: str) -> None:
    value = to_value(datavalue, "en")
    assert value
    assert (value.text, value.unit_id) == (words, unit)


@pytest.mark.parametrize(
    "datavalue",
    [
        None,
        {"type": "monolingualtext", "value": {"text": "Bonjour", "language": "fr"}},
        {"type": "globecoordinate", "value": {"latitude": 1, "longitude": 2, "globe": "http://x/Q405"}},  # on the Moon
        {"type": "wikibase-entityid", "value": {"id": "javascript:alert(1)"}},
        {"type": "quantity", "value": {"amount": "1e999"}},
        time("yesterday", 11),
        time("-4000-00-00T00:00:00Z", 4),  # exact to 100,000 years: nothing is known
    ],
)
def test_what_has_no_words_is_no_value(datavalue: Any) -> None:
    assert to_value(datavalue, "en") is None


def statement(value: Any, rank: str = "normal", **qualifiers: Any) -> dict[str, Any]:
    return {
        "mainsnak": {"datavalue": value},
        "rank": rank,
        "qualifiers": {
            one: [each if each and "snaktype" in each else {"datavalue": each} if each else {"snaktype": "somevalue"}]
            for one, each in qualifiers.items()
        },
    }


def entity(number: int) -> dict[str, Any]:
    return {"type": "wikibase-entityid", "value": {"id": f"Q{number}"}}


def item(**claims: list[Any]) -> dict[str, Any]:
    text = {"en": {"language": "en", "value": "Ada"}}
    return {
        "id": "Q7",
        "type": "item",
        "modified": "2024-05-01T12:00:00Z",
        "labels": text,
        "descriptions": text,
        "claims": {"P31": [statement(entity(5))], **claims},
    }


def fact(part: Part | None, label: str) -> Fact:
    assert part
    return next(fact for fact in part.facts if fact.label == label)


def notes(part: Part | None, label: str) -> list[tuple[str, str]]:
    return [(value.entity_id or value.text, value.note) for value in fact(part, label).values]


YEAR = {year: time(f"+{year}-00-00T00:00:00Z", 9) for year in (1990, 2000, 2010)}
NO_VALUE = {"snaktype": "novalue"}


def number(amount: int) -> dict[str, Any]:
    return {"type": "quantity", "value": {"amount": f"+{amount}", "unit": "1"}}


@pytest.mark.parametrize(
    ("statements", "shown"),
    [
        ([statement(entity(1)), statement(entity(2), "preferred"), statement(entity(3), "deprecated")], [("Q2", "")]),
        ([statement(entity(1)), statement(entity(3), "deprecated")], [("Q1", "")]),
        ([statement(entity(3), "deprecated")], []),
        ([statement(entity(1), P580=YEAR[1990], P582=YEAR[2000])], [("Q1", "1990–2000")]),
        ([statement(entity(1), P580=YEAR[1990], P582=YEAR[1990])], [("Q1", "1990")]),
        ([statement(entity(1), P580=YEAR[1990])], [("Q1", "since 1990")]),
        ([statement(entity(1), P580=YEAR[1990], P582=None)], [("Q1", "from 1990")]),  # it ended, nobody knows when
        ([statement(entity(1), P582=YEAR[2000])], [("Q1", "until 2000")]),
        ([statement(entity(1), P580=YEAR[1990], P582=NO_VALUE)], [("Q1", "since 1990")]),  # it has no end
        ([statement(entity(1), P580=YEAR[1990], P1366=entity(2))], [("Q1", "from 1990")]),  # another one came next
        ([statement(entity(1), P580=YEAR[1990], P1366=NO_VALUE)], [("Q1", "since 1990")]),
        # Each of these times has its own holder: none replaces another.
        (
            [statement(entity(1), P585=YEAR[1990]), statement(entity(2), P585=YEAR[2010]), statement(entity(3))],
            [("Q1", "1990"), ("Q2", "2010"), ("Q3", "")],
        ),
        # One value that was measured again.
        ([statement(number(1), P585=YEAR[2010]), statement(number(2), P585=YEAR[1990])], [("1", "2010")]),
        (
            [statement(number(1), P585=YEAR[1990]), statement(number(2), P585=YEAR[2010], P518=entity(9))],
            [("1", "1990")],
        ),
        ([statement(number(1)), statement(number(2), "preferred", P518=entity(9))], [("1", "")]),
        ([statement(entity(1)), statement(entity(1))], [("Q1", "")]),
        (["nonsense", {}, {"mainsnak": 3}, statement(entity(1), P580={"value": []})], [("Q1", "")]),
    ],
)
def test_ranks_and_times(statements: list[Any], shown: list[tuple[str, str]]) -> None:
    part = to_part(item(P39=statements), "en")
    assert part
    assert [pair for one in part.facts for pair in notes(part, one.label)] == shown


@pytest.mark.parametrize(
    ("modified", "day", "began", "note"),
    [
        ("2024-05-01T12:00:00Z", "", "+2024-05-01T00:00:00Z", "since 2024"),
        ("2024-05-01T12:00:00Z", "", "+2024-05-02T00:00:00Z", "from 2024"),  # elected, and not yet in office
        ("2024-05-01T12:00:00Z", "2060-01-01", "+2050-01-01T00:00:00Z", "from 2050"),
        (None, "2024-05-01", "+2050-01-01T00:00:00Z", "from 2050"),
        (None, "2024-05-01", "+1990-01-01T00:00:00Z", "since 1990"),
        (None, "", "+1990-01-01T00:00:00Z", "from 1990"),
        ("nonsense", "2024-05-01", "-0044-03-15T00:00:00Z", "since 44 BC"),
    ],
)
def test_nothing_is_so_since_a_day_that_is_to_come(modified: Any, day: str, began: str, note: str) -> None:
    held = item(P39=[statement(entity(1), P580=time(began, 11))]) | {"modified": modified}
    assert notes(to_part(held, "en", day), "Position") == [("Q1", note)]


@pytest.mark.parametrize(
    ("deaths", "note"),
    [
        ([statement(YEAR[2000])], "from 1990"),
        ([{"mainsnak": {"snaktype": "somevalue"}, "rank": "normal"}], "from 1990"),  # on an unknown day
        ([{"mainsnak": NO_VALUE, "rank": "normal"}], "since 1990"),  # alive
        ([statement(YEAR[2000], "deprecated")], "since 1990"),  # reported by mistake
        ([statement(YEAR[2000]), {"mainsnak": NO_VALUE, "rank": "preferred"}], "since 1990"),
        ("nonsense", "since 1990"),
    ],
)
def test_nothing_lasts_until_today_for_whom_it_has_ended(deaths: Any, note: str) -> None:
    part = to_part(item(P39=[statement(entity(1), P580=YEAR[1990])], P570=deaths), "en")
    assert notes(part, "Position") == [("Q1", note)]


@pytest.mark.parametrize("addresses", [{"a": 1}, 5, "abc", [5], None])
def test_a_malformed_source_leaves_the_fact(addresses: Any) -> None:
    cited = {**statement(entity(1)), "references": [{"snaks": {"P854": addresses}}]}
    assert notes(to_part(item(P106=[cited]), "en"), "Occupation") == [("Q1", "")]


def test_only_encyclopedias_count_as_wikis_with_an_article() -> None:
    links = {one: {"title": "Ada"} for one in ("enwiki", "commonswiki", "specieswiki", "wikidatawiki", "metawiki")}
    part = to_part({**item(), "sitelinks": links}, "en")
    assert part
    assert part.sitelinks == 1


def test_the_order_and_the_source_of_facts_are_those_of_the_group() -> None:
    cited = {
        **statement(entity(1)),
        "references": [
            {"snaks": {}},
            {"snaks": {"P854": [{"datavalue": {"type": "string", "value": "https://a.example/b"}}]}},
        ],
    }
    part = to_part(item(P106=[cited], P569=[statement(YEAR[1990])]), "en")
    assert part
    assert [one.label for one in part.facts] == ["Born", "Occupation"]
    assert part.facts[1].source_url == "https://www.wikidata.org/wiki/Q7#P106"
    assert part.facts[1].values[0].source_url == "https://a.example/b"


@pytest.mark.parametrize(
    ("changes", "kind"),
    [
        ({}, "entity"),
        ({"type": "property"}, None),  # no panel shows it
        ({"type": "property", "id": "P569"}, "label"),
        ({"type": "lexeme", "id": "L42"}, None),
        ({"labels": {"fr": {"value": "Ada"}}}, None),
        ({"labels": {"mul": {"value": "Ada"}}}, "entity"),
        ({"labels": []}, None),
        ({"descriptions": {}, "sitelinks": {}}, "label"),
        ({"descriptions": {}, "sitelinks": {"enwiki": {"title": "Ada"}}}, "entity"),
        ({"claims": {"P31": [statement(entity(4167410))]}}, None),  # a disambiguation page
        ({"claims": {"P31": [statement(entity(13406463))]}}, None),  # a list
        ({"claims": {"P31": [statement(entity(101352))]}}, "label"),  # a family name
        ({"claims": []}, "entity"),
    ],
)
def test_which_items_have_a_panel(changes: dict[str, Any], kind: str | None) -> None:
    part = to_part({**item(), **changes}, "en")
    assert (part.kind if part else None) == kind


ANY_JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(max_size=8),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(
            st.sampled_from(
                [
                    "value",
                    "id",
                    "P31",
                    "P569",
                    "mainsnak",
                    "datavalue",
                    "type",
                    "en",
                    "rank",
                    "qualifiers",
                    "time",
                    "precision",
                ]
            ),
            inner,
            max_size=4,
        )
    ),
    max_leaves=20,
)


@settings(max_examples=examples(60))
@given(ANY_JSON, ANY_JSON, ANY_JSON)
def test_any_item_with_a_label_has_a_part_within_its_limits(claims: Any, labels: Any, sitelinks: Any) -> None:
    given = {**item(), "claims": claims, "aliases": labels, "sitelinks": sitelinks, "descriptions": labels}
    part = to_part(given, "en")
    assert part
    assert part.label == to_part(item(), "en").label  # type: ignore[union-attr]  # it has a label
    assert len(part.facts) <= MAX_FACTS
    assert len(part.aliases) <= MAX_NAMES
    assert 0 <= part.sitelinks <= (len(sitelinks) if isinstance(sitelinks, dict) else 0)
    assert Part.model_validate_json(part.model_dump_json(exclude_defaults=True)) == part


@pytest.mark.parametrize(
    ("labels", "kept"),
    [
        # A text that repeats the label is empty: the languages of one script write most names alike.
        ({"en": "Ada", "de": "Ada", "ru": "Ада"}, {"en": "", "de": "", "ru": "Ада"}),
        # The subtags that browsers send have the form that is usual.
        ({"en": "A", "nb": "B", "nn": "C"}, {"en": "", "no": "B"}),
        ({"en": "A", "zh-hant": "乙", "zh-hans": "甲"}, {"en": "", "zh": "甲"}),
        # A dialect and a language of few readers are left out.
        ({"en": "A", "de-at": "B", "tlh": "C"}, {"en": ""}),
        ({"en": "A", "de": "  two\n words "}, {"en": "", "de": "two words"}),
        ({"en": "A", "de": "x" * 500}, {"en": "", "de": "x" * 200}),
    ],
)
def test_texts_in_other_languages_are_kept(labels: dict[str, str], kept: dict[str, str]) -> None:
    texts = {one: {"language": one, "value": text} for one, text in labels.items()}
    part = to_part({**item(), "labels": texts, "descriptions": texts}, "en")
    assert part
    assert part.labels == part.descriptions == kept


@pytest.mark.parametrize("text", [{}, [], {"value": 7}, "x", None])
def test_a_malformed_text_in_another_language_is_left_out(text: Any) -> None:
    part = to_part({**item(), "labels": {"en": {"value": "A"}, "de": text}}, "en")
    assert part
    assert part.labels == {"en": ""}


def test_an_item_in_all_languages_has_a_bounded_number_of_texts() -> None:
    texts = {
        f"{first}{second}": {"value": f"{first}{second}"} for first in ascii_lowercase for second in ascii_lowercase
    }
    part = to_part({**item(), "labels": texts, "descriptions": texts}, "en")
    assert part
    assert 50 < len(part.labels) <= MAX_LANGUAGES
    assert Part.model_validate_json(part.model_dump_json()) == part
