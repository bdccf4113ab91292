"""URL aliases: URLs that need no fetch, because a rule learned from duplicates maps them to another URL.

The rules of a host are worked out from the evidence that dedup keeps (`streams.crawl.url_rules`), and remembered for
some seconds. An alias is held (`held_urls`) as long as the rules are believed, so no page is lost to a wrong rule.
"""

from collections import OrderedDict
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from uuid import UUID

from schemas.crawl import PageDiscovered
from schemas.ids import page_id as page_id_of
from streams.crawl.frontier.held_urls import HeldUrls
from streams.crawl.url_rules import agreeing, at_work, learned, retired, rewrite
from streams.crawl.urls import InvalidUrl, canonicalize, crawlable, host_of
from streams.stores.protocols import Fingerprints, FrontierUrl

MEMORY_MICROS = 10_000_000
"""Microseconds after which a host's rules are read again."""
MAX_HOSTS = 1_024
"""Maximum hosts whose rules are in memory."""
PROBE_EVERY = (2, 4, 8, 16)
"""One alias of so many is fetched as a probe once its target is settled, so that a wrong rule shows.
Of n pairs that all agreed the next disagrees with probability 1/(n + 2) (Laplace): few pairs, many probes."""


@dataclass(frozen=True, slots=True)
class HostRules:
    """The alias rules of a host."""

    believed: frozenset[str]
    retired: frozenset[str]
    read_at: int
    agreeing: Mapping[str, int]
    """Number of classes that agreed, by rule."""

    def is_probe(self, event: PageDiscovered) -> bool:
        """Return whether the URL is one of those that are fetched to test the rules."""
        return self.picks_probe(event.page_id, at_work(event.url, self.believed))

    def picks_probe(self, page_id: UUID, applied: Sequence[str]) -> bool:
        """Return whether the page is a probe of the rules that are applied to its URL."""
        return page_id.int % probe_every(min((self.agreeing[rule] for rule in applied), default=0)) == 0


@dataclass(frozen=True, slots=True)
class AliasTarget:
    """The URL to which the rules map an alias."""

    url: str
    page_id: UUID
    host: str
    applied: tuple[str, ...]
    """The rules that map the alias to it."""
    rules: HostRules
    """All rules of the alias's host at that time."""


class UrlAliases:
    """The alias rules of the hosts that are being crawled."""

    def __init__(self, evidence: Fingerprints, held: HeldUrls, now: Callable[[], int]) -> None:
        self._evidence = evidence
        self._held = held
        self._now = now
        self._hosts: OrderedDict[str, HostRules] = OrderedDict()

    async def rules_for(self, host: str, *, fresh: bool = False) -> HostRules:
        """Return the host's rules. With `fresh`, they are read again if any is in use.

        URLs that only a retired rule holds are released before the new rules are used. If that is cut off, the next
        call does it again.
        """
        known = self._hosts.get(host)
        if known is None or self._now() >= known.read_at + MEMORY_MICROS or (fresh and known.believed):
            evidence = await self._evidence.alias_evidence(host)
            rules = HostRules(learned(evidence), retired(evidence), self._now(), agreeing(evidence))
            if rules.retired and (known is None or known.retired != rules.retired):
                await self._held.release_retired(host, rules.believed, rules.retired)
            known = self._hosts[host] = rules
        self._hosts.move_to_end(host)
        if len(self._hosts) > MAX_HOSTS:
            self._hosts.popitem(last=False)
        return known

    async def is_held(self, event: PageDiscovered, cause: str) -> bool:
        """Return whether an earlier event had the URL held, by the rules that are still believed."""
        believed = self._held.believed_for(event.page_id, cause)
        if believed is None or not may_be_alias(event):
            return False
        return believed == (await self.rules_for(event.host)).believed

    def forget(self) -> None:
        """Forget the rules of all hosts, after another worker may have acted on newer ones."""
        self._hosts.clear()


def may_be_alias(event: PageDiscovered) -> bool:
    """Return whether the rules apply: to links alone. A seed or a redirect is fetched by the name it was given."""
    return event.why in ("link", "sitemap") and not event.force


def alias_target(event: PageDiscovered, rules: HostRules) -> AliasTarget | None:
    """Return the URL to which its host's rules map the discovered URL, or None if they leave it as it is."""
    url = rewrite(event.url, rules.believed)
    if url == event.url or not _is_canonical(url) or crawlable(url):
        return None
    return AliasTarget(url, page_id_of(url), host_of(url), tuple(at_work(event.url, rules.believed)), rules)


def may_replace(event: PageDiscovered, target: AliasTarget, known: FrontierUrl | None) -> bool:
    """Return whether the target may be fetched instead of the discovered URL; `known` is the frontier's row of it.

    A target that failed may not. A target on another host must have been fetched already, because the crawl may not be
    allowed to go there.
    """
    if known is None or known.state == "queued":
        return target.host == event.host
    if known.outcome == "removed":  # on request. Its aliases would bring its content back
        return True
    if known.outcome not in ("ok", "not_modified"):
        return False
    settled = known.settled_generation >= known.generation
    return not (settled and target.rules.picks_probe(event.page_id, target.applied))


def probe_every(count: int) -> int:
    """Return of how many aliases one is a probe, if so many classes agreed with the rule.

    Each number divides the next, so an alias that is a probe by more evidence is one by less evidence, too.
    """
    return max((every for every in PROBE_EVERY if 2 * every <= count), default=PROBE_EVERY[0])


def _is_canonical(url: str) -> bool:
    try:
        return canonicalize(url) == url
    except InvalidUrl:
        return False
