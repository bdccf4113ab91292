"""Preferences as values: what is accepted, and that file, link and cookie give back what was put in."""

from contextlib import suppress

import pytest
from hypothesis import given
from hypothesis import strategies as st

from streams.gateway.preferences.model import (
    InvalidPreferences,
    Preferences,
    read_fields,
    read_json,
    read_link,
    read_site,
    read_sites,
)

HOSTS = st.from_regex(r"[a-z][a-z0-9]{0,10}\.(example|org)", fullmatch=True)


@st.composite
def preferences(draw: st.DrawFn) -> Preferences:
    sites = draw(st.lists(HOSTS, unique=True, max_size=30))
    ends = sorted(draw(st.tuples(st.integers(0, 30), st.integers(0, 30))))
    return Preferences(
        raised=tuple(sites[: ends[0]]),
        lowered=tuple(sites[ends[0] : ends[1]]),
        hidden=tuple(sites[ends[1] :]),
        language=draw(st.sampled_from(["", "en", "pt-BR", "*"])),
        theme=draw(st.sampled_from(["", "light", "dark"])),
        per_page=draw(st.sampled_from([10, 20, 50])),
        hide_adult=draw(st.booleans()),
    )


@given(preferences())
def test_a_link_and_a_file_give_back_what_was_put_in(own: Preferences) -> None:
    assert read_link(own.to_link()) == own
    assert read_json(own.model_dump_json()) == own


@given(preferences(), HOSTS, st.sampled_from(["raised", "lowered", "hidden", ""]))
def test_a_site_has_one_rule(own: Preferences, site: str, rule: str) -> None:
    changed = own.with_site(site, rule)
    assert changed.rules().rule_of(site) in (rule, own.rules().rule_of(site.partition(".")[2]))
    assert changed.with_site(site, rule) == changed


@pytest.mark.parametrize(
    ("sites", "kept"),
    [
        ([f"s{number}.example" for number in range(101)], 100),  # one more than a cookie has room for
        ([f"{'s' * 50}{number}.example" for number in range(10, 99)], 36),  # 60 characters each, of 2,200
        ([f"s{number}.example" for number in range(100)], 100),
    ],
)
def test_a_site_too_many_costs_no_other_site(sites: list[str], kept: int) -> None:
    own, faults = read_fields({"hidden": "\n".join(sites), "raised": "not a site", "theme": "dark"})
    assert own.hidden == tuple(sites[:kept])
    assert own.theme == "dark"
    assert len(faults) == 1 + (kept < len(sites))


@given(st.text(max_size=200))
def test_any_other_text_is_refused_with_a_sentence(text: str) -> None:
    for read in (read_link, read_json):
        with suppress(InvalidPreferences):
            assert read(text) == Preferences(), "only an empty object has no faults"


@pytest.mark.parametrize(
    "text",
    [
        '{"raised": ["not a site"]}',
        '{"raised": ["a.example"], "hidden": ["a.example"]}',  # in two lists
        '{"theme": "pink"}',
        '{"per_page": 1000}',
        '{"language": "no language"}',
        '{"unknown": 1}',
        '{"raised": [' + ",".join(f'"a{n}.example"' for n in range(101)) + "]}",  # too many for a cookie
        "[]",
        "",
    ],
)
def test_what_is_not_accepted(text: str) -> None:
    with pytest.raises(InvalidPreferences):
        read_json(text)


@pytest.mark.parametrize(
    ("site", "host"),
    [
        ("sqlite.org", "sqlite.org"),
        (" https://WWW.sqlite.org/wal.html ", "www.sqlite.org"),
        ("*.example.org", "example.org"),
        ("bücher.example", "xn--bcher-kva.example"),
    ],
)
def test_a_site_is_read_as_the_index_has_it(site: str, host: str) -> None:
    assert read_site(site) == host


def test_a_field_of_sites() -> None:
    assert read_sites("a.example\n\nb.example, c.example\r\n") == ("a.example", "b.example", "c.example")
