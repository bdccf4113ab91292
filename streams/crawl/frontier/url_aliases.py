"""URL aliases: URLs that need no fetch, because a rule learned from duplicates maps them to another URL.

The rules of a host are computed from the evidence of dedup (`streams.crawl.url_rules`), and remembered for some
seconds. An alias is held beside its target, in the store, as long as the rules are believed, so a wrong rule loses no
page.

A held URL is released when a rule turns out to be wrong, when its target can not be fetched, or as a probe of the
rules. A released URL is discovered again: the event is sent first, and the row is deleted afterwards.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from uuid import UUID

from schemas.crawl import PageDiscovered
from schemas.ids import page_id as page_id_of
from streams.caches import RecentCache
from streams.crawl.url_rules import believed_rules, count_agreeing, retired_rules, rewrite, rules_needed
from streams.crawl.urls import InvalidUrl, canonicalize, host_of, reason_not_to_crawl
from streams.runtime.agent import Emit
from streams.stores.protocols import Fingerprints, FrontierStore, FrontierUrl, HeldUrl

MAX_IN_MEMORY = 20_000
"""Maximum number of held URLs in memory, about 13 MB. A further link to one of them costs no write."""
SLOTS = 16
"""Maximum held URLs of one target."""
RELEASED_AT_ONCE = 500
"""Maximum number of rows in one read, while a host's held URLs are released."""
MEMORY_MICROS = 10_000_000
"""Time until a host's rules are read again (microseconds)."""
MAX_HOSTS = 1_024
"""Maximum number of hosts with rules in memory."""
PROBE_EVERY = (2, 4, 8, 16)
"""Numbers N: one alias of N is fetched as a probe once its target is settled, so that a wrong rule shows.
After n pairs that all agreed the next pair disagrees with probability 1/(n + 2) (Laplace): few pairs, many probes."""


@dataclass(frozen=True, slots=True)
class _Held:
    """The reason why a URL is held."""

    target: UUID
    believed: frozenset[str]
    cause: str
    """Id of the event that had the URL held. Its redelivery is handled again: its outputs may never have been sent."""


class HeldUrls:
    """The held URLs in the store. The last held URLs are also in memory."""

    def __init__(self, store: FrontierStore, emit: Emit) -> None:
        self._store = store
        self._emit = emit
        self._held: RecentCache[UUID, _Held] = RecentCache(MAX_IN_MEMORY)

    def believed_for(self, page_id: UUID, cause: str) -> frozenset[str] | None:
        """Return the believed rules of another event that had the URL held, or None."""
        held = self._held.get(page_id)
        return None if held is None or held.cause == cause else held.believed

    async def hold(
        self, event: PageDiscovered, host: str, target: UUID, believed: frozenset[str], cause: str, at: int
    ) -> None:
        """Hold the discovered URL beside its target, a page of `host`."""
        slot = (event.page_id.int >> 8) % SLOTS
        text = event.model_dump_json(exclude_defaults=True)
        await self._store.hold(HeldUrl(host, target, slot, text, at))
        self._held.put(event.page_id, _Held(target, believed, cause))

    async def release_retired(self, host: str, believed: frozenset[str], retired: frozenset[str]) -> None:
        """Release the URLs of this host that the believed rules no longer map to their targets."""
        mirrors = {rule.removeprefix("host:") for rule in retired if rule.startswith("host:")}
        for where in sorted({host, *mirrors}):
            after: HeldUrl | None = None
            while rows := await self._store.held(where, after, RELEASED_AT_ONCE):
                for held in rows:
                    event = PageDiscovered.model_validate_json(held.discovered)
                    if event.host == host and page_id_of(rewrite(event.url, believed)) != held.target:
                        await self._release(held, event)
                after = rows[-1]

    async def release_probes(self, host: str, target: UUID, is_probe: Callable[[PageDiscovered], bool]) -> None:
        """Release the probes among the URLs that wait for a page. The page is settled, so they can be compared."""
        for held in await self._store.held_for(host, target):
            event = PageDiscovered.model_validate_json(held.discovered)
            if event.host == host and is_probe(event):
                await self._release(held, event)

    async def release_for(self, host: str, target: UUID) -> None:
        """Release all URLs that wait for a page. The page can't be fetched."""
        rows = await self._store.held_for(host, target)
        if rows:  # aliases without a slot are fetched, too, when they are linked again
            self._held.drop_if(lambda _, held: held.target == target)
        for held in rows:
            await self._release(held, PageDiscovered.model_validate_json(held.discovered))

    async def _release(self, held: HeldUrl, event: PageDiscovered) -> None:
        self._held.take(event.page_id)
        await self._emit(event, f"{held.target}/{event.page_id}/{held.at}")
        await self._store.release(held)

    def forget(self) -> None:
        """Forget all held URLs in memory, after another worker may have changed the store."""
        self._held.clear()


