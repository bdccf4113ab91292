"""Evidence about URL alias rules, from the decisions about a host's pages.

`streams.crawl.url_rules` defines the rules and when they are believed.
"""

from collections.abc import Awaitable, Callable
from sys import getsizeof

from schemas import LinkFound
from schemas.ids import page_id
from streams.caches import TimedCache
from streams.crawl.url_rules import (
    MAX_RULES,
    believed_rules,
    explain_alias,
    is_same_class,
    rewrite,
    rules_needed,
    slot_of,
)
from streams.crawl.urls import host_of
from streams.dedup.grouping import is_undecided, may_have_same_text
from streams.stores.protocols import AliasEvidence, Fingerprint, Fingerprints, FrontierStore, Ledger

FoundBySite = Callable[[str], Awaitable[bool]]
"""Function that returns whether the site of a URL uses the URL itself."""
_BY_OPERATOR = frozenset({"seed", "import"})
_BY_PAGE = frozenset({"link", "sitemap", "canonical"})
"""Kinds of discoveries that a page or a sitemap makes. A redirect of the site may answer a stranger's link."""
_Rows = dict[tuple[str, int], AliasEvidence]
WITHOUT_SECONDS = 30.0
"""Time between two reads of a host without evidence (seconds). Only evidence that another worker adds meanwhile is
missed. A page is then handled as if it had come before this evidence."""
MAX_WITHOUT = 10_000
"""Maximum number of hosts without evidence in memory, about 2 MB."""
WITH_SECONDS = 5.0
"""Time between two reads of a host with evidence (seconds). If another worker adds evidence of one class meanwhile, one
of both stays, and the next page of the class adds the other one. Evidence against a rule always stays."""
MAX_WITH = 32
"""Maximum number of hosts with evidence in memory."""
MAX_WITH_BYTES = 32_000_000
"""Maximum memory that their evidence takes together, about. A host has some 2,000 rows at most: with the longest URLs
and names of parameters, they take 14 MB."""


class Discoveries:
    """The discoveries of URLs, read from the frontier's rows and from the ledger's rows with linking pages.

    Anyone can link to any spelling of a site's URLs. Such links lead to a fetch, but they say nothing about the site.
    """

    def __init__(self, frontier: FrontierStore, ledger: Ledger) -> None:
        self._frontier = frontier
        self._ledger = ledger

    async def is_found_by_site(self, url: str) -> bool:
        """Return whether the URL's own site links to it or names it, or the operator did."""
        row = await self._frontier.url(host_of(url), page_id(url))
        if row is not None and row.why in _BY_OPERATOR:
            return True
        if row is not None and row.why in _BY_PAGE and _are_of_one_host(row.referrer, url):
            return True
        history = await self._ledger.history(page_id(url))
        links = (step.data.get("referrers", ()) for step in history if step.topic == LinkFound.topic)
        return any(_are_of_one_host(referrer, url) for referrers in links for referrer in referrers)


