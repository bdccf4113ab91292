"""The models of the repository besides the settings' own: opened when searches read the vectors of one of them."""

import asyncio
from collections.abc import Awaitable, Callable

import structlog

from streams.errors import RiffleError
from streams.models.inference.repository import LOCAL_REPOSITORY, SERVER_MODEL, model_info, parameters_of, read_config
from streams.models.inference.runtimes import resolve_runtime
from streams.models.protocols import Embedder, ModelInfo, Models
from streams.settings import Settings
from streams.settings.servers import IN_PROCESS, OF_QUERIES

DIMENSIONS = "dimensions"
"""A parameter that only embedding models have."""

log = structlog.get_logger(__name__)


class RepositoryModels:
    """See `OtherModels`. With Triton, the models of its repository; else, those that are described on this machine.

    A model behind a server of OpenAI's API is opened only if the settings name such a server: it is asked for it.
    """

    def __init__(self, settings: Settings, open_models: Callable[[Settings], Awaitable[Models]]) -> None:
        self._settings, self._open = settings, open_models
        self._opened: dict[str, Models] = {}
        self._opening = asyncio.Lock()

    async def find(self, fits: Callable[[ModelInfo], bool]) -> Embedder | None:
        """See `OtherModels.find`. A model that was opened stays open."""
        async with self._opening:
            own = self._settings.triton
            is_local = own.is_openai or own.url.startswith(IN_PROCESS)
            found = await asyncio.to_thread(self._find_here, fits) if is_local else await self._find_at_server(fits)
            if found is None:
                return None
            name, url = found
            if name not in self._opened:
                log.info("a model is opened, since searches read its vectors", model=name)
                chosen = own.model_copy(update={"model": name, "query_model": f"{name}{OF_QUERIES}", "url": url})
                self._opened[name] = await self._open(self._settings.model_copy(update={"triton": chosen}))
            return self._opened[name].embedder

    async def close(self) -> None:
        for models in self._opened.values():
            await models.close()

    def _find_here(self, fits: Callable[[ModelInfo], bool]) -> tuple[str, str] | None:
        """Return the name of the model and the address where it runs."""
        own = self._settings.triton
        for path in sorted((self._settings.models_path / LOCAL_REPOSITORY).glob("*/config.pbtxt")):
            try:
                parameters = resolve_runtime(parameters_of(read_config(path.parent)))
                if not _is_described(path.parent.name, parameters) or not fits(model_info(parameters, str(path))):
                    continue
            except RiffleError as error:
                log.warning("a description of a model can't be read", error=str(error))
                continue
            if SERVER_MODEL not in parameters:
                return path.parent.name, IN_PROCESS
            if own.is_openai:
                return path.parent.name, own.url
        return None

    async def _find_at_server(self, fits: Callable[[ModelInfo], bool]) -> tuple[str, str] | None:
        from streams.models.triton_connection import TritonConnection  # loads gRPC

        own = self._settings.triton
        connection = TritonConnection(own)
        try:
            for name in await connection.models():
                parameters = {} if name.endswith(OF_QUERIES) else parameters_of(await connection.config(name))
                if _is_described(name, parameters) and fits(model_info(parameters, f"Triton at {own.url}, {name}")):
                    return name, own.url
        finally:
            await connection.close()
        return None


def _is_described(name: str, parameters: dict[str, str]) -> bool:
    return DIMENSIONS in parameters and not name.endswith(OF_QUERIES)
