"""Gathers evidence about a host's URLs from what becomes of its pages: `variants` says what it is and how it counts."""

from schemas.ids import page_id
from streams.crawl.urls import host_of
from streams.dedup.variants import MAX_RULES, explain, rewrite, same_class, slot
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

    async def _compare(self, page: Fingerprint, rule: str, rows: _Rows, at: int) -> None:
        """With other URLs of the class that have been seen: the rule's own answer, and those that are remembered."""
        target = rewrite(page.url, [rule])
        row = rows.get((rule, slot(rule, page.url)))
        remembered = [row.url, row.other] if row else []
        others = [url for url in (target, *remembered) if url and same_class(rule, page.url, url)]
        seen = [(url, await self._store.get(page_id(url))) for url in dict.fromkeys(others)]
        for url, other in seen:
            if other is not None:
                agrees = _leader(other) == _leader(page)
                await self._note(rows, _evidence(rule, page.url, url, agrees), at)
        if row is None and target != page.url and not any(other for _, other in seen):
            await self._note(rows, _evidence(rule, page.url, "", True), at)

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
