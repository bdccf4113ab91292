"""Qdrant: the server, and the collection behind the alias that searches read."""

from collections.abc import Iterator, Mapping
from typing import Any
from urllib.parse import urlsplit

import httpx2

from streams.credentials import TlsFiles
from streams.doctor.findings import Finding, failure, ok, warning
from streams.doctor.searchable_pages import OtherModel, check_pages
from streams.doctor.servers import Endpoint, judge_version
from streams.doctor.triton import embedding_model
from streams.errors import StoreUnavailable
from streams.models.protocols import ModelInfo
from streams.settings import QdrantSettings, Settings
from streams.stores.qdrant.rest import QdrantRest
from streams.stores.vector_collection import ALIAS, collection_name

REQUEST_SECONDS = 8.0
QUICK_SECONDS = 2.0
INDEXED_FIELDS = frozenset({"page_id", "host", "language", "generation", "text", "title", "context"})
"""Payload fields that filters use."""


def check_qdrant(settings: Settings) -> Iterator[Finding]:
    """Check that the server answers and searches have a collection to read."""
    try:
        with QdrantRest(settings.qdrant, REQUEST_SECONDS) as qdrant:
            yield judge_version("qdrant", settings.qdrant.url, qdrant.version())
            target, collections = qdrant.aliases().get(ALIAS), qdrant.collections()
            info = qdrant.info(target) if target in collections else None
    except httpx2.HTTPStatusError as error:
        yield _refused(settings.qdrant, error.response.status_code)
    except (StoreUnavailable, ValueError, KeyError) as error:
        yield failure(
            "qdrant",
            str(error),
            "Start it (`riffle up`), or set RIFFLE_QDRANT__URL to a server that runs. With TLS: check `certificates`.",
        )
    else:
        yield from judge_collection(target, info, collections, settings.qdrant)
        if model := embedding_model(settings):
            yield from judge_model(target, info, model)
        if target in collections:
            yield from check_pages(settings)


def check_answer(settings: Settings) -> Iterator[Finding]:
    """Check that the server answers, and accepts the key."""
    own, advice = settings.qdrant, "riffle doctor --only qdrant"
    try:
        with QdrantRest(own, QUICK_SECONDS) as qdrant:
            qdrant.aliases()
    except httpx2.HTTPStatusError as error:
        yield failure("qdrant", f"Qdrant at {own.url} answered with status {error.response.status_code}", advice)
    except StoreUnavailable as error:
        yield failure("qdrant", str(error), advice)
    except (ValueError, KeyError, TypeError):
        yield failure("qdrant", f"{own.url} is no Qdrant", advice)


def endpoint(settings: Settings) -> Endpoint | None:
    """Return the server, if its address is https."""
    address = urlsplit(settings.qdrant.url)
    if address.scheme != "https":
        return None
    return Endpoint("Qdrant", address.hostname or "", address.port or 443, TlsFiles.of(settings.qdrant))


def _refused(settings: QdrantSettings, status: int) -> Finding:
    advice = (
        "Put a key of this server into RIFFLE_QDRANT__API_KEY_FILE."
        if status in (401, 403)
        else "Look at the server's log."
    )
    return failure("qdrant", f"{settings.url} answered with status {status}", advice)


def judge_collection(
    target: str | None, info: Mapping[str, Any] | None, collections: list[str], settings: QdrantSettings
) -> Iterator[Finding]:
    """Check that the alias leads to a collection with the wanted shards, replicas and payload indexes."""
    if target is None:
        others = [name for name in collections if name.startswith(f"{ALIAS}-")]
        yield failure(
            "collection",
            f"No alias `{ALIAS}`: searches find nothing",
            "Make collection and alias: riffle migrate",
            *(f"there is the collection {name}" for name in others),
        )
        return
    if info is None:
        yield failure(
            "collection",
            f"The alias `{ALIAS}` leads to {target}, which does not exist",
            "Make it: riffle migrate. Its points are made again from Cassandra.",
        )
        return
    if info.get("status") == "red":
        yield failure("collection", f"{target} is red: an optimization failed", "Look at Qdrant's log.")
    params = info["config"]["params"]
    different = [
        f"{name}: {params.get(field)} instead of {wanted}"
        for name, field, wanted in (
            ("replicas", "replication_factor", settings.replication),
            ("shards", "shard_number", settings.shards),
        )
        if (params.get(field) or 1) < wanted
    ]
    if different:
        yield warning(
            "collection",
            f"{target} has other settings than RIFFLE_QDRANT__*",
            "Replicas can be added by Qdrant's API; another number of shards needs a new collection.",
            *different,
        )
    missing = sorted(INDEXED_FIELDS - info.get("payload_schema", {}).keys())
    if missing:
        yield warning(
            "collection",
            f"{target} lacks the payload indexes {', '.join(missing)}: filters are slow",
            "Make them: riffle migrate",
        )
    if not different and not missing:
        yield ok("collection", f"`{ALIAS}` is {target}, {info.get('points_count') or 0:,} statements")


def judge_model(target: str | None, info: Mapping[str, Any] | None, model: ModelInfo) -> Iterator[Finding]:
    """Check that searches read a collection with vectors of the model that embeds the queries."""
    wanted = collection_name(ALIAS, model)
    if target is not None and target != wanted:
        other = OtherModel(target, model)
        yield failure("collection", other.says, other.advice)
    vectors = ((info or {}).get("config", {}).get("params", {}).get("vectors") or {}).get("dense", {})
    size = vectors.get("size")
    if target == wanted and size is not None and size != model.dimensions:
        yield failure(
            "collection",
            f"{target} holds vectors of {size} dimensions, {model.name} makes {model.dimensions}",
            "Give the changed model a new version, so that it gets a collection of its own.",
        )
