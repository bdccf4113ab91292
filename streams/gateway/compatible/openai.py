"""`/v1/embeddings` and `/v1/models`: OpenAI's form of an embedding model, for the model of the index.

OpenAI's form has no role of a text, and some models read queries and passages in different forms. So there are two
names, `NAME` for passages and `NAME-query` for queries, and `input_type` (`query` or `passage`) comes before the name.
"""

import base64
from collections.abc import Sequence
from math import ceil
from typing import Annotated, Any, Literal

from fastapi import APIRouter, Depends, Request
from pydantic import BaseModel, Field

from streams.errors import RiffleError
from streams.gateway.access.bucket import EMBEDDED_TEXTS
from streams.gateway.access.guard import Charge, Guard
from streams.gateway.context import GatewayContext
from streams.gateway.http.problems import Problem, ProblemError, invalid_parameter
from streams.gateway.http.requests import compatible_router, read_json
from streams.models.protocols import ModelInfo, TextRole, Vectors
from streams.stores.searched_model import SearchedModel

MAX_TEXTS = 256
MAX_TEXT_CHARS = 20_000
MAX_BODY_BYTES = 2_000_000
EMBED_SECONDS = 30.0
QUERY_SUFFIX = "-query"


class EmbeddingRequest(BaseModel):
    """The parameters of a request for embeddings."""

    input: str | list[str] | list[int] | list[list[int]]
    model: str
    encoding_format: Literal["float", "base64"] = "float"
    dimensions: int | None = Field(None, ge=1)
    input_type: TextRole | None = None


def openai_routes(context: GatewayContext, guard: Guard) -> APIRouter:
    router, embedder = compatible_router("/v1"), context.stores.embedder

    @router.get("/models")
    async def models(_: Annotated[Charge, Depends(guard.needs("search"))]) -> dict[str, Any]:
        info = await _info(context, embedder)
        names = (info.name, info.name + QUERY_SUFFIX)
        return {
            "object": "list",
            "data": [{"id": name, "object": "model", "created": 0, "owned_by": "riffle"} for name in names],
        }

    @router.post("/embeddings")
    async def embeddings(request: Request, charge: Annotated[Charge, Depends(guard.needs("search"))]) -> dict[str, Any]:
        sent = await read_json(request, EmbeddingRequest, MAX_BODY_BYTES)
        texts = _texts_of(sent)
        info = await _info(context, embedder)
        role = _role_of(sent, info)
        if sent.dimensions not in (None, info.dimensions):
            detail = f"The model has {info.dimensions} dimensions, and not {sent.dimensions}."
            raise ProblemError(invalid_parameter("dimensions", detail, "Leave `dimensions` out."))
        charge.spend(ceil(len(texts) / EMBEDDED_TEXTS))
        vectors = await _embed(context, embedder, texts, _nearest_role(role, info))
        words = sum(len(text.split()) for text in texts)
        return {
            "object": "list",
            "model": sent.model,
            "data": [
                {"object": "embedding", "index": number, "embedding": vector}
                for number, vector in enumerate(_encoded(vectors, sent.encoding_format))
            ],
            # The model's server does not say how many tokens it read: these are words.
            "usage": {"prompt_tokens": words, "total_tokens": words},
        }

    return router


def _texts_of(sent: EmbeddingRequest) -> list[str]:
    given = [sent.input] if isinstance(sent.input, str) else sent.input
    texts = [each for each in given if isinstance(each, str)]
    if len(texts) < len(given):
        hint = "Send texts. LangChain does with `check_embedding_ctx_length=False`."
        raise ProblemError(invalid_parameter("input", "input has numbers of tokens, of another model's.", hint))
    if not texts or len(texts) > MAX_TEXTS:
        raise ProblemError(invalid_parameter("input", f"input has {len(texts)} texts; 1 to {MAX_TEXTS} are embedded."))
    if not all(text.strip() for text in texts):
        raise ProblemError(invalid_parameter("input", "input has an empty text."))
    if longest := max((len(text) for text in texts if len(text) > MAX_TEXT_CHARS), default=0):
        detail = f"input has a text of {longest:,} characters; at most {MAX_TEXT_CHARS:,} are read."
        raise ProblemError(invalid_parameter("input", detail, "Divide it."))
    return texts


def _role_of(sent: EmbeddingRequest, info: ModelInfo) -> TextRole:
    """Return the role of the texts. Raises ProblemError for a model that is not the index's."""
    if sent.model not in (info.name, info.name + QUERY_SUFFIX):
        detail = f"There is no model {sent.model[:100]}."
        hint = f"It is {info.name}, or {info.name}{QUERY_SUFFIX} for queries."
        raise ProblemError(Problem("no-model", detail, hint, "model", title="The model is not known"))
    return sent.input_type or ("query" if sent.model.endswith(QUERY_SUFFIX) else "passage")


def _nearest_role(role: TextRole, info: ModelInfo) -> TextRole:
    """Return the role by which the texts are embedded: as queries, at once, where the model reads both in one form."""
    return "query" if info.prefix("query") == info.prefix("passage") else role


async def _info(context: GatewayContext, embedder: SearchedModel) -> ModelInfo:
    try:
        await embedder.look()
        return await embedder.info("query")
    except RiffleError as error:
        raise ProblemError(_unavailable(context, error)) from error


async def _embed(context: GatewayContext, embedder: SearchedModel, texts: Sequence[str], role: TextRole) -> Vectors:
    try:
        return await embedder.embed(texts, role, deadline_seconds=EMBED_SECONDS)
    except RiffleError as error:
        raise ProblemError(_unavailable(context, error)) from error


def _unavailable(context: GatewayContext, error: RiffleError) -> Problem:
    context.metrics.count_failure("models", error)
    detail = "The embedding model does not answer."
    return Problem("search-unavailable", detail, "Try again in a few seconds.", headers={"Retry-After": "5"})


def _encoded(vectors: Vectors, encoding: str) -> list[Any]:
    """Return each vector as numbers, or as the base64 of little-endian floats of 32 bits."""
    if encoding == "base64":
        return [base64.b64encode(vector.astype("<f4").tobytes()).decode() for vector in vectors]
    return list(vectors.tolist())
