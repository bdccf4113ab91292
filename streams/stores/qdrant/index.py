"""The vector index in Qdrant: a cluster, or the local stack's server. Only the URL differs.

One collection per embedding model, `statements-<model>-<version>`, behind the alias `statements` that searches read:
the next model's collection is filled beside the old one, and then takes over at once.
"""

import math
from collections.abc import AsyncIterator, Iterator, Mapping, Sequence
from contextlib import asynccontextmanager, suppress
from dataclasses import replace
from typing import Any
from uuid import UUID

import httpx
import orjson
from qdrant_client import AsyncQdrantClient, models
from qdrant_client.http.exceptions import ApiException, ResponseHandlingException, UnexpectedResponse

from streams.credentials import TlsFiles, client_context
from streams.errors import DeadlineExceeded, PoisonError, StoreUnavailable, TransientError, UsageError
from streams.models.protocols import ModelInfo
from streams.settings import QdrantSettings
from streams.stores.protocols import Candidates, Filters, Hit, Point, SparseVector, Visible
from streams.stores.qdrant.conditions import TEXT_FIELDS, equals, filters_of
from streams.stores.qdrant.connections import Connections
from streams.stores.qdrant.points import (
    EVERYBODYS_WORDS,
    PRIVATE_WORDS,
    audience_json,
    floats_of,
    hit_of,
    hit_of_json,
    hit_of_record,
    points_json,
    selector_json,
    sparse_json,
    vector_json,
)
from streams.stores.qdrant.signing import SignedRequests
from streams.stores.statement_payload import MADE, id_of
from streams.stores.vector_collection import (
    ALIAS,
    ANY,
    ENTITIES_ALIAS,
    MissingCollection,
    by_ordinal,
    check_dimensions,
    collection_name,
    no_collection,
    sort_hits,
    still_active,
    words_of_audience,
)
from streams.topology import VERSIONS

Json = Mapping[str, Any]

ORDERING = "medium"
"""Order of writes on replicas: the same on all. `strong`, also while leaders change, would let writes fail then."""
PRODUCTION_SHARDS = 64
"""Number of shards of a collection in production, unless the setting names another number."""
_BATCH_POINTS = 256
"""Number of points of one request: about 2 MB of JSON at 384 dimensions, far below Qdrant's limit of 32 MB."""
_SCROLL_POINTS = 256
"""Number of points that one request of a scroll returns."""
_FULL_TEXT = models.TextIndexParams(
    type=models.TextIndexType.TEXT,
    tokenizer=models.TokenizerType.WORD,
    lowercase=True,
    phrase_matching=True,
    on_disk=True,
    enable_hnsw=False,
)
"""The index of phrases. It is on disk, and the graph gets no further edges for frequent words."""
_PAYLOAD_INDEXES: dict[str, models.PayloadFieldSchema] = {
    "page_id": models.PayloadSchemaType.KEYWORD,
    "host": models.PayloadSchemaType.KEYWORD,
    "sites": models.PayloadSchemaType.KEYWORD,
    "audience": models.PayloadSchemaType.KEYWORD,
    "language": models.PayloadSchemaType.KEYWORD,
    "generation": models.PayloadSchemaType.INTEGER,
    "page_type": models.TextIndexParams(
        type=models.TextIndexType.TEXT, tokenizer=models.TokenizerType.WORD, lowercase=True, on_disk=True
    ),
    "day": models.PayloadSchemaType.INTEGER,
    "extension": models.PayloadSchemaType.KEYWORD,
    **dict.fromkeys(("left_out", *(f"{MADE}{stage}" for stage in VERSIONS)), models.PayloadSchemaType.INTEGER),
    **dict.fromkeys(TEXT_FIELDS, _FULL_TEXT),
}


