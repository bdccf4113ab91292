"""Scripts and style sheets that pages of a site share, for some minutes, so that a site is asked once for them."""

from collections.abc import Callable

from streams.caches import SizedCache
from streams.media_types import media_type
from streams.render.page import Resource

MAX_BYTES = 32 * 1024 * 1024
"""Maximum size of all kept bodies together (bytes)."""
MAX_AGE_SECONDS = 600.0
"""Time until a script is fetched again (seconds)."""
KINDS = ("javascript", "ecmascript", "text/css")
"""Parts of the content types that are kept. Data is fetched for each page: it may be another one each time."""


class KeptResources:
    """The last resources by URL. The ones that were used least lately go first."""

    def __init__(self, monotonic: Callable[[], float]) -> None:
        self._monotonic = monotonic
        self._resources = SizedCache[str, tuple[float, Resource]](MAX_BYTES, lambda kept: len(kept[1].body))

    def get(self, url: str) -> Resource | None:
        """Return the resource of a URL, if it is kept."""
        found = self._resources.get(url)
        if found is None:
            return None
        if self._monotonic() - found[0] >= MAX_AGE_SECONDS:
            self._resources.drop(url)
            return None
        return found[1]

    def put(self, url: str, resource: Resource) -> None:
        """Keep a script or a style sheet; nothing else is kept."""
        kind = media_type(resource.headers.get("content-type", "")).essence
        if any(name in kind for name in KINDS):
            self._resources.put(url, (self._monotonic(), resource))
