"""URL alias rules: two spellings of a host's URLs lead to the same page. They are learned from duplicates. Pure.

A rule is a string, so that it can be stored and read by people:

    slash:remove, slash:add     /a/ and /a are one page
    index:remove                /a/index.html and /a/
    slashes:collapse            /a//b and /a/b
    case:lower                  /About and /about
    parameter:remove:NAME       ?NAME=... makes no difference
    host:OTHER                  the same pages are on the host OTHER

A class is the set of all URLs that a rule maps to one URL. Evidence is kept per class. A rule is believed when enough
classes agreed and none disagreed. One class with two URLs of different pages retires the rule for good: a parameter
that matters on one page (`?id=`) makes duplicates of a hundred pages with the text "not found".

All URLs, as arguments and results, are canonical (`streams.crawl.urls.canonicalize`).
"""

import re
from collections import Counter
from collections.abc import Iterable
from urllib.parse import urlsplit, urlunsplit

from xxhash import xxh3_64_intdigest

from streams.stores.protocols import AliasEvidence

SLOTS = 64
"""Maximum classes kept per rule. The first class in a slot stays, until a later class disagrees."""
MIN_AGREEING = 5
"""Minimum classes that agree before a rule is believed."""
MIN_AGREEING_OF_MIRROR = 10
"""Minimum classes that agree before a mirror is believed. They are more, because a mirror hides a whole host."""
MAX_RULES = 32
"""Maximum rules per host with evidence: random parameter names would fill the host's row."""

_INDEX = re.compile(r"/(?:index|default)\.(?:html?|php|aspx?|jsp|cgi)$", re.IGNORECASE)
_ESCAPE = re.compile(r"%[0-9a-f]{2}")
_PATH_RULES = ("slashes:collapse", "case:lower", "index:remove", "slash:remove", "slash:add")
"""The path rules, in the order of their application, again and again until nothing changes."""


def rewrite(url: str, rules: Iterable[str]) -> str:
    """Rewrite a URL by the rules of its host. `rewrite(rewrite(u, r), r) == rewrite(u, r)`."""
    chosen = frozenset(rules)
    if not chosen:
        return url
    parts = urlsplit(url)
    path, host = parts.path, parts.netloc
    while (rewritten := _rewrite_path(path, chosen)) != path:
        path = rewritten
    ignored = {rule.removeprefix("parameter:remove:") for rule in chosen if rule.startswith("parameter:")}
    query = "&".join(pair for pair in parts.query.split("&") if pair.partition("=")[0] not in ignored)
    mirrors = sorted(rule.removeprefix("host:") for rule in chosen if rule.startswith("host:"))
    return urlunsplit((parts.scheme, _better_host([host, *mirrors]), path, query, ""))


def explain_alias(url: str, canonical: str) -> list[str]:
    """Return the rules that each map `url` to the `canonical` URL of its duplicate.

    The list is empty if the URLs differ in more than one way. Several parameters count as one way.
    """
    one, other = urlsplit(url), urlsplit(canonical)
    if one.netloc != other.netloc:
        same = (one.path, one.query) == (other.path, other.query)
        return [f"host:{other.netloc}"] if same and _better_host([one.netloc, other.netloc]) == other.netloc else []
    if one.query == other.query:
        return [rule for rule in _PATH_RULES if rewrite(url, [rule]) == canonical != url][:1]
    if one.path != other.path:
        return []
    return _explain_by_parameters(one.query, other.query)


def without_variation(url: str) -> str:
    """Return the URL without a query, rewritten by all path rules. It is the same for all URLs of a host that one rule
    maps to each other."""
    return rewrite(url.partition("?")[0], _PATH_RULES[:-1])


def slot_of(rule: str, url: str) -> int:
    """Return the slot of the URL's class."""
    return xxh3_64_intdigest(rewrite(url, [rule]).encode()) % SLOTS


def is_same_class(rule: str, one: str, other: str) -> bool:
    """Return whether the rule maps two different URLs to one URL."""
    return one != other and rewrite(one, [rule]) == rewrite(other, [rule])


def believed_rules(evidence: Iterable[AliasEvidence]) -> frozenset[str]:
    """Return the rules of one host that are believed. A class with a single URL is no evidence yet."""
    found = list(evidence)
    enough = {
        rule
        for rule, count in count_agreeing(found).items()
        if count >= (MIN_AGREEING_OF_MIRROR if rule.startswith("host:") else MIN_AGREEING)
    }
    return frozenset(enough - retired_rules(found))


def count_agreeing(evidence: Iterable[AliasEvidence]) -> Counter[str]:
    """Count the classes that agreed with each rule of one host: at most SLOTS."""
    return Counter(found.rule for found in evidence if found.other and found.agrees)


def retired_rules(evidence: Iterable[AliasEvidence]) -> frozenset[str]:
    """Return the rules of one host that map two different pages to one URL."""
    return frozenset(found.rule for found in evidence if found.other and not found.agrees)


def rules_needed(url: str, rules: frozenset[str]) -> list[str]:
    """Return the rules that are needed to rewrite the URL like all rules together.

    If no rule is needed, because another one has the same effect, return all rules that change the URL.
    """
    rewritten = rewrite(url, rules)
    needed = sorted(rule for rule in rules if rewrite(url, rules - {rule}) != rewritten)
    return needed or sorted(rule for rule in rules if rewrite(url, [rule]) != url)


def _explain_by_parameters(query: str, canonical: str) -> list[str]:
    """Return rules for the parameters that only the duplicate has, or has with another value.

    If the canonical URL has a parameter more, there are none.
    """
    one, other = (Counter(pair for pair in text.split("&") if pair) for text in (query, canonical))
    extra = {pair.partition("=")[0] for pair in one - other}
    missing = {pair.partition("=")[0] for pair in other - one}
    if not extra or not missing <= extra:
        return []
    return sorted(f"parameter:remove:{name}" for name in extra)


def _rewrite_path(path: str, rules: frozenset[str]) -> str:
    for rule in _PATH_RULES:
        if rule in rules:
            path = _apply_path_rule(path, rule)
    return path


def _apply_path_rule(path: str, rule: str) -> str:
    if rule == "slashes:collapse":
        return re.sub("/{2,}", "/", path)
    if rule == "case:lower":
        return _ESCAPE.sub(lambda match: match[0].upper(), path.lower())
    if rule == "index:remove":
        return _INDEX.sub("/", path)
    if rule == "slash:remove":
        return path.rstrip("/") or "/"
    return path if path.endswith("/") or "." in path.rpartition("/")[2] else f"{path}/"


def _better_host(hosts: Iterable[str]) -> str:
    """Return the shortest host name of several mirrors, so that two hosts never point to each other."""
    return min(hosts, key=lambda host: (len(host), host))
