"""Which URLs are other spellings of a page, and so need no fetch: what duplicates taught, applied to discoveries.

The rules of a host are worked out from the evidence that dedup keeps (`streams.crawl.url_rules`), and remembered for
some seconds. A URL that they make another one is held back: written down beside its target. It is let go when a rule
turns out to be wrong, or when the target can't be fetched, and is then discovered anew. So no page is lost to a rule.
"""

from collections import OrderedDict
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from uuid import UUID

from schemas.crawl import PageDiscovered
from schemas.ids import page_id as page_id_of
from streams.crawl.url_rules import agreeing, at_work, learned, retired, rewrite
from streams.crawl.urls import InvalidUrl, canonicalize, crawlable, host_of
from streams.runtime.agent import Emit
from streams.stores.protocols import Fingerprints, FrontierStore, FrontierUrl, HeldUrl

KEPT_MICROS = 10_000_000
"""For so long a host's rules are taken from memory."""
MAX_HOSTS = 1_024
MAX_HELD = 100_000
"""URLs held back lately, so that each link to one costs no write: about 20 MB."""
SLOTS = 16
PROBE_EVERY = (2, 4, 8, 16)
"""One URL of so many is fetched in spite of the rules, once its target is settled, so that a rule that is wrong shows.
Of n pairs that all agreed the next disagrees with probability 1/(n + 2) (Laplace): few pairs, many probes."""
RELEASED_AT_ONCE = 500


@dataclass(frozen=True, slots=True)
class HostRules:
    """What is known of a host's URLs."""

    believed: frozenset[str]
    retired: frozenset[str]
    read_at: int
    released: bool
    """Whether what the retired rules had held back was let go."""
    agreeing: Mapping[str, int]
    """How many classes agreed with each rule."""

    def is_probe(self, event: PageDiscovered) -> bool:
        """Whether the URL is one of those by which the rules are tried."""
        working = at_work(event.url, self.believed)
        return event.page_id.int % probe_every(min((self.agreeing[rule] for rule in working), default=0)) == 0


@dataclass(frozen=True, slots=True)
class Spelling:
    """The URL that stands for another one, by these rules."""

    url: str
    page_id: UUID
    host: str
    rules: tuple[str, ...]
    by: HostRules
    """The host's rules when it was found."""


@dataclass(frozen=True, slots=True)
class _Held:
    """Why a URL was held back lately."""

    target: UUID
    by: frozenset[str]
    cause: str
    """The id of the event: a second delivery of it is handled again, since what it led to may never have been sent."""


