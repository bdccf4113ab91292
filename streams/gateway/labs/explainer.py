"""A separate process that explains why texts were removed from a page, so that no page can stop the gateway.

The process starts with the first question (the start takes 1 to 2 seconds, and some 100 MB), and ends with the gateway.
The result is an explanation, or a sentence that says why there is none.
"""

import asyncio
from collections.abc import Callable, Mapping

import structlog

from streams.errors import PoisonError, Refused, TransientError
from streams.pages.sandbox.explanation import Explanation
from streams.pages.sandbox.pool import ParsePool

MAX_WAITING = 8
"""Maximum pages in the process and waiting for it. Further pages are refused."""
EXPLAIN_SECONDS = 10.0
"""Maximum time from the question to the answer, the process's start included (seconds).

The limit of the process's CPU time is lower.
"""
_PARSER = "the parser failed, as it does when it gets no more memory"

log = structlog.get_logger(__name__)


class UnexplainedError(Exception):
    """Nobody can say why texts were removed from a page. The message is a sentence for people."""


class Explainer:
    """The process that explains pages, started with the first question."""

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
                return await self._open().explain(body, url=url, headers=headers)
        except Refused as refusal:
            reason = _PARSER if refusal.rule == "parser" else refusal.detail or refusal.rule
            raise UnexplainedError(f"The page can't be taken apart: {reason}.") from None
        except TimeoutError:
            raise UnexplainedError(f"There was no answer within {self.seconds:g} seconds. Try again.") from None
        except (PoisonError, TransientError) as error:
            log.warning("a page was not explained", url=url, error=str(error))
            raise UnexplainedError("Something failed in the gateway; it was written to the log. Try again.") from error
        finally:
            self._waiting -= 1

    async def close(self) -> None:
        """End the process. Pages that wait are refused."""
        pool, self._pool = self._pool, None
        if pool is not None:
            await pool.close()

    def _open(self) -> ParsePool:
        if self._pool is None:
            self._pool = self._open_pool()
        return self._pool
