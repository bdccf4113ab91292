"""The rules of one person for sites: raised and lowered sites, hidden sites, and no adult pages. Pure.

A raised site gains `SITE_WEIGHT`, a lowered one loses it, in standard deviations of the scores: enough to pass pages
that answer a query somewhat better, not enough to bring pages up that hardly answer it. Hidden sites are a filter.
"""

from dataclasses import dataclass, replace

from streams.search.ranking.context import RankingContext
from streams.search.ranking.rules import PersonalRules
from streams.stores.protocols import PageHits

SITE_WEIGHT = 1.0
"""Addition to the score of a page of a raised site, in standard deviations of the scores."""
SIGNAL = "preference"
_SCORE_DIGITS = 5


@dataclass(frozen=True, slots=True)
class _Weighed:
    page: PageHits
    gain: float


def prefer_sites(context: RankingContext, pages: list[PageHits]) -> list[PageHits]:
    """Apply the pass `personal`: move the pages of raised and lowered sites, and note what each of them gained."""
    rules = context.personal
    if not rules.raised and not rules.lowered:
        return pages
    weighed = [_Weighed(page, SITE_WEIGHT * _direction(rules, page.hits[0].payload.host)) for page in pages]
    for each in weighed:
        if each.gain:
            context.notes.note_part(each.page.page_id, SIGNAL, each.gain)
    changed = [replace(each.page, score=each.page.score + each.gain) if each.gain else each.page for each in weighed]
    return sorted(changed, key=lambda page: -round(page.score, _SCORE_DIGITS))


def _direction(rules: PersonalRules, host: str) -> int:
    return {"raised": 1, "lowered": -1}.get(rules.rule_of(host), 0)
