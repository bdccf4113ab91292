"""The fake of a sandbox pool: runs each task in this process, without limits."""

from typing import Self

from streams.errors import PoisonError, Refused
from streams.pages.sandbox.pool import ParsePool
from streams.pages.sandbox.worker_messages import EXPLAIN, NORMALIZE, SITEMAP
from streams.sandbox.limits import Limits
from streams.sandbox.worker import load_task, run_task


class InlineSandbox:
    """Runs the tasks that it was given, with the same results and errors as `SandboxPool` for harmless payloads."""

    def __init__(self, tasks: tuple[str, ...]) -> None:
        self._tasks = {name: load_task(name) for name in tasks}

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.close()

    def start(self) -> None:
        """Nothing to start."""

    async def close(self) -> None:
        """Nothing to close."""

    async def run(self, task: str, payload: bytes) -> bytes:
        """Run a task. Raises Refused and PoisonError."""
        _, (kind, *values) = run_task(self._tasks[task], payload, Limits())
        if kind == "ok":
            result: bytes = values[0]
            return result
        if kind == "refused":
            raise Refused(*values)
        raise PoisonError(f"{task} failed: {values[0]}")


def inline_parse_pool() -> ParsePool:
    """Return a pool that reads pages in this process: a parsing process takes half a second of CPU time to start."""
    pool = ParsePool(1)
    pool.sandbox = InlineSandbox((NORMALIZE, EXPLAIN, SITEMAP))
    return pool