class QdrantIndex:
    """See `VectorIndex`. Opens no connection before the first call."""

    def __init__(self, settings: QdrantSettings, *, production: bool, alias: str = ALIAS) -> None:
        self._settings = settings
        self._alias = alias
        given = "shards" in settings.model_fields_set
        self._shards = settings.shards if given or not production else PRODUCTION_SHARDS
        self._write_consistency = settings.replication // 2 + 1
        # Quantized vectors are compared first; the best of them are then scored again with the full vectors.
        self._approximate: Json = {
            "quantization": {"rescore": True, "oversampling": settings.oversampling},
            **({"hnsw_ef": settings.hnsw_ef} if settings.hnsw_ef else {}),
        }
        self._client = AsyncQdrantClient(
            url=settings.url,
            prefer_grpc=False,
            timeout=math.ceil(settings.timeout_seconds),
            check_compatibility=False,  # it asks the server from a thread of its own, before anybody awaits an answer
            **_connection_options(settings),
        )

    async def ensure(self, model: ModelInfo) -> str:
        """As the Protocol says. Raises UsageError if the collection was made for vectors of another length or kind."""
        name = collection_name(self._alias, model)
        async with self._translate_errors():
            if not await self._client.collection_exists(name):
                await self._create(name, model)
            info = await self._client.get_collection(name)
            check_dimensions(name, _dimensions(info), model)
            self._check_words(name, info)
            await self._set_write_consistency(name, info)
            for field in _PAYLOAD_INDEXES.keys() - info.payload_schema.keys():
                await self._client.create_payload_index(name, field, _PAYLOAD_INDEXES[field], wait=True)
            if await self._active() is None:
                await self._point_alias(name, None)
        return name

    async def activate(self, collection: str) -> None:
        """As the Protocol says. Raises UsageError if there is no such collection."""
        async with self._translate_errors():
            if not await self._client.collection_exists(collection):
                raise no_collection(collection, await self.collections())
            active = await self._active()
            if active != collection:
                await self._point_alias(collection, active)

    async def upsert(self, collection: str, points: Sequence[Point]) -> None:
        """As the Protocol says. Afterwards, the points are stored and found."""
        async with self._translate_errors():
            for first in range(0, len(points), _BATCH_POINTS):
                batch = points_json(points[first : first + _BATCH_POINTS])
                await self._write("PUT", collection, "points", batch)

    async def remove_page(
        self, collection: str, page_id: UUID, *, before_generation: int | None = None, keep: Sequence[UUID] = ()
    ) -> None:
        async with self._translate_errors():
            content = selector_json(page_id, before_generation, keep)
            await self._write("POST", collection, "points/delete", content)

    async def _write(self, method: str, collection: str, path: str, content: bytes) -> None:
        """Send a write, and return when it is searchable. The client's own methods take longer to make the request
        than Qdrant takes to handle it."""
        await self._client.http.client.request(
            type_=models.InlineResponse2008,
            method=method,
            url=f"/collections/{{name}}/{path}",
            path_params={"name": collection},
            params={"wait": "true", "ordering": ORDERING},
            headers={"Content-Type": "application/json"},
            content=content,
        )

    async def candidates(
        self,
        *,
        dense: Sequence[float] | None,
        sparse: SparseVector | None,
        visible: Visible,
        filters: Filters = ANY,
        limit: int = 100,
        collection: str | None = None,
    ) -> Candidates:
        """As the Protocol says, in one round trip. If nothing is indexed, both lists are empty."""
        queries = _queries(dense, sparse, visible, self._approximate)
        requests = [
            {**query, "filter": filter_, "limit": limit} for filter_ in _filters(filters, visible) for query in queries
        ]
        by_meaning, by_words = list[Json](), list[Json]()
        for request, points in zip(requests, await self._query(requests, collection), strict=True):
            (by_meaning if request["using"] == "dense" else by_words).extend(points)
        return Candidates(_merge_points(by_meaning, limit), _merge_points(by_words, limit), limit)

    async def search_pages(
        self,
        pages: Sequence[UUID],
        *,
        dense: Sequence[Sequence[float]],
        sparse: SparseVector | None,
        visible: Visible,
        filters: Filters = ANY,
        limit: int = 10,
        collection: str | None = None,
    ) -> list[tuple[Hit, ...]]:
        asked = [_queries(vector, None, visible, self._approximate) for vector in dense]
        asked += [_queries(None, sparse, visible, self._approximate)] if sparse is not None else []
        of_pages = [list(_filters(replace(filters, page_id=page), visible)) for page in pages]
        requests = [
            [{**query, "filter": filter_, "limit": limit} for filter_ in of_page for query in queries]
            for of_page in of_pages
            for queries in asked
        ]
        return [_merge_points(points, limit) for points in await self._query_groups(requests, collection)]

    async def pages_with_words(
        self,
        words: Sequence[SparseVector],
        *,
        visible: Visible,
        filters: Filters = ANY,
        limit: int = 100,
        collection: str | None = None,
    ) -> list[list[UUID]]:
        conditions = list(_filters(filters, visible))
        requests = [
            [
                {**query, "filter": filter_, "limit": limit, "with_payload": ["page_id"]}
                for filter_ in conditions
                for query in _queries(None, one, visible, self._approximate)
            ]
            for one in words
        ]
        found = [{point["id"]: point for point in each} for each in await self._query_groups(requests, collection)]
        return [[id_of(point["payload"]["page_id"]) for point in each.values()][:limit] for each in found]

    async def _query_groups(self, groups: Sequence[Sequence[Json]], collection: str | None) -> list[list[Json]]:
        """Return the points of all requests of each group, in one round trip."""
        answered = iter(await self._query([each for group in groups for each in group], collection))
        return [[point for _ in group for point in next(answered)] for group in groups]

    async def _query(self, requests: Sequence[Json], collection: str | None) -> list[Sequence[Json]]:
        """Return the points of each request, in one round trip. If nothing is indexed, there are none."""
        if not requests:
            return []
        try:
            async with self._translate_errors():
                # The client's own models copy and check each request, and each value of each point.
                answer = await self._client.http.client.request(
                    type_=dict[str, Any],
                    method="POST",
                    url="/collections/{name}/points/query/batch",
                    path_params={"name": collection or self._alias},
                    headers={"Content-Type": "application/json"},
                    content=orjson.dumps({"searches": requests}),
                )
        except MissingCollection:
            if collection:  # it was dropped
                return await self._query(requests, None)
            return [()] * len(requests)
        return [found["points"] for found in answer["result"]]

    async def set_audience(self, collection: str, host: str, audience: str) -> None:
        async with self._translate_errors():
            for path, content in audience_json(host, audience):
                await self._write("POST", collection, path, content)

    async def dense_vectors(self, ids: Sequence[UUID], collection: str | None = None) -> list[Sequence[float]]:
        if not ids:
            return []
        try:
            async with self._translate_errors():
                records = await self._client.retrieve(
                    collection or self._alias, [str(id) for id in ids], with_payload=False, with_vectors=["dense"]
                )
        except MissingCollection:
            return []
        vectors = {str(record.id): record.vector for record in records}
        found = (vectors.get(str(id)) for id in ids)
        return [vector["dense"] for vector in found if isinstance(vector, dict)]  # type: ignore[misc]  # one dense vector

    async def text_and_vector(self, collection: str, id: UUID) -> tuple[str, Sequence[float]] | None:
        with suppress(MissingCollection):
            async with self._translate_errors():
                for record in await self._client.retrieve(
                    collection, [str(id)], with_payload=["text"], with_vectors=["dense"]
                ):
                    if record.payload and isinstance(record.vector, dict):
                        return record.payload["text"], record.vector["dense"]  # type: ignore[return-value]  # as above
        return None

    async def nearest(self, collection: str, dense: Sequence[float], limit: int, *, exact: bool = False) -> list[Hit]:
        params = models.SearchParams(exact=True) if exact else models.SearchParams.model_validate(self._approximate)
        async with self._translate_errors():
            answer = await self._client.query_points(
                collection, query=floats_of(dense), using="dense", limit=limit, search_params=params, with_payload=True
            )
        return [hit_of(point) for point in answer.points]

    async def active(self) -> str | None:
        async with self._translate_errors():
            return await self._active()

    async def scroll(self, collection: str, page_id: UUID) -> list[Hit]:
        condition = models.Filter(must=[equals("page_id", str(page_id))])
        hits: list[Hit] = []
        offset: Any = None
        async with self._translate_errors():
            while True:
                records, offset = await self._client.scroll(
                    collection, condition, limit=_SCROLL_POINTS, offset=offset, with_payload=True
                )
                hits += map(hit_of_record, records)
                if offset is None:
                    break
        return sorted(hits, key=by_ordinal)

    async def pages_with(
        self, collection: str, fact: str, *, below: int | None = None, limit: int = 0
    ) -> tuple[int, list[Hit]]:
        having = models.FieldCondition(key=fact, range=models.Range(gte=1 if below is None else 0, lt=below))
        condition, records = models.Filter(must=[having]), list[models.Record]()
        async with self._translate_errors():
            count = (await self._client.count(collection, condition, exact=True)).count
            if count and limit:
                records, _ = await self._client.scroll(collection, condition, limit=limit, with_payload=True)
        return count, [hit_of_record(record) for record in records]

    async def first_statements(self, page_ids: Sequence[UUID], count: int) -> list[Hit]:
        if not page_ids:
            return []
        condition = models.Filter(
            must=[
                models.FieldCondition(key="page_id", match=models.MatchAny(any=[str(page) for page in page_ids])),
                models.FieldCondition(key="ordinal", range=models.Range(lt=count)),
            ]
        )
        try:
            async with self._translate_errors():
                records, _ = await self._client.scroll(
                    self._alias, condition, limit=len(page_ids) * count, with_payload=True
                )
        except MissingCollection:
            return []
        return sorted(map(hit_of_record, records), key=by_ordinal)

    async def count(self, collection: str, page_id: UUID | None = None, generation: int | None = None) -> int:
        must: list[models.Condition] = [] if page_id is None else [equals("page_id", str(page_id))]
        if generation is not None:
            must.append(models.FieldCondition(key="generation", match=models.MatchValue(value=generation)))
        async with self._translate_errors():
            return (await self._client.count(collection, models.Filter(must=must) if must else None, exact=True)).count

    async def collections(self) -> list[str]:
        async with self._translate_errors():
            described = (await self._client.get_collections()).collections
        return sorted(one.name for one in described if one.name.startswith(f"{self._alias}-"))

    async def drop(self, collection: str) -> None:
        """As the Protocol says. A second call changes nothing."""
        async with self._translate_errors():
            if await self._active() == collection:
                raise still_active(collection)
            await self._client.delete_collection(collection)

    async def close(self) -> None:
        await self._client.close()

    async def _create(self, name: str, model: ModelInfo) -> None:
        try:
            await self._client.create_collection(
                name,
                vectors_config={
                    "dense": models.VectorParams(size=model.dimensions, distance=_distance(model), on_disk=False)
                },
                sparse_vectors_config={
                    words: models.SparseVectorParams(modifier=models.Modifier.IDF)
                    for words in (EVERYBODYS_WORDS, PRIVATE_WORDS)
                },
                quantization_config=_quantization(self._settings.quantization),
                shard_number=self._shards,
                replication_factor=self._settings.replication,
                write_consistency_factor=self._write_consistency,
            )
        except UnexpectedResponse as error:
            if error.status_code != httpx.codes.CONFLICT:  # another worker was faster
                raise

    async def _set_write_consistency(self, name: str, info: models.CollectionInfo) -> None:
        """Change a collection that was made with another setting."""
        if (info.config.params.write_consistency_factor or 1) != self._write_consistency:
            params = models.CollectionParamsDiff(write_consistency_factor=self._write_consistency)
            await self._client.update_collection(name, collection_params=params)

    def _check_words(self, name: str, info: models.CollectionInfo) -> None:
        """Raise UsageError for a collection of a former Riffle: Qdrant adds no kind of vector to a collection."""
        if not {EVERYBODYS_WORDS, PRIVATE_WORDS} <= (info.config.params.sparse_vectors or {}).keys():
            entities = " --entities" if self._alias == ENTITIES_ALIAS else ""
            raise UsageError(
                f"Collection {name} was made by a former Riffle, and has no place for the words of private sites. "
                f"Remove it (curl -X DELETE {self._settings.url}/collections/{name}), "
                f"and make it again from Cassandra: riffle reindex{entities}"
            )

    async def _active(self) -> str | None:
        aliases = (await self._client.get_aliases()).aliases
        return next((one.collection_name for one in aliases if one.alias_name == self._alias), None)

    async def _point_alias(self, collection: str, former: str | None) -> None:
        create = models.CreateAliasOperation(
            create_alias=models.CreateAlias(collection_name=collection, alias_name=self._alias)
        )
        delete = models.DeleteAliasOperation(delete_alias=models.DeleteAlias(alias_name=self._alias))
        await self._client.update_collection_aliases([create] if former is None else [delete, create])

    @asynccontextmanager
    async def _translate_errors(self) -> AsyncIterator[None]:
        """Raise Riffle's errors in place of the client's errors."""
        try:
            yield
        except UnexpectedResponse as error:
            raise self._translate_refusal(error) from error
        except ResponseHandlingException as error:
            raise self._translate_failure(error.source) from error
        except ApiException as error:
            raise StoreUnavailable(f"Qdrant at {self._settings.url}: {error}") from error

    def _translate_refusal(self, error: UnexpectedResponse) -> Exception:
        """Return the error for a refused request, by its status code."""
        answer = f"Qdrant at {self._settings.url} answered {error.status_code}: {_reason(error)}"
        if error.status_code in (httpx.codes.UNAUTHORIZED, httpx.codes.FORBIDDEN):
            return StoreUnavailable(f"{answer}. Check RIFFLE_QDRANT__API_KEY_FILE")
        if error.status_code in (httpx.codes.BAD_REQUEST, httpx.codes.UNPROCESSABLE_ENTITY):
            return PoisonError(answer)
        if error.status_code == httpx.codes.NOT_FOUND:
            return MissingCollection(answer)
        return StoreUnavailable(answer)

    def _translate_failure(self, source: Exception) -> TransientError:
        where = f"Qdrant at {self._settings.url}"
        if isinstance(source, httpx.TimeoutException) and not isinstance(source, httpx.ConnectTimeout):
            return DeadlineExceeded(f"{where} took over {math.ceil(self._settings.timeout_seconds)} s")
        if isinstance(source, httpx.TransportError):
            return StoreUnavailable(
                f"{where} can't be reached ({source or type(source).__name__}). "
                "Run `riffle up`, or set RIFFLE_QDRANT__URL to a server that runs"
            )
        return StoreUnavailable(f"{where} gave an answer that can't be read: {source}")


