"""The event for a URL of the frontier that ended without a fetch, from its row. Pure.

The frontier sends it for some of these URLs. For all others the ledger shows it as if it had been sent.
"""

from schemas import PageRemoved
from streams.stores.protocols import FrontierUrl


def url_refused(url: FrontierUrl) -> PageRemoved:
    """Return the event for a queued URL that ended without a fetch."""
    return PageRemoved(
        page_id=url.page_id,
        url=url.url,
        generation=url.at,
        crawl_id=url.crawl_id,
        reason="refused",
        detail=url.detail,
    )
