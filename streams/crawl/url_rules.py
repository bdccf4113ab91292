"""What duplicates teach about a host's URLs: which spellings lead to one page, so that later ones need no fetch.

A rule is a string, so that it can be stored and read by people:

    slash:remove, slash:add     /a/ and /a are one page
    index:remove                /a/index.html and /a/
    slashes:collapse            /a//b and /a/b
    case:lower                  /About and /about
    parameter:remove:NAME       ?NAME=... makes no difference
    host:OTHER                  the same pages are on the host OTHER

Evidence is kept per class: all URLs that a rule makes one. One class in which two URLs turn out to be different pages
counts for ever, whatever else agreed: a parameter that matters on one page (`?id=`) makes duplicates on a hundred pages
that say "not found". A rule is believed when enough classes agreed and none did not; one that was disagreed with is
retired, and stays so.

Canonical URLs go in and come out (`streams.crawl.urls.canonicalize`).
"""

import re
from collections import Counter
from collections.abc import Iterable
from urllib.parse import urlsplit, urlunsplit

from xxhash import xxh3_64_intdigest

from streams.stores.protocols import VariantEvidence

SLOTS = 64
"""Classes of one rule that are remembered: of two in one slot the first stays, until one of them disagrees."""
MIN_AGREEING = 5
MIN_AGREEING_OF_MIRROR = 10
"""A mirror makes a whole host disappear: more is asked for."""
MAX_RULES = 32
"""Under consideration for one host: random parameter names would fill its row."""

_INDEX = re.compile(r"/(?:index|default)\.(?:html?|php|aspx?|jsp|cgi)$", re.IGNORECASE)
_ESCAPE = re.compile(r"%[0-9a-f]{2}")
_PATH_RULES = ("slashes:collapse", "case:lower", "index:remove", "slash:remove", "slash:add")
"""In the order in which they are applied, again and again until nothing changes."""


def rewrite(url: str, rules: Iterable[str]) -> str:
    """The URL that stands for this one by the rules of its host. `rewrite(rewrite(u, r), r) == rewrite(u, r)`."""
    chosen = frozenset(rules)
    if not chosen:
        return url
    parts = urlsplit(url)
    path, host = parts.path, parts.netloc
    while (rewritten := _rewritten_path(path, chosen)) != path:
        path = rewritten
    ignored = {rule.removeprefix("parameter:remove:") for rule in chosen if rule.startswith("parameter:")}
    query = "&".join(pair for pair in parts.query.split("&") if pair.partition("=")[0] not in ignored)
    mirrors = sorted(rule.removeprefix("host:") for rule in chosen if rule.startswith("host:"))
    return urlunsplit((parts.scheme, _better_host([host, *mirrors]), path, query, ""))


def explain(url: str, canonical: str) -> list[str]:
    """The rules, each for itself, that would have made `url` into the `canonical` URL of its duplicate.

    None when they differ in more than one way; several parameters are one way.
    """
    one, other = urlsplit(url), urlsplit(canonical)
    if one.netloc != other.netloc:
        same = (one.path, one.query) == (other.path, other.query)
        return [f"host:{other.netloc}"] if same and _better_host([one.netloc, other.netloc]) == other.netloc else []
    if one.query == other.query:
        return [rule for rule in _PATH_RULES if rewrite(url, [rule]) == canonical != url][:1]
    if one.path != other.path:
        return []
    return _explained_by_parameters(one.query, other.query)


def slot(rule: str, url: str) -> int:
    """Where the class of a URL is remembered."""
    return xxh3_64_intdigest(rewrite(url, [rule]).encode()) % SLOTS


def same_class(rule: str, one: str, other: str) -> bool:
    """Whether the rule makes two different URLs one."""
    return one != other and rewrite(one, [rule]) == rewrite(other, [rule])


def learned(evidence: Iterable[VariantEvidence]) -> frozenset[str]:
    """The rules of one host that are believed. Evidence without a second URL only waits for one."""
    found = list(evidence)
    enough = {
        rule
        for rule, count in agreeing(found).items()
        if count >= (MIN_AGREEING_OF_MIRROR if rule.startswith("host:") else MIN_AGREEING)
    }
    return frozenset(enough - retired(found))


def agreeing(evidence: Iterable[VariantEvidence]) -> Counter[str]:
    """How many classes agreed with each rule of one host: at most SLOTS."""
    return Counter(found.rule for found in evidence if found.other and found.agrees)


def retired(evidence: Iterable[VariantEvidence]) -> frozenset[str]:
    """The rules of one host that made one URL of two different pages."""
    return frozenset(found.rule for found in evidence if found.other and not found.agrees)


def at_work(url: str, rules: frozenset[str]) -> list[str]:
    """Those of the rules without which the URL would not be rewritten as it is; or, where one does another's work, all
    that change it."""
    rewritten = rewrite(url, rules)
    needed = sorted(rule for rule in rules if rewrite(url, rules - {rule}) != rewritten)
    return needed or sorted(rule for rule in rules if rewrite(url, [rule]) != url)


def _explained_by_parameters(query: str, canonical: str) -> list[str]:
    """Parameters that only the duplicate has, or has with another value; nothing when the canonical has more."""
    one, other = (Counter(pair for pair in text.split("&") if pair) for text in (query, canonical))
    extra = {pair.partition("=")[0] for pair in one - other}
    missing = {pair.partition("=")[0] for pair in other - one}
    if not extra or not missing <= extra:
        return []
    return sorted(f"parameter:remove:{name}" for name in extra)


def _rewritten_path(path: str, rules: frozenset[str]) -> str:
    for rule in _PATH_RULES:
        if rule in rules:
            path = _by_rule(path, rule)
    return path


def _by_rule(path: str, rule: str) -> str:
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
    """Of mirrors the shorter name, so that two hosts never point to each other."""
    return min(hosts, key=lambda host: (len(host), host))
