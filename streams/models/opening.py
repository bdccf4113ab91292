"""The choice of the models' place: Triton, this process, or a server of OpenAI's API (`triton.url`)."""

from dataclasses import replace

from streams.models.inference.repository import CHAIN_MODEL, LOCAL_REPOSITORY, MEMBERS, check_files, parameters_in
from streams.models.other_models import RepositoryModels
from streams.models.protocols import ModelInfo, Models
from streams.settings import Settings
from streams.settings.servers import IN_PROCESS

CONFIG = "config.pbtxt"


def run_in_process(settings: Settings) -> bool:
    """Return True if the models run inside each process."""
    return settings.triton.url.startswith(IN_PROCESS)


def has_local_description(settings: Settings) -> bool:
    """Return True if the model repository of this machine describes the embedding model, wherever it runs."""
    return run_in_process(settings) or settings.triton.is_openai


async def open_models(settings: Settings) -> Models:
    """Open the models, and check that they exist. Raises StoreUnavailable (or UsageError for missing local files)."""
    models = await _open_alone(settings)
    others = RepositoryModels(settings, _open_alone)

    async def close() -> None:
        await others.close()
        await models.close()

    return replace(models, close=close, other_models=others)


async def _open_alone(settings: Settings) -> Models:
    # Here, because one place loads gRPC and the other one a model's runtime, and a process needs only one of them.
    if run_in_process(settings):
        from streams.models.inprocess import open_in_process

        return open_in_process(settings)
    if settings.triton.is_openai:
        from streams.models.openai_embedder import open_openai

        return open_openai(settings)
    from streams.models.triton import open_triton

    return await open_triton(settings)


def check_local_files(settings: Settings) -> None:
    """Check the files of the models that run inside each process, without loading one. Raises UsageError.

    A model that the repository does not have is passed over: its opening says which ones there are.
    """
    repository = settings.models_path / LOCAL_REPOSITORY
    for name in (settings.triton.model, CHAIN_MODEL):
        config = repository / name / CONFIG
        if not config.is_file():
            continue
        parameters = parameters_in(config.read_text())
        for part in (name, *parameters.get(MEMBERS, "").split()):
            check_files(parameters_in((repository / part / CONFIG).read_text()), repository / part / "1")


def local_model(settings: Settings) -> ModelInfo:
    """Return the description of the embedding model in the local repository. Raises UsageError, StoreUnavailable."""
    from streams.models.inprocess import embedding_model  # as above

    return embedding_model(settings)
