"""URL alias rules, learned from duplicates."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from streams.crawl.url_rules import (
    believed_rules,
    explain_alias,
    is_same_class,
    rewrite,
    rules_needed,
    slot_of,
    without_variation,
)
from streams.stores.protocols import AliasEvidence

HOST = "https://a.test"
EXPLAINED = [
    # (duplicate, canonical, rules)
    (f"{HOST}/x/", f"{HOST}/x", ["slash:remove"]),
    (f"{HOST}/x", f"{HOST}/x/", ["slash:add"]),
    (f"{HOST}/d/index.html", f"{HOST}/d/", ["index:remove"]),
    (f"{HOST}/d/Default.aspx", f"{HOST}/d/", ["index:remove"]),
    (f"{HOST}/d//e", f"{HOST}/d/e", ["slashes:collapse"]),
    (f"{HOST}/About%2FUs", f"{HOST}/about%2Fus", ["case:lower"]),
    (f"{HOST}/x?sid=1&page=2", f"{HOST}/x?page=2", ["parameter:remove:sid"]),
    (f"{HOST}/x?a=1&b=2", f"{HOST}/x", ["parameter:remove:a", "parameter:remove:b"]),
    (f"{HOST}/x?sid=1", f"{HOST}/x?sid=2", ["parameter:remove:sid"]),
    ("https://www.a.test/x?y=1", "https://a.test/x?y=1", ["host:a.test"]),
    ("https://a.test/x", "https://www.a.test/x", []),
    (f"{HOST}/x", f"{HOST}/x?page=1", []),
    (f"{HOST}/x/?sid=1", f"{HOST}/x", []),
    (f"{HOST}/one", f"{HOST}/two", []),
    ("https://b.test/one", "https://a.test/two", []),
    (f"{HOST}/x", f"{HOST}/x", []),
]


@pytest.mark.parametrize(("url", "canonical", "rules"), EXPLAINED)
def test_the_rules_that_explain_a_duplicate(url: str, canonical: str, rules: list[str]) -> None:
    assert explain_alias(url, canonical) == rules
    for rule in rules:
        assert is_same_class(rule, url, canonical) or len(rules) > 1


REWRITTEN = [
    # (url, rules, rewritten)
    (f"{HOST}/A/Index.HTML?b=1&ref=2", ["index:remove", "case:lower", "parameter:remove:ref"], f"{HOST}/a/?b=1"),
    (f"{HOST}/a/index.html/index.html", ["index:remove", "slash:remove"], f"{HOST}/a"),
    (f"{HOST}/", ["slash:remove"], f"{HOST}/"),
    (f"{HOST}/page.html", ["slash:add"], f"{HOST}/page.html"),
    (f"{HOST}/x?ref", ["parameter:remove:ref"], f"{HOST}/x"),
    (f"{HOST}/x?prefer=1", ["parameter:remove:ref"], f"{HOST}/x?prefer=1"),
    ("https://www.a.test/x", ["host:a.test"], f"{HOST}/x"),
    (f"{HOST}/x", ["host:www.a.test"], f"{HOST}/x"),
    (f"{HOST}/x/", [], f"{HOST}/x/"),
]


@pytest.mark.parametrize(("url", "rules", "expected"), REWRITTEN)
def test_rewritten_urls(url: str, rules: list[str], expected: str) -> None:
    assert rewrite(url, rules) == expected


@pytest.mark.parametrize(
    ("url", "rules", "working"),
    [
        (f"{HOST}/x/", {"slash:remove", "case:lower"}, ["slash:remove"]),
        (f"{HOST}/X/", {"slash:remove", "case:lower", "parameter:remove:a"}, ["case:lower", "slash:remove"]),
        (f"{HOST}//", {"slash:remove", "slashes:collapse"}, ["slash:remove", "slashes:collapse"]),
        (f"{HOST}/x", {"slash:remove"}, []),
    ],
)
def test_the_rules_needed_to_rewrite_a_url(url: str, rules: set[str], working: list[str]) -> None:
    assert rules_needed(url, frozenset(rules)) == working


RULES = st.sets(
    st.sampled_from(
        [
            "slash:remove",
            "slash:add",
            "index:remove",
            "slashes:collapse",
            "case:lower",
            "parameter:remove:a",
            "host:b.test",
        ]
    )
)
URLS = st.builds(
    lambda host, path, query: f"https://{host}/{path}{'?' if query else ''}{query}",
    st.sampled_from(["a.test", "b.test", "www.b.test"]),
    st.lists(st.sampled_from(["a", "B", "/", "index.html", "%2F"]), max_size=6).map("".join),
    st.sampled_from(["", "a=1", "a=1&b=2", "b=2&a", "a=1&a=2"]),
)


@given(URLS, RULES)
def test_rewriting_twice_is_rewriting_once(url: str, rules: set[str]) -> None:
    once = rewrite(url, rules)
    assert rewrite(once, rules) == once


def rules_of_both(pair: tuple[str, str]) -> list[str]:
    """Return the rules by which two URLs are of one class."""
    return [rule for rule in explain_alias(*pair) if is_same_class(rule, *pair)]


@given(st.tuples(URLS, RULES).map(lambda drawn: (drawn[0], rewrite(*drawn))).filter(rules_of_both))
def test_two_urls_of_a_class_share_its_slot(pair: tuple[str, str]) -> None:
    one, other = pair
    assert [rule for rule in rules_of_both(pair) if slot_of(rule, one) != slot_of(rule, other)] == []


@given(URLS, RULES)
def test_urls_that_one_rule_maps_to_each_other_have_the_same_url_without_variation(url: str, rules: set[str]) -> None:
    for rule in sorted(rules):
        if not rule.startswith("host:"):
            assert without_variation(rewrite(url, [rule])) == without_variation(url)


def evidence(rule: str, agree: int, disagree: int, waiting: int = 0) -> list[AliasEvidence]:
    kinds = [("other", True)] * agree + [("other", False)] * disagree + [("", True)] * waiting
    return [AliasEvidence("a.test", rule, at, "url", other, agrees) for at, (other, agrees) in enumerate(kinds)]


@pytest.mark.parametrize(
    ("rule", "agree", "disagree", "waiting", "believed"),
    [
        ("slash:remove", 5, 0, 0, True),
        ("slash:remove", 4, 0, 40, False),
        ("slash:remove", 40, 1, 0, False),
        ("host:b.test", 9, 0, 0, False),
        ("host:b.test", 10, 0, 0, True),
    ],
)
def test_believed_rules(rule: str, agree: int, disagree: int, waiting: int, believed: bool) -> None:
    assert believed_rules(evidence(rule, agree, disagree, waiting)) == (frozenset([rule]) if believed else frozenset())
