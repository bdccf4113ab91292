"""The choice of the models' place: behind Triton, or in this process where `triton.url` is `inprocess:`."""

from streams.models.protocols import ModelInfo, Models
from streams.settings import Settings

IN_PROCESS = "inprocess:"


def run_in_process(settings: Settings) -> bool:
    """Return True if the models run inside each process."""
    return settings.triton.url.startswith(IN_PROCESS)


async def open_models(settings: Settings) -> Models:
    """Open the models, and check that they exist. Raises StoreUnavailable (or UsageError for missing local files)."""
    # Here, because one place loads gRPC and the other one a model's runtime, and a process needs only one of them.
    if run_in_process(settings):
        from streams.models.inprocess import open_in_process

        return open_in_process(settings)
    from streams.models.triton import open_triton

    return await open_triton(settings)


def local_model(settings: Settings) -> ModelInfo:
    """Return the description of the embedding model inside a process. Raises UsageError, StoreUnavailable."""
    from streams.models.inprocess import embedding_model  # as above

    return embedding_model(settings)