@dataclass(frozen=True, slots=True)
class HostRules:
    """The alias rules of a host."""

    believed: frozenset[str]
    retired: frozenset[str]
    read_at: int
    agreeing: Mapping[str, int]
    """Number of classes that agreed, by rule."""

    def is_probe(self, event: PageDiscovered) -> bool:
        """Return whether the URL is a probe: it is fetched to test the rules."""
        return self.picks_probe(event.page_id, rules_needed(event.url, self.believed))

    def picks_probe(self, page_id: UUID, applied: Sequence[str]) -> bool:
        """Return whether the page is a probe of the rules that are applied to its URL, by its id."""
        return page_id.int % probe_interval(min((self.agreeing[rule] for rule in applied), default=0)) == 0


@dataclass(frozen=True, slots=True)
class AliasTarget:
    """The target of an alias: the URL that it is rewritten to."""

    url: str
    page_id: UUID
    host: str
    applied: tuple[str, ...]
    """The rules that map the alias to its target."""
    rules: HostRules
    """All rules of the alias's host at that time."""


class UrlAliases:
    """The alias rules of the hosts that are being crawled."""

    def __init__(self, evidence: Fingerprints, held: HeldUrls, now: Callable[[], int]) -> None:
        self._evidence = evidence
        self._held = held
        self._now = now
        self._hosts: RecentCache[str, HostRules] = RecentCache(MAX_HOSTS)

    async def rules_for(self, host: str, *, fresh: bool = False) -> HostRules:
        """Return the host's rules. With `fresh`, they are read again if any rule is in use.

        URLs that only a retired rule holds are released before the new rules are used. If the release is cut off, the
        next call repeats it.
        """
        known = self._hosts.get(host)
        if known is None or self._now() >= known.read_at + MEMORY_MICROS or (fresh and known.believed):
            evidence = await self._evidence.alias_evidence(host)
            rules = HostRules(believed_rules(evidence), retired_rules(evidence), self._now(), count_agreeing(evidence))
            if rules.retired and (known is None or known.retired != rules.retired):
                await self._held.release_retired(host, rules.believed, rules.retired)
            self._hosts.put(host, rules)
            return rules
        return known

    async def is_held(self, event: PageDiscovered, cause: str) -> bool:
        """Return whether an earlier event had the URL held, by rules that are still believed."""
        believed = self._held.believed_for(event.page_id, cause)
        if believed is None or not may_be_alias(event):
            return False
        return believed == (await self.rules_for(event.host)).believed

    def forget(self) -> None:
        """Forget the rules of all hosts, after another worker may have acted on newer rules."""
        self._hosts.clear()


def may_be_alias(event: PageDiscovered) -> bool:
    """Return whether the rules apply to the event: only to links. A seed or a redirect is fetched by its own URL."""
    return event.why in ("link", "sitemap") and event.purpose == "page" and not event.force


def alias_target(event: PageDiscovered, rules: HostRules) -> AliasTarget | None:
    """Return the target of the discovered URL by its host's rules, or None if they leave the URL as it is."""
    url = rewrite(event.url, rules.believed)
    if url == event.url or not _is_canonical(url) or reason_not_to_crawl(url):
        return None
    return AliasTarget(url, page_id_of(url), host_of(url), tuple(rules_needed(event.url, rules.believed)), rules)


def may_replace(event: PageDiscovered, target: AliasTarget, known: FrontierUrl | None) -> bool:
    """Return whether the target may be fetched instead of the discovered URL. `known` is the target's row.

    A failed target may not. A target on another host must have been fetched already, because the crawl may not be
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


def probe_interval(count: int) -> int:
    """Return N such that one alias of N is a probe, for a rule with `count` classes that agreed.

    Each N divides the next, so a probe by more evidence is a probe by less evidence, too.
    """
    return max((every for every in PROBE_EVERY if 2 * every <= count), default=PROBE_EVERY[0])


def _is_canonical(url: str) -> bool:
    try:
        return canonicalize(url) == url
    except InvalidUrl:
        return False
