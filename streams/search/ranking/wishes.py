"""The wishes of a person: more recent pages first, and the sites that they raise. Pure.

`prefer:recent` in a query moves pages up, and leaves none out: by their date of publication, 1 for today, half of it
after each year, 0 without a date. Other criteria are judged by the operator's model (`streams/answers/criteria.py`).

A raised site gains `SITE_WEIGHT`, a lowered one loses it, in standard deviations of the scores: enough to pass pages
that answer a query somewhat better, not enough to bring pages up that hardly answer it. Hidden sites are a filter.
"""

from uuid import UUID

from streams.search.query_language.matching import RECENT, steps_of_wish
from streams.search.ranking.context import RankingContext, add_gains
from streams.search.ranking.priors import freshness
from streams.stores.protocols import PageHits

PAGES = 100
"""Maximum pages that wishes move."""
WEIGHT = 0.8
"""Addition to the score of a page of today, for each step of the wish (standard deviations)."""
RECENT_HALF_LIFE_DAYS = 365.0
OPERATOR = "prefer"
SIGNAL = "wish"
SITE_WEIGHT = 1.0
"""Addition to the score of a page of a raised site, in standard deviations of the scores."""
SITE_SIGNAL = "preference"


def prefer_recent(context: RankingContext, pages: list[PageHits]) -> list[PageHits]:
    """Apply the pass `wishes`: raise recent pages if the query wishes it, and note what each of them gained."""
    wishes = context.conditions.get(OPERATOR, ())
    if not wishes:
        return pages
    steps = steps_of_wish(wishes[-1])
    gains: dict[UUID, float] = {}
    for page in pages[:PAGES]:
        published = page.hits[0].payload.published
        recent = freshness(published, 0, context.now, RECENT_HALF_LIFE_DAYS) if published else 0.0
        context.notes.note_part(page.page_id, SIGNAL, WEIGHT * steps * recent)
        gains[page.page_id] = WEIGHT * steps * recent
    context.notes.passes["wishes"] = {RECENT: steps}
    return add_gains(pages, gains)


def prefer_sites(context: RankingContext, pages: list[PageHits]) -> list[PageHits]:
    """Apply the pass `personal`: move the pages of raised and lowered sites, and note what each of them gained."""
    rules = context.personal
    if not rules.raised and not rules.lowered:
        return pages
    gains: dict[UUID, float] = {}
    for page in pages:
        if gain := SITE_WEIGHT * {"raised": 1, "lowered": -1}.get(rules.rule_of(page.hits[0].payload.host), 0):
            context.notes.note_part(page.page_id, SITE_SIGNAL, gain)
            gains[page.page_id] = gain
    return add_gains(pages, gains)
