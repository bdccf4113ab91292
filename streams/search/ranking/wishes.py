"""The wishes of a person: more recent, more technical or first-hand pages first, and the sites that they raise. Pure.

`prefer:technical` in a query moves pages up, and leaves none out. Each wish is a feature of a page from 0 to 1, by its
date or by the statements that were found of it. No model is asked, so no page can talk its way up.

    recent      its date of publication: 1 for today, half of it after each year; 0 without a date
    technical   share of its statements with code, versions, units, identifiers or other words of the trade's writing
    firsthand   share of its statements in which somebody says what they did or saw themselves

A raised site gains `SITE_WEIGHT`, a lowered one loses it, in standard deviations of the scores: enough to pass pages
that answer a query somewhat better, not enough to bring pages up that hardly answer it. Hidden sites are a filter.
"""

import re
from collections.abc import Callable, Mapping, Sequence
from datetime import datetime
from uuid import UUID

from streams.search.ranking.context import RankingContext, add_gains
from streams.search.ranking.priors import freshness
from streams.stores.protocols import PageHits

PAGES = 100
"""Maximum pages that wishes move."""
STATEMENTS = 6
"""Maximum statements of a page that are read."""
MAX_CHARS = 600
WEIGHT = 0.8
"""Addition to the score of a page with a feature of 1, for each step of the wish (standard deviations)."""
RECENT_HALF_LIFE_DAYS = 365.0
OPERATOR = "prefer"
SIGNAL = "wish"
SITE_WEIGHT = 1.0
"""Addition to the score of a page of a raised site, in standard deviations of the scores."""
SITE_SIGNAL = "preference"

_TECHNICAL = re.compile(
    r"[a-z0-9]_[a-z0-9]|\w\(\)|\bv?\d{1,3}\.\d{1,3}(?:\.\d{1,3})?\b|[{}<>=]{2}|"
    r"\b\d{1,6} ?(?:kb|mb|gb|tb|ms|hz|khz|mhz|ghz|mm|nm|kpa|bit|bytes|volts?|watts?|kw|rpm)\b|`",
    re.IGNORECASE,
)
_CASED = re.compile(r"[a-z][A-Z][a-z]|(?<![A-Za-z])[A-Z]{2,6}(?![A-Za-z])")
_FIRST_HAND = re.compile(
    r"\b(?:I|we) (?:have |had |was |were |am |are |did |just |really |finally |also |then )?"
    r"(?:tried|used|bought|built|made|went|found|saw|tested|measured|visited|installed|switched|noticed|wrote|own|use|like|love"
    r"|hate|think|recommend|learned|learnt|spent|ran|drove|cooked|ate|stayed|started|had|got|been|using)\b"
    r"|\bin my experience\b|\bmy own\b|\bI(?:'|’)(?:ve|m)\b",
    re.IGNORECASE,
)
_OWN_TYPES = frozenset(["review", "discussionforumposting", "blogposting", "qapage"])


def prefer_wishes(context: RankingContext, pages: list[PageHits]) -> list[PageHits]:
    """Apply the pass `wishes`: raise the pages that are as the query wishes, and note what each of them gained."""
    wishes = steps_of(context.conditions.get(OPERATOR, ()))
    if not wishes:
        return pages
    gains: dict[UUID, float] = {}
    for page in pages[:PAGES]:
        context.check_time()
        gain = WEIGHT * sum(step * feature_of(name, page, context.now) for name, step in wishes.items())
        context.notes.note_part(page.page_id, SIGNAL, gain)
        gains[page.page_id] = gain
    context.notes.passes["wishes"] = dict(wishes)
    return add_gains(pages, gains)


def steps_of(values: Sequence[str]) -> dict[str, int]:
    """Return the steps of each wish, the last value of each name: `technical:2`."""
    found = (value.partition(":") for value in values)
    return {name: int(steps) for name, _, steps in found if name in FEATURES and steps.isdigit()}


def feature_of(name: str, page: PageHits, now: datetime) -> float:
    """Return the feature of a page, from 0 to 1."""
    return FEATURES[name](page, now)


def _recent(page: PageHits, now: datetime) -> float:
    payload = page.hits[0].payload
    return freshness(payload.published, 0, now, RECENT_HALF_LIFE_DAYS) if payload.published else 0.0


def _technical(page: PageHits, _now: datetime) -> float:
    hits = page.hits[:STATEMENTS]
    found = [
        hit.payload.kind == "code"
        or bool(_TECHNICAL.search(hit.payload.text[:MAX_CHARS]) or _CASED.search(hit.payload.text[:MAX_CHARS]))
        for hit in hits
    ]
    return sum(found) / len(found)


def _first_hand(page: PageHits, _now: datetime) -> float:
    hits = page.hits[:STATEMENTS]
    found = sum(bool(_FIRST_HAND.search(hit.payload.text[:MAX_CHARS])) for hit in hits) / len(hits)
    return max(found, 0.5 if page.hits[0].payload.page_type.lower() in _OWN_TYPES else 0.0)


FEATURES: Mapping[str, Callable[[PageHits, datetime], float]] = {
    "recent": _recent,
    "technical": _technical,
    "firsthand": _first_hand,
}


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
