"""The outgoing links of a page of results: plain addresses, or links over `/act` where clicks are published."""

import secrets
from collections.abc import Callable, Mapping, Sequence
from datetime import datetime
from uuid import UUID

from streams.gateway.clicks.payload import MAX_CHARS, NONCE_BYTES, Click, seal_click
from streams.gateway.http.keys import Key, derive_keys
from streams.settings import GatewaySettings

Leave = Callable[[str, str], str]
"""Return the link to an address, on the page with this URL."""


def plain_link(address: str, _url: str) -> str:
    """Return the address itself."""
    return address


def click_keys(settings: GatewaySettings) -> tuple[Key, ...]:
    """Return the keys of payloads; none where clicks are not published, or where there is no secret."""
    if not settings.publish_clicks:
        return ()
    return derive_keys([secret.get_secret_value() for secret in settings.keys], "clicks")


class OutgoingLinks:
    """The maker of outgoing links of one gateway process."""

    def __init__(self, keys: Sequence[Key], clock: Callable[[], datetime]) -> None:
        self._keys, self._clock = keys, clock

    def for_results(self, query_hash: str, pages: Mapping[str, tuple[UUID, int]], asked_hash: str = "") -> Leave:
        """Return the maker of links for one page of results. `pages`: page id and rank by the URL of the page.

        `asked_hash`: the hash of the query for counts, empty where queries are not counted.

        The link to a page without a rank, and a link that would be too long, is plain.
        """
        if not self._keys:
            return plain_link
        now = self._clock()

        def leave(address: str, url: str) -> str:
            if not address or url not in pages or len(address.encode()) > MAX_CHARS // 2:
                return address
            page, rank = pages[url]
            click = Click(query_hash, page, rank, now, address, asked_hash)
            return f"/act?c={seal_click(click, self._keys[0], secrets.token_bytes(NONCE_BYTES))}"

        return leave
