"""The event for a URL of the frontier that ended without a fetch, from its row. Pure.

The frontier sends it for some of these URLs. For all others the ledger shows it as if it had been sent.
"""

from schemas import PageRemoved
from schemas.pages import RefusedBy
from streams.stores.protocols import FrontierUrl

_REFUSED_BY: dict[str, RefusedBy] = {"disallowed": "robots", "over_budget": "budget"}
"""The rule that refused a URL, by its outcome in the frontier's row."""


def url_refused(url: FrontierUrl) -> PageRemoved:
    """Return the event for a queued URL that ended without a fetch."""
    return PageRemoved(
        page_id=url.page_id,
        url=url.url,
        generation=url.at,
        crawl_id=url.crawl_id,
        reason="refused",
        detail=url.detail,
        refused_by=_REFUSED_BY.get(url.outcome),
    )