def _connection_options(settings: QdrantSettings) -> dict[str, Any]:
    """Return the client's options for its connections. Raises UsageError for TLS files that can't be used."""
    if not settings.url.startswith("https:"):
        return {"transport": SignedRequests(settings, Connections())}
    encrypted = Connections(client_context(TlsFiles.of(settings)))
    return {"https": True, "transport": SignedRequests(settings, encrypted)}


def _dimensions(info: models.CollectionInfo) -> int | None:
    vectors = info.config.params.vectors
    dense = vectors.get("dense") if isinstance(vectors, dict) else None
    return dense.size if dense else None


def _quantization(kind: str) -> Any:
    """Return the configuration of compressed vectors, which are kept in memory. None: only full vectors."""
    if kind == "int8":
        scalar = models.ScalarQuantizationConfig(type=models.ScalarType.INT8, quantile=0.99, always_ram=True)
        return models.ScalarQuantization(scalar=scalar)
    if kind == "binary":
        return models.BinaryQuantization(binary=models.BinaryQuantizationConfig(always_ram=True))
    return None


def _distance(model: ModelInfo) -> models.Distance:
    """Return cosine for normalized vectors, and the dot product for vectors that differ in length."""
    return models.Distance.COSINE if model.normalized else models.Distance.DOT


