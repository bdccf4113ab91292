"""Asks a process that may die why texts were removed from a page, so that no page can stop the gateway.

The process starts when it is first asked (it takes a second or two, and some 100 MB), and ends with the gateway.
Whatever becomes of the page in there, what comes back is an explanation or a sentence.
"""

import asyncio
from collections.abc import Callable, Mapping

import structlog

from streams.errors import PoisonError, Refused, TransientError
from streams.pages.parse.content_type import as_html
from streams.pages.sandbox.explanation import Explanation
from streams.pages.sandbox.pool import ParsePool

MAX_WAITING = 8
"""Pages in the process and before it; whoever comes next is told to come back."""
EXPLAIN_SECONDS = 10.0
"""From the question to the answer, the process's start included. Its CPU time is limited far below."""
_PARSER = "the parser gave it up, as it does when it gets no more memory"

log = structlog.get_logger(__name__)


class UnexplainedError(Exception):
    """There is no explanation. The message is a sentence for people."""


class Explainer:
    """One process, started when first asked."""

    def __init__(
        self, open_pool: Callable[[], ParsePool] = lambda: ParsePool(1), *, seconds: float = EXPLAIN_SECONDS
    ) -> None:
        self._open_pool = open_pool
        self.seconds = seconds
        self._pool: ParsePool | None = None
        self._waiting = 0

    @property
    def started(self) -> bool:
        return self._pool is not None

    async def explain(self, body: bytes, *, url: str, headers: Mapping[str, str]) -> Explanation:
        """Explain what was removed from a page. Raises UnexplainedError."""
        if self._waiting >= MAX_WAITING:
            raise UnexplainedError("Many people ask for this just now. Try again in a few seconds.")
        self._waiting += 1
        try:
            async with asyncio.timeout(self.seconds):
                html = await asyncio.to_thread(as_html, body, headers)
                return await self._open().explain(html, url=url, headers=headers)
        except Refused as refusal:
            said = _PARSER if refusal.rule == "parser" else refusal.detail or refusal.rule
            raise UnexplainedError(f"The page can't be taken apart: {said}.") from None
        except TimeoutError:
            raise UnexplainedError(f"There was no answer within {self.seconds:g} seconds. Try again.") from None
        except (PoisonError, TransientError) as error:
            log.warning("a page was not explained", url=url, error=str(error))
            raise UnexplainedError("Something broke on our side; it was written to the log. Try again.") from error
        finally:
            self._waiting -= 1

    async def close(self) -> None:
        """End the process. Those who wait are told to try again."""
        pool, self._pool = self._pool, None
        if pool is not None:
            await pool.close()

    def _open(self) -> ParsePool:
        if self._pool is None:
            self._pool = self._open_pool()
        return self._pool
