"""Reads pages in sandbox processes."""

from collections.abc import Mapping
from typing import Any, Self

from streams.crawl.sitemaps import Sitemap
from streams.errors import PoisonError, Refused
from streams.pages.sandbox.explanation import Explanation
from streams.pages.sandbox.worker_messages import EXPLAIN, NORMALIZE, SITEMAP, PageOutcome, pack_page, unpack_fields
from streams.sandbox.limits import Limits
from streams.sandbox.pool import STALL_SECONDS, Sandbox, SandboxPool
from streams.topology import VERSIONS

LIMITS = Limits(cpu_seconds=6.0, memory_bytes=320 * 1024 * 1024, kept_share=0.42)
"""A process has 70 MB at its start, so that two of them stay below 800 MB. The manual of Node.js on one page, 8.4 MB of
HTML, needs 300 MB and 3 seconds. A process that keeps 135 MB after a page is replaced."""


class ParsePool:
    """A pool of parsing processes: `async with ParsePool(2) as pool: await pool.parse(body, url=..., headers=...)`."""

    def __init__(self, processes: int = 2, *, stall_seconds: float = STALL_SECONDS) -> None:
        self.sandbox: Sandbox = SandboxPool(
            (NORMALIZE, EXPLAIN, SITEMAP), processes=processes, limits=LIMITS, stall_seconds=stall_seconds, name="parse"
        )

    async def __aenter__(self) -> Self:
        self.start()
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.close()

    def start(self) -> None:
        """Start the processes; returns at once. Pages wait until one is ready."""
        self.sandbox.start()

    async def close(self) -> None:
        """End the processes. Pages that wait raise SandboxAway."""
        await self.sandbox.close()

    async def parse(self, body: bytes, *, url: str, headers: Mapping[str, str]) -> PageOutcome:
        """Normalize a page.

        Raises Refused (the page reached a limit or broke a rule), PoisonError (normalizing failed),
        SandboxAway and TransientError.
        """
        return PageOutcome.from_fields(await self._run(NORMALIZE, body, url, headers))

    async def explain(self, body: bytes, *, url: str, headers: Mapping[str, str]) -> Explanation:
        """List the texts that were removed from a page, within the same limits. Raises as `parse` does."""
        return Explanation.from_fields(await self._run(EXPLAIN, body, url, headers))

    async def read_sitemap(self, body: bytes, *, url: str, headers: Mapping[str, str]) -> Sitemap:
        """Read the URLs of a sitemap or a feed, within the same limits. Raises as `parse` does."""
        fields = await self._run(SITEMAP, body, url, headers)
        names = ("pages", "sitemaps", "modified", "change_seconds", "priorities")
        return Sitemap(**{name: tuple(fields[name]) for name in names}, is_feed=fields["is_feed"])

    async def _run(self, task: str, body: bytes, url: str, headers: Mapping[str, str]) -> dict[str, Any]:
        try:
            version = VERSIONS["normalize"] if task == NORMALIZE else 0
            return unpack_fields(await self.sandbox.run(task, pack_page(body, url, headers, version)))
        except Refused:
            raise
        except PoisonError as error:
            raise PoisonError(f"{url}: {error}") from error
