"""Gathers evidence about a host's URLs from what becomes of its pages: `variants` says what it is and how it counts."""

from schemas.ids import page_id
from streams.crawl.url_rules import MAX_RULES, at_work, explain, learned, rewrite, same_class, slot
from streams.crawl.urls import host_of
from streams.dedup.grouping import is_undecided
from streams.stores.protocols import Fingerprint, Fingerprints, VariantEvidence

_Rows = dict[tuple[str, int], VariantEvidence]


class VariantLearner:
    """Asks the store for the host's evidence and adds what one more page says. The same page twice adds it once."""

    def __init__(self, store: Fingerprints) -> None:
        self._store = store

    async def learn(self, page: Fingerprint, canonical: Fingerprint, at: int) -> None:
        """`canonical` stands for the page; it may be the page itself."""
        host = host_of(page.url)
        rows: _Rows = {(found.rule, found.slot): found for found in await self._store.variants(host)}
        rules = {rule for rule, _ in rows}
        if canonical.page_id != page.page_id:
            for rule in explain(page.url, canonical.url):
                if rule in rules or len(rules) < MAX_RULES:
                    await self._note(rows, _evidence(rule, page.url, canonical.url, True), at)
        for rule in sorted(rules):
            await self._compare(page, rule, rows, at)
        await self._compare_with_all(page, rows, at)

    async def _compare(self, page: Fingerprint, rule: str, rows: _Rows, at: int) -> None:
        """With other URLs of the class that have been seen: the rule's own answer, and those that are remembered."""
        target = rewrite(page.url, [rule])
        row = rows.get((rule, slot(rule, page.url)))
        remembered = [row.url, row.other] if row else []
        others = [url for url in (target, *remembered) if url and same_class(rule, page.url, url)]
        seen = [(url, await self._decided(url)) for url in dict.fromkeys(others)]
        for url, other in seen:
            if other is not None:
                agrees = _leader(other) == _leader(page)
                await self._note(rows, _evidence(rule, page.url, url, agrees), at)
        if row is None and target != page.url and not any(other for _, other in seen):
            await self._note(rows, _evidence(rule, page.url, "", True), at)

    async def _compare_with_all(self, page: Fingerprint, rows: _Rows, at: int) -> None:
        """With the URL that all believed rules together make of it. Which of them is wrong isn't known: all are."""
        rules = learned(rows.values())
        target, working = rewrite(page.url, rules), at_work(page.url, rules)
        other = await self._decided(target) if len(working) > 1 else None
        if other is not None and _leader(other) != _leader(page):
            for rule in working:
                await self._note(rows, _evidence(rule, page.url, target, False), at)

    async def _decided(self, url: str) -> Fingerprint | None:
        """The page of that URL, unless it is being decided just now: its own event compares it with this one."""
        found = await self._store.get(page_id(url))
        return None if found is None or is_undecided(found) else found

    async def _note(self, rows: _Rows, found: VariantEvidence, at: int) -> None:
        place = (found.rule, found.slot)
        former = rows.get(place)
        if former is None or _outweighs(found, former):
            rows[place] = found
            await self._store.note_variant(found, at)


def _outweighs(found: VariantEvidence, former: VariantEvidence) -> bool:
    """A disagreement stays for ever, an agreement until something disagrees; what only waits gives way to both."""
    if not former.other:
        return bool(found.other)
    return former.agrees and not found.agrees


def _evidence(rule: str, url: str, other: str, agrees: bool) -> VariantEvidence:
    return VariantEvidence(host_of(url), rule, slot(rule, url), url, other, agrees)


def _leader(page: Fingerprint) -> object:
    return page.canonical or page.page_id
