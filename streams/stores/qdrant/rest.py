"""Qdrant's REST API for whole collections: what backups and checks need beyond the search index.

The API is the same in a cluster and in the local stack's server.
"""

from collections.abc import Iterator, Mapping, Sequence
from types import TracebackType
from typing import Any, Self
from urllib.parse import quote

import httpx2

from streams.client.plain_http import plain_client
from streams.credentials import TlsFiles, client_context
from streams.errors import StoreUnavailable
from streams.settings import QdrantSettings

SCROLL_POINTS = 500
"""Number of points that one request of a scroll returns: some megabytes of JSON with their vectors."""
_COPIED_PARAMS = (
    "vectors",
    "sparse_vectors",
    "shard_number",
    "replication_factor",
    "write_consistency_factor",
    "on_disk_payload",
)
Json = dict[str, Any]


class QdrantRest:
    """A blocking client, as a context manager. Its methods raise StoreUnavailable and httpx2.HTTPStatusError."""

    def __init__(self, settings: QdrantSettings, timeout_seconds: float) -> None:
        self._url = settings.url
        key = settings.current_api_key()
        self._client = plain_client(
            base_url=settings.url,
            headers={"api-key": key} if key else {},
            verify=client_context(TlsFiles.of(settings)) if settings.url.startswith("https:") else False,
            timeout=timeout_seconds,
            trust_env=False,
        )

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._client.close()

    def version(self) -> str:
        return str(self._ask("GET", "/").get("version", ""))

    def aliases(self) -> dict[str, str]:
        """Return the collection of each alias."""
        listed = self._result("GET", "/aliases")["aliases"]
        return {one["alias_name"]: one["collection_name"] for one in listed}

    def collections(self) -> list[str]:
        return sorted(one["name"] for one in self._result("GET", "/collections")["collections"])

    def info(self, collection: str) -> Json:
        info: Json = self._result("GET", _path(collection))
        return info

    def points(self, collection: str) -> Iterator[list[Json]]:
        """Yield all points with vectors and payload, in the order of their ids, some at a time."""
        offset: Any = None
        while True:
            wanted = {"limit": SCROLL_POINTS, "with_payload": True, "with_vector": True, "offset": offset}
            answer = self._result("POST", f"{_path(collection)}/points/scroll", wanted)
            yield [{name: point.get(name) for name in ("id", "vector", "payload")} for point in answer["points"]]
            offset = answer["next_page_offset"]
            if offset is None:
                return

    def create(self, collection: str, description: Mapping[str, Any]) -> None:
        """Make a collection as `description_of` describes it, with its payload indexes."""
        body = dict(description)
        indexes = body.pop("payload_indexes", {})
        self._result("PUT", _path(collection), body)
        for field, kind in indexes.items():
            wanted = {"field_name": field, "field_schema": kind}
            self._result("PUT", f"{_path(collection)}/index?wait=true", wanted)

    def upsert(self, collection: str, points: Sequence[Json]) -> None:
        if points:
            self._result("PUT", f"{_path(collection)}/points?wait=true", {"points": list(points)})

    def point_alias(self, alias: str, collection: str) -> None:
        action = {"create_alias": {"alias_name": alias, "collection_name": collection}}
        self._result("POST", "/collections/aliases", {"actions": [action]})

    def drop(self, collection: str) -> None:
        self._result("DELETE", _path(collection))

    def _result(self, method: str, path: str, body: Mapping[str, Any] | None = None) -> Any:
        return self._ask(method, path, body)["result"]

    def _ask(self, method: str, path: str, body: Mapping[str, Any] | None = None) -> Json:
        try:
            answer = self._client.request(method, path, json=body)
        except httpx2.HTTPError as error:
            reason = str(error) or type(error).__name__
            raise StoreUnavailable(f"Qdrant at {self._url} doesn't answer ({reason})") from error
        answer.raise_for_status()
        content: Json = answer.json()
        return content


def description_of(info: Json) -> Json:
    """Return the request that makes a collection like the one that `info` describes."""
    params, quantization = info["config"]["params"], info["config"].get("quantization_config")
    body = {name: params[name] for name in _COPIED_PARAMS if params.get(name) is not None}
    if quantization:
        body["quantization_config"] = quantization
    body["payload_indexes"] = {name: field["data_type"] for name, field in info.get("payload_schema", {}).items()}
    return body


def _path(collection: str) -> str:
    return f"/collections/{quote(collection, safe='')}"
