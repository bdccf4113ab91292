"""Find texts that an older page of another site has in part: a sign of scraping, below the similarity of duplicates.

Pure.
"""

from collections.abc import Iterable

from streams.crawl.domains import same_domain
from streams.crawl.urls import host_of
from streams.dedup.first_sight import site_sight
from streams.sketches.minhash import sketch_similarity
from streams.stores.protocols import MIN_NEAR_WORDS, Fingerprint

DIGITS = 3


def copied_share(page: Fingerprint, found: Iterable[Fingerprint]) -> float:
    """Return the estimated similarity to the most similar older page of another registrable domain, 0..1.

    `found` is what a look-up found: pages with a similarity from 0.68 on. Who had the text first copied nothing.
    """
    if page.words < MIN_NEAR_WORDS:
        return 0.0
    host, since = host_of(page.url), site_sight(page).at
    older = (other for other in found if site_sight(other).at < since and not same_domain(host_of(other.url), host))
    return round(max((sketch_similarity(page.sketch, other.sketch) for other in older), default=0.0), DIGITS)