class AliasLearner:
    """The learner of URL rules: it adds a page's evidence to its host's. The same page twice adds it once."""

    def __init__(self, store: Fingerprints, found_by_site: FoundBySite, monotonic: Callable[[], float]) -> None:
        self._store = store
        self._found_by_site = found_by_site
        self._without: TimedCache[str, bool] = TimedCache(
            WITHOUT_SECONDS, MAX_WITHOUT, monotonic, kept_for=WITHOUT_SECONDS
        )
        """Hosts without evidence. Most hosts never have any."""
        self._with: TimedCache[str, _Rows] = TimedCache(
            WITH_SECONDS, MAX_WITH, monotonic, kept_for=WITH_SECONDS, max_size=MAX_WITH_BYTES, size_of=_size_of
        )
        """The evidence of hosts, with what this worker has noted since."""

    async def learn(self, page: Fingerprint, representative: Fingerprint, at: int) -> None:
        """Note what the page and its representative show. The representative may be the page itself."""
        host = host_of(page.url)
        rows = await self._read_evidence(host)
        try:
            await self._learn(page, representative, rows, at)
        finally:
            self._with.measure(host)  # the rows may have become more

    async def _learn(self, page: Fingerprint, representative: Fingerprint, rows: _Rows, at: int) -> None:
        rules = {rule for rule, _ in rows}
        if representative.page_id != page.page_id:
            for rule in explain_alias(page.url, representative.url):
                if _is_permitted(rule, page) and (rule in rules or len(rules) < MAX_RULES):
                    evidence = _make_evidence(rule, page.url, representative.url, True)
                    await self._note(rows, evidence, at)
                    if (rule, evidence.slot) in rows:
                        rules.add(rule)
        for rule in sorted(rules):
            await self._compare(page, rule, rows, at)
        await self._compare_by_all_rules(page, rows, at)

    async def _read_evidence(self, host: str) -> _Rows:
        """Return the evidence about a host, as the store had it a moment ago."""
        if self._without.fresh(host):
            return {}
        if (kept := self._with.fresh(host)) is not None:
            return kept
        rows = {(known.rule, known.slot): known for known in await self._store.alias_evidence(host)}
        if rows:
            self._with.keep(host, rows)
        else:
            self._without.keep(host, True)
        return rows

    async def _compare(self, page: Fingerprint, rule: str, rows: _Rows, at: int) -> None:
        """Compare the page with known URLs of the same class: the rule's target, and the URLs in the class's slot."""
        target = rewrite(page.url, [rule])
        row = rows.get((rule, slot_of(rule, page.url)))
        remembered = [row.url, row.other] if row else []
        others = [url for url in (target, *remembered) if url and is_same_class(rule, page.url, url)]
        seen = [(url, await self._find_decided(url, page)) for url in dict.fromkeys(others)]
        for url, other in seen:
            if other is not None:
                agrees = _representative(other) == _representative(page)
                if not agrees or _is_permitted(rule, page):
                    await self._note(rows, _make_evidence(rule, page.url, url, agrees), at)
        if row is None and target != page.url and not any(other for _, other in seen):
            await self._note(rows, _make_evidence(rule, page.url, "", True), at)

    async def _compare_by_all_rules(self, page: Fingerprint, rows: _Rows, at: int) -> None:
        """Compare the page with the target of all believed rules. If it is another page, each rule may be wrong."""
        rules = believed_rules(rows.values())
        target, working = rewrite(page.url, rules), rules_needed(page.url, rules)
        other = await self._find_decided(target, page) if len(working) > 1 else None
        if other is not None and _representative(other) != _representative(page):
            for rule in working:
                await self._note(rows, _make_evidence(rule, page.url, target, False), at)

    async def _find_decided(self, url: str, page: Fingerprint) -> Fingerprint | None:
        """Return the page of that URL, if it is decided beside this one. If not, its own event compares the two.

        A page may represent itself until its event has compared it: with the same text, this is no decision.
        """
        other = await self._store.get(page_id(url))
        if other is None or is_undecided(other):
            return None
        is_apart = _representative(other) != _representative(page)
        return None if is_apart and may_have_same_text(page, other) else other

    async def _note(self, rows: _Rows, evidence: AliasEvidence, at: int) -> None:
        place = (evidence.rule, evidence.slot)
        former = rows.get(place)
        if (former is None or _outweighs(evidence, former)) and await self._may_count(evidence):
            await self._store.note_alias_evidence(evidence, at)
            rows[place] = evidence  # afterwards: a failed event notes it again
            self._without.drop(evidence.host)

    async def _may_count(self, evidence: AliasEvidence) -> bool:
        """Return whether the site itself uses both URLs, if the evidence is for a rule.

        Otherwise a stranger could teach a rule by links to URLs that the site never uses. Evidence against a rule
        always counts: it is a fact about the site.
        """
        if not evidence.agrees or not evidence.other or evidence.rule.startswith("host:"):
            return True
        return await self._found_by_site(evidence.url) and await self._found_by_site(evidence.other)


def _is_permitted(rule: str, page: Fingerprint) -> bool:
    """Return whether the page's site agrees to the rule. A mirror needs the page to name its copy as its canonical URL.

    Anyone can copy a site to a shorter host name. The copy must not make the site's own URLs disappear.
    """
    return not rule.startswith("host:") or page.canonical_url == rewrite(page.url, [rule])


def _outweighs(evidence: AliasEvidence, former: AliasEvidence) -> bool:
    """Return whether the evidence replaces the former one.

    Disagreement replaces agreement, and both replace a single URL.
    """
    if not former.other:
        return bool(evidence.other)
    return former.agrees and not evidence.agrees


def _make_evidence(rule: str, url: str, other: str, agrees: bool) -> AliasEvidence:
    return AliasEvidence(host_of(url), rule, slot_of(rule, url), url, other, agrees)


def _representative(page: Fingerprint) -> object:
    return page.representative or page.page_id


def _are_of_one_host(referrer: str, url: str) -> bool:
    return bool(referrer) and host_of(referrer) == host_of(url)


def _size_of(rows: _Rows) -> int:
    """Return about how many bytes of memory the evidence about a host takes."""
    return sum(getsizeof(text) for row in rows.values() for text in (row, row.rule, row.url, row.other))
