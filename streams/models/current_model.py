"""The name of the model that makes vectors, for a stage that makes none itself and does not wait for its server."""

from collections.abc import Callable

import structlog

from schemas.pages import ModelName
from streams.errors import RiffleError
from streams.models.protocols import Embedder

ASK_AGAIN_SECONDS = 60.0
"""Time between two questions to the server (seconds): a worker that it does not answer loses no more time to it."""

log = structlog.get_logger(__name__)


class CurrentModel:
    """The model's name as the server said it last, or None if it did not answer."""

    def __init__(self, embedder: Embedder, monotonic: Callable[[], float]) -> None:
        self._embedder, self._monotonic = embedder, monotonic
        self._name: ModelName | None = None
        self._asked = float("-inf")

    async def read(self) -> ModelName | None:
        now = self._monotonic()
        if now - self._asked >= ASK_AGAIN_SECONDS:
            self._asked = now
            try:
                self._name = (await self._embedder.info()).model
            except RiffleError as error:
                self._name = None
                log.warning("nobody says the model's name: unchanged pages are passed on", error=str(error))
        return self._name
