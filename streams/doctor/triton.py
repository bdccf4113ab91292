"""Triton and its models."""

import asyncio
from collections.abc import Collection, Iterator, Sequence
from urllib.parse import urlsplit

from streams.credentials import TlsFiles
from streams.doctor.findings import Finding, failure, ok
from streams.doctor.servers import Endpoint, judge_version, refused
from streams.errors import RiffleError, StoreUnavailable
from streams.models.inference.repository import CHAIN_MODEL
from streams.models.opening import has_local_description, local_model, open_models, run_in_process
from streams.models.protocols import ModelInfo
from streams.models.triton_connection import server_state
from streams.settings import Settings, TritonSettings
from streams.settings.servers import OPENAI

REQUEST_SECONDS = 8.0
QUICK_SECONDS = 2.0


def check_triton(settings: Settings) -> Iterator[Finding]:
    """Check that the server answers and has the models."""
    url = settings.triton.url
    if run_in_process(settings):
        yield ok("triton", "The models run inside each process")
        return
    if settings.triton.is_openai:
        yield _judge_embedding_server(settings, REQUEST_SECONDS)
        return
    if problem := refused(url):
        yield failure(
            "triton",
            f"{url} can't be reached ({problem})",
            "Start it (`riffle up`), or set RIFFLE_TRITON__URL to the gRPC address of a server that runs.",
        )
        return
    state = server_state(settings.triton, REQUEST_SECONDS)
    yield judge_version("triton", url, state.version)
    yield judge_models(state.models, needed_models(settings.triton, state.models))


def check_answer(settings: Settings) -> Iterator[Finding]:
    """Check that the server of the statements' model answers. Models inside of processes need no server."""
    url, advice = settings.triton.url, "riffle doctor --only triton"
    if run_in_process(settings):
        return
    if settings.triton.is_openai:
        if (found := _judge_embedding_server(settings, QUICK_SECONDS)).level:
            yield found
        return
    if problem := refused(url):
        yield failure("triton", f"Triton at {url} can't be reached ({problem})", advice)
        return
    try:
        server_state(settings.triton, QUICK_SECONDS)
    except StoreUnavailable as error:
        yield failure("triton", str(error), advice)


def endpoint(settings: Settings) -> Endpoint | None:
    """Return the server for statements, if the connections are encrypted."""
    if settings.triton.is_openai:
        return _https_endpoint(settings)
    if not settings.triton.ca_file:
        return None
    host, _, port = settings.triton.url.rpartition(":")
    return Endpoint("Triton", host, int(port), TlsFiles.of(settings.triton))


def _judge_embedding_server(settings: Settings, seconds: float) -> Finding:
    """Embed a text, whose answer is compared with the model's description as each answer is."""
    url = settings.triton.url

    async def ask() -> str:
        models = await open_models(settings)
        try:
            await models.embedder.embed(["ready"], "query", deadline_seconds=seconds)
            info = await models.embedder.info()
            return f"{url} answers with the vectors of {info.name} {info.version}"
        finally:
            await models.close()

    try:
        return ok("triton", asyncio.run(ask()))
    except RiffleError as error:
        return failure(
            "triton", f"{error}", "Start the server, or correct RIFFLE_TRITON__URL and RIFFLE_TRITON__MODEL."
        )


def _https_endpoint(settings: Settings) -> Endpoint | None:
    parts = urlsplit(settings.triton.url.removeprefix(OPENAI))
    if parts.scheme != "https" or not settings.triton.ca_file:
        return None
    return Endpoint("Embedding server", parts.hostname or "", parts.port or 443, TlsFiles(settings.triton.ca_file))


def needed_models(settings: TritonSettings, ready: Collection[str]) -> tuple[str, ...]:
    """Return the models that a server must have. A server only for queries, as gateways use, needs one."""
    queries_alone = settings.query_model in ready and not {settings.model, CHAIN_MODEL} & set(ready)
    return (settings.query_model,) if queries_alone else (settings.model, CHAIN_MODEL)


def embedding_model(settings: Settings) -> ModelInfo | None:
    """Return the model that embeds statements and queries. None if no server answers, or its files are wrong."""
    try:
        if has_local_description(settings):
            return local_model(settings)
        return None if refused(settings.triton.url) else asyncio.run(_embedding_model(settings))
    except RiffleError:
        return None


async def _embedding_model(settings: Settings) -> ModelInfo:
    models = await open_models(settings)
    try:
        return await models.embedder.info("query")
    finally:
        await models.close()


def judge_models(ready: Collection[str], needed: Sequence[str]) -> Finding:
    """Check that each needed model is ready."""
    wrong = [f"{name}: not ready" for name in needed if name not in ready]
    if wrong:
        return failure(
            "models",
            f"{len(wrong)} of {len(needed)} models are not ready",
            "Put them into the model repository (triton_models/README.md). Why one was not loaded is in Triton's log.",
            *wrong,
        )
    return ok("models", f"{', '.join(needed)} are ready")