def _filters(filters: Filters, visible: Visible) -> Iterator[Json | None]:
    """Yield the conditions of a search as JSON."""
    for one in filters_of(filters, visible):
        yield None if one is None else one.model_dump(mode="json", exclude_none=True)


def _queries(
    dense: Sequence[float] | None, sparse: SparseVector | None, visible: Visible, dense_params: Json
) -> list[Json]:
    """Return the queries for these vectors as JSON: a vector that is asked for again and again is written once."""
    queries: list[Json] = []
    if dense is not None:
        queries.append({"query": vector_json(dense), "using": "dense", "params": dense_params})
    if sparse is not None and sparse.indices:
        queries.append({"query": sparse_json(sparse), "using": EVERYBODYS_WORDS})
        for audience in visible.audiences:
            # Without this, Qdrant counts the statements of all private audiences; before 1.19, it does so all the same.
            corpus = {"must": [{"key": "audience", "match": {"value": audience}}]}
            words = sparse_json(words_of_audience(sparse, audience))
            queries.append({"query": words, "using": PRIVATE_WORDS, "params": {"idf": {"corpus": corpus}}})
    return [{**query, "with_payload": True} for query in queries]


def _merge_points(points: Sequence[Json], limit: int) -> tuple[Hit, ...]:
    """Return the best of these points, each once."""
    return tuple(sort_hits({point["id"]: hit_of_json(point) for point in points}.values())[:limit])


def _reason(error: UnexpectedResponse) -> str:
    return error.content.decode(errors="replace")[:500]