class Spellings:
    """The rules of the hosts that are crawled just now."""

    def __init__(self, evidence: Fingerprints, store: FrontierStore, now: Callable[[], int]) -> None:
        self._evidence = evidence
        self._store = store
        self._now = now
        self._hosts: OrderedDict[str, HostRules] = OrderedDict()
        self._held: OrderedDict[UUID, _Held] = OrderedDict()

    async def of(self, host: str, *, fresh: bool = False) -> HostRules:
        """The host's rules; with `fresh`, anew if any are in use."""
        known = self._hosts.get(host)
        if known is None or self._now() >= known.read_at + KEPT_MICROS or (fresh and known.believed):
            found = await self._evidence.variants(host)
            wrong = retired(found)
            released = not wrong or (known is not None and known.released and known.retired == wrong)
            known = self._hosts[host] = HostRules(learned(found), wrong, self._now(), released, agreeing(found))
        self._hosts.move_to_end(host)
        if len(self._hosts) > MAX_HOSTS:
            self._hosts.popitem(last=False)
        return known

    async def other(self, event: PageDiscovered) -> Spelling | None:
        """The spelling by which to fetch what was discovered, if it is another one."""
        if not may_be_rewritten(event):
            return None
        rules = await self.of(event.host)
        url = rewrite(event.url, rules.believed)
        if url == event.url or not _is_law(url) or crawlable(url):
            return None
        return Spelling(url, page_id_of(url), host_of(url), tuple(at_work(event.url, rules.believed)), rules)

    async def is_held(self, event: PageDiscovered, cause: str) -> bool:
        """Whether another event had it held back lately, by the rules that still stand."""
        held = self._held.get(event.page_id)
        if held is None or held.cause == cause or not may_be_rewritten(event):
            return False
        return held.by == (await self.of(event.host)).believed

    async def hold(self, event: PageDiscovered, spelling: Spelling, cause: str, at: int) -> None:
        """Hold it back, for as long as the rules stand."""
        slot = (event.page_id.int >> 8) % SLOTS
        text = event.model_dump_json(exclude_defaults=True)
        await self._store.hold(HeldUrl(spelling.host, spelling.page_id, slot, text, at))
        self._held[event.page_id] = _Held(spelling.page_id, spelling.by.believed, cause)
        if len(self._held) > MAX_HELD:
            self._held.popitem(last=False)

    async def release(self, host: str, emit: Emit) -> None:
        """Let go what only retired rules held back, as soon as they are known to be.

        Cut off, it is done again by whoever reads the host's rules next.
        """
        rules = self._hosts.get(host)
        if rules is None or rules.released:
            return
        mirrors = {rule.removeprefix("host:") for rule in rules.retired if rule.startswith("host:")}
        for where in sorted({host, *mirrors}):
            after: HeldUrl | None = None
            while found := await self._store.held(where, after, RELEASED_AT_ONCE):
                for held in found:
                    event = PageDiscovered.model_validate_json(held.discovered)
                    if event.host == host and page_id_of(rewrite(event.url, rules.believed)) != held.target:
                        await self._let_go(held, event, emit)
                after = found[-1]
        self._hosts[host] = replace(rules, released=True)

    async def probe(self, host: str, target: UUID, emit: Emit) -> None:
        """Of what was held back for a page that has settled, let the probes go: there is something to compare with."""
        rules = await self.of(host)
        for held in await self._store.held_for(host, target) if rules.believed else ():
            event = PageDiscovered.model_validate_json(held.discovered)
            if event.host == host and rules.is_probe(event):
                await self._let_go(held, event, emit)

    async def release_for(self, host: str, target: UUID, emit: Emit) -> None:
        """Let go what was held back for a page that can't be fetched."""
        found = await self._store.held_for(host, target)
        if found:  # and what had no slot any more may be fetched, too, when it is linked again
            kept = ((page_id, held) for page_id, held in self._held.items() if held.target != target)
            self._held = OrderedDict(kept)
        for held in found:
            await self._let_go(held, PageDiscovered.model_validate_json(held.discovered), emit)

    async def _let_go(self, held: HeldUrl, event: PageDiscovered, emit: Emit) -> None:
        self._held.pop(event.page_id, None)
        await emit(event, f"{held.target}/{event.page_id}/{held.at}")
        await self._store.let_go(held)

    def forget(self) -> None:
        """Everything: another worker may have changed what is held."""
        self._hosts.clear()
        self._held.clear()


def may_be_rewritten(event: PageDiscovered) -> bool:
    """Links alone: what a person, the page itself or its server names is fetched by that name."""
    return event.why in ("link", "sitemap") and not event.force


def stands_in(event: PageDiscovered, spelling: Spelling, known: FrontierUrl | None) -> bool:
    """Whether the other spelling may be fetched in the place of this one; `known` is what is known of it.

    Not when it failed, and not on another host before it was fetched there: the crawl may not be allowed to go there.
    """
    if known is None or known.state == "queued":
        return spelling.host == event.host
    if known.outcome not in ("ok", "not_modified"):
        return False
    settled = known.settled_generation >= known.generation
    return not (settled and spelling.by.is_probe(event))


def probe_every(count: int) -> int:
    """One URL of how many is fetched to try a rule with which so many classes agreed. Each number divides the next, so
    what is a probe by more evidence was one by less."""
    return max((every for every in PROBE_EVERY if 2 * every <= count), default=PROBE_EVERY[0])


def _is_law(url: str) -> bool:
    try:
        return canonicalize(url) == url
    except InvalidUrl:
        return False
