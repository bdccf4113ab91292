"""Models that are graphs in a server: the client tokenizes, and an answer about other tokens is not believed.

The server speaks Triton's gRPC protocol and runs the graphs in ONNX Runtime, as Triton's backend for ONNX does. Its
answers are compared with those of the same files in this process.
"""

import asyncio
import shutil
from collections.abc import AsyncIterator, Callable, Iterator, Sequence
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import grpc
import numpy as np
import onnxruntime
import pytest
from google.protobuf import json_format  # type: ignore[import-untyped]  # ships no types
from numpy.typing import NDArray
from tritonclient.grpc import service_pb2, service_pb2_grpc
from tritonclient.utils import deserialize_bytes_tensor

from streams.errors import StoreUnavailable, UsageError, is_outage
from streams.models import triton, triton_connection
from streams.models.inference.chain_encoder import ChainEncoder
from streams.models.inference.encoder import SentenceEncoder
from streams.models.inference.link_columns import NAMES
from streams.models.inference.packed.graph import FIRST
from streams.models.inference.repository import CHAIN_MODEL, find_file, parameters_of, read_config
from streams.models.inference.runtimes import session_options
from streams.models.inference.seals import SEAL, read_checksums, seal_rows, seal_whole
from streams.models.inference.tokenizing import pack_tokenizer
from streams.models.protocols import ForeignAnswer
from streams.models.triton import TritonChains, TritonEmbedder, TritonReranker
from streams.models.triton_connection import TritonConnection, model_states
from streams.settings import Settings, TritonSettings
from tests.sizes import FULL
from tests.tiny_cross_encoder import exported, write_model
from triton_models.read_output import add_read_output, add_read_output_of_rows

REPOSITORY = Settings().models_path
LOCAL, PRODUCTION = REPOSITORY / "local", REPOSITORY / "production"
TEXTS = [
    f"{'the log of a database is written first ' * (n % 5)}and page {n} comes behind it."
    for n in range(40 if FULL else 10)
]
TEXTS += ["", "word " * 3_000, "Größe \ud800 \x00", "Title\n" + "heading " * 400 + "\nThe statement is read."]
PAGE = [
    "The log is written first.",
    "It keeps readers.",
    "",
    "A writer waits.",
    "This blocks them.",
    "Therefore it ends.",
] * 40
PATIENCE_SECONDS = 120.0
"""Deadline of an answer by the clock of gRPC, which goes on while the machine stands still (seconds)."""
Feeds = dict[str, np.ndarray[Any, Any]]
Run = Callable[[Feeds], Feeds]
TYPES = {"INT64": np.int64, "FP32": np.float32}


def config_of(name: str, tokenizer: bytes, **changed: str) -> dict[str, Any]:
    """The configuration of production, as the export leaves it for the local files."""
    config = read_config(PRODUCTION / name)
    for key, value in {**pack_tokenizer(tokenizer), **changed}.items():
        config["parameters"][key] = {"string_value": value}
    return config


def chain_graph() -> Run:
    parameters = parameters_of(read_config(LOCAL / CHAIN_MODEL))
    model = find_file(parameters, "model", LOCAL / CHAIN_MODEL / "1").read_bytes()
    session = onnxruntime.InferenceSession(add_read_output(model), session_options(1))
    names = [output.name for output in session.get_outputs()]
    return lambda feeds: dict(zip(names, session.run(names, feeds), strict=True))


def batched(run: Run) -> Run:
    """A graph that takes windows in batches, made of the graph that takes one: padding reaches it in no window."""

    def rows(feeds: Feeds) -> Feeds:
        ids, membership = feeds["input_ids"], feeds["membership"]
        count, sentences, _ = membership.shape
        made = {name: np.zeros((count, sentences), np.float32) for name in ("need", "leaf")}
        made["scores"] = np.zeros((count, sentences, sentences), np.float32)
        for row, (own_ids, own) in enumerate(zip(ids, membership, strict=True)):
            tokens, kept = int(own.any(0).nonzero()[0].max()) + 1, int(own.any(1).sum())
            found = run({"input_ids": own_ids[:tokens], "membership": own[:kept, :tokens]})
            for name in ("need", "leaf"):
                made[name][row, :kept] = found[name]
            made["scores"][row, :kept, :kept] = found["scores"]
        return made | {"read": read_checksums(ids, np.ones_like(ids))}

    return rows


def rerank_graph(repository: Path) -> Run:
    session = onnxruntime.InferenceSession(str(repository / "rerank" / "1" / "model.onnx"))
    return lambda feeds: dict(zip(("logits", "read"), session.run(["logits", "read"], feeds), strict=True))


def embedding_graph(parameters: dict[str, str]) -> Run:
    """The network of the local model with pooling behind it, as the export puts both into one graph."""
    session = onnxruntime.InferenceSession(
        str(find_file(parameters, "model", LOCAL / "sbert" / "1")), session_options(1)
    )

    def run(feeds: Feeds) -> Feeds:
        ids, mask = feeds["input_ids"], feeds["attention_mask"]
        (hidden,) = session.run(None, {**feeds, "token_type_ids": np.zeros_like(ids)})
        pooled = np.einsum("nld,nl->nd", hidden, mask.astype(np.float32)) / mask.sum(1, keepdims=True)
        scaled = pooled / np.linalg.norm(pooled, axis=1, keepdims=True)
        return {"embedding": scaled.astype(np.float32), "read": read_checksums(ids, mask)}

    return run


def read_tensor(datatype: str, raw: bytes) -> NDArray[Any]:
    if datatype == "BYTES":
        texts: NDArray[Any] = deserialize_bytes_tensor(raw)
        return texts
    return np.frombuffer(raw, TYPES[datatype])


class Server(service_pb2_grpc.GRPCInferenceServiceServicer):  # type: ignore[misc]  # generated without types
    """A Triton with graphs. `spoil` changes the outputs of a request before they are sent."""

    def __init__(self, configs: dict[str, dict[str, Any]], graphs: dict[str, Run]) -> None:
        self.configs, self.graphs = configs, graphs
        self.spoil: Callable[[Feeds], Feeds] = lambda outputs: outputs
        self.infers = 0

    async def ModelConfig(self, request: Any, context: Any) -> Any:
        answer = service_pb2.ModelConfigResponse()
        json_format.ParseDict(self.configs[request.name], answer.config)
        return answer

    async def ModelMetadata(self, request: Any, context: Any) -> Any:
        answer = service_pb2.ModelMetadataResponse(name=request.name)
        config = self.configs[request.name]
        rows = [-1] if int(config["max_batch_size"]) else []
        for tensors, described in ((config["input"], answer.inputs), (config.get("output", []), answer.outputs)):
            for tensor in tensors:
                shape = [*rows, *map(int, tensor["dims"])]
                datatype = tensor["data_type"].removeprefix("TYPE_").replace("STRING", "BYTES")
                described.add(name=tensor["name"], datatype=datatype, shape=shape)
        return answer

    async def ModelInfer(self, request: Any, context: Any) -> Any:
        self.infers += 1
        known = {tensor["name"] for tensor in self.configs[request.model_name]["input"]}
        for tensor in request.inputs:
            if tensor.name not in known:
                text = f"[request id: <id_unknown>] unexpected inference input '{tensor.name}', allowed inputs are: x"
                await context.abort(grpc.StatusCode.INVALID_ARGUMENT, text)
        feeds = {
            tensor.name: read_tensor(tensor.datatype, raw).reshape(list(tensor.shape))
            for tensor, raw in zip(request.inputs, request.raw_input_contents, strict=True)
        }
        outputs = self.spoil(await asyncio.to_thread(self.graphs[request.model_name], feeds))
        answer = service_pb2.ModelInferResponse(model_name=request.model_name)
        for wanted in request.outputs or [
            service_pb2.ModelInferRequest.InferRequestedOutputTensor(name=n) for n in outputs
        ]:
            value = np.ascontiguousarray(outputs[wanted.name])
            datatype = "INT64" if value.dtype == np.int64 else "FP32"
            answer.outputs.add(name=wanted.name, datatype=datatype, shape=value.shape)
            answer.raw_output_contents.append(value.tobytes())
        return answer


@asynccontextmanager
async def serving(server: Server) -> AsyncIterator[TritonSettings]:
    running = grpc.aio.server(options=[("grpc.max_receive_message_length", -1), ("grpc.max_send_message_length", -1)])
    service_pb2_grpc.add_GRPCInferenceServiceServicer_to_server(server, running)
    port = running.add_insecure_port("127.0.0.1:0")
    await running.start()
    try:
        yield TritonSettings(url=f"127.0.0.1:{port}", model="sbert", timeout_seconds=60, query_model="")
    finally:
        await running.stop(None)


@pytest.fixture(scope="module")
def parameters() -> dict[str, str]:
    """The parameters of the local model, in ONNX Runtime."""
    found = {**parameters_of(read_config(LOCAL / "sbert")), "runtime": "onnxruntime"}
    try:
        find_file(found, "model", LOCAL / "sbert" / "1")
    except UsageError as missing:
        pytest.skip(str(missing))
    return found


@pytest.fixture(scope="module")
def server(parameters: dict[str, str]) -> Server:
    tokenizer = find_file(parameters, "tokenizer", LOCAL / "sbert" / "1").read_bytes()
    sizes = {name: parameters[name] for name in ("dimensions", "max_tokens", "normalized")}
    chain_tokenizer = (LOCAL / CHAIN_MODEL / "1" / "tokenizer.json").read_bytes()
    return Server(
        {"sbert": config_of("sbert", tokenizer, **sizes), CHAIN_MODEL: config_of(CHAIN_MODEL, chain_tokenizer)},
        {"sbert": embedding_graph(parameters), CHAIN_MODEL: chain_graph()},
    )


@pytest.fixture(scope="module")
def cross_encoder(server: Server, tmp_path_factory: pytest.TempPathFactory) -> None:
    """The tiny cross-encoder as a graph, at the server."""
    repository = exported(tmp_path_factory.mktemp("rerank"), graph=True)
    server.configs["rerank"] = read_config(repository / "rerank")
    server.graphs["rerank"] = rerank_graph(repository)


@pytest.fixture
async def settings(server: Server, monkeypatch: pytest.MonkeyPatch) -> AsyncIterator[TritonSettings]:
    monkeypatch.setattr(triton_connection, "BACKOFF_SECONDS", 0.001)
    server.spoil = lambda outputs: outputs
    async with serving(server) as found:
        yield found


@pytest.fixture
async def connection(settings: TritonSettings) -> AsyncIterator[TritonConnection]:
    opened = TritonConnection(settings)
    yield opened
    await opened.close()


async def test_vectors_are_those_of_the_same_file_in_this_process(
    connection: TritonConnection, settings: TritonSettings, parameters: dict[str, str]
) -> None:
    found = await TritonEmbedder(connection, settings).embed(TEXTS, "passage")
    expected = SentenceEncoder(parameters, LOCAL / "sbert" / "1").embed(TEXTS)
    # The network's activations are quantized for all texts of a batch together, which changes the vectors a little.
    assert (found * expected).sum(axis=1).min() > 0.97
    assert np.median((found * expected).sum(axis=1)) > 0.99


async def test_clients_write_the_words_of_the_model_before_each_text(
    connection: TritonConnection, settings: TritonSettings, server: Server
) -> None:
    plain, whole = TritonEmbedder(connection, settings), server.configs["sbert"]
    long, title = f"Title\n{'heading ' * 400}\nThe log.", "Title\nThe log."
    words = {"query_prefix": {"string_value": "where is "}, "passage_prefix": {"string_value": "this is "}}
    server.configs["sbert"] = {**whole, "parameters": {**whole["parameters"], **words}}
    embedder = TritonEmbedder(connection, settings)
    try:
        query = await embedder.embed(["The log."], "query")
        passage, shortened = await embedder.embed(["The log."], "passage"), await embedder.embed([long], "passage")
    finally:
        server.configs["sbert"] = whole
    assert (query == await plain.embed(["where is The log."], "passage")).all()
    assert (passage == await plain.embed(["this is The log."], "query")).all()
    assert (shortened == await plain.embed([f"this is {title}"], "passage")).all()


@pytest.fixture
def pair(server: Server, parameters: dict[str, str]) -> None:
    """A pair at the server, both of whose networks are the local model."""
    tokenizer = find_file(parameters, "tokenizer", LOCAL / "sbert" / "1").read_bytes()
    alone = server.graphs["sbert"]

    def both(feeds: Feeds) -> Feeds:
        parts = [
            alone({name: feeds[prefix + name] for name in ("input_ids", "attention_mask")}) for prefix in ("", FIRST)
        ]
        return {name: np.concatenate([part[name] for part in parts], axis=1) for name in ("embedding", "read")}

    server.configs["sbert_e5"] = config_of("sbert_e5", tokenizer, **pack_tokenizer(tokenizer, FIRST))
    server.graphs["sbert_e5"] = both


@pytest.mark.usefixtures("pair")
async def test_both_networks_of_a_pair_read_a_text_in_one_request(
    connection: TritonConnection, settings: TritonSettings, server: Server, parameters: dict[str, str]
) -> None:
    embedder, alone = (
        TritonEmbedder(connection, settings.model_copy(update={"model": "sbert_e5"})),
        SentenceEncoder(parameters, LOCAL / "sbert" / "1"),
    )
    before = server.infers
    found = await embedder.embed(["Readers wait for the log.", "Leser warten."], "query")
    assert server.infers == before + 1
    expected = alone.embed(["query: Readers wait for the log.", "query: Leser warten."])
    assert (found[:, :384] * expected).sum(axis=1).min() > 0.98
    assert found[0, 384:] @ alone.embed(["Readers wait for the log."])[0] > 0.98, "without the word of the other model"
    assert found[1, 384:] @ alone.embed(["Leser warten."])[0] < 0.9, "it is given no text in another language"
    server.spoil = lambda outputs: {**outputs, "read": outputs["read"] + np.array([0, 1])}
    with pytest.raises(ForeignAnswer, match="2 of 4 rows were read from other tokens"):
        await embedder.embed(["Readers wait for the log.", "Leser warten."], "query")


async def test_links_are_those_of_the_same_file_in_this_process(connection: TritonConnection) -> None:
    found = await TritonChains(connection).links(PAGE)
    encoder = ChainEncoder(parameters_of(read_config(LOCAL / CHAIN_MODEL)), LOCAL / CHAIN_MODEL / "1")
    assert found == encoder.links(PAGE)
    assert sum(bool(link.antecedents) for link in found) > 40


@pytest.fixture
def rows_of_windows(server: Server, tmp_path: Path) -> Iterator[list[tuple[int, ...]]]:
    """The chain model of the server takes batches. Yields the shape of each batch."""
    config, graph = server.configs[CHAIN_MODEL], server.graphs[CHAIN_MODEL]
    shutil.copyfile(PRODUCTION / CHAIN_MODEL / "configs" / "batches.pbtxt", tmp_path / "config.pbtxt")
    batches = read_config(tmp_path)
    same = {name: config["parameters"][name] for name in ("need_threshold", "antecedent_floor", *pack_tokenizer(b""))}
    server.configs[CHAIN_MODEL] = {**batches, "parameters": {**batches["parameters"], **same}}
    rows, shapes = batched(graph), list[tuple[int, ...]]()

    def counted(feeds: Feeds) -> Feeds:
        shapes.append(feeds["membership"].shape)
        return rows(feeds)

    server.graphs[CHAIN_MODEL] = counted
    yield shapes
    server.configs[CHAIN_MODEL], server.graphs[CHAIN_MODEL] = config, graph


async def test_windows_in_batches_have_the_same_links(
    connection: TritonConnection, rows_of_windows: list[tuple[int, ...]]
) -> None:
    page = [*PAGE[:60], "", *PAGE[3:5], "", *(["The engine writes the file to the disk. It waits. " * 4] * 40)]
    found = await TritonChains(connection).links(page)
    encoder = ChainEncoder(parameters_of(read_config(LOCAL / CHAIN_MODEL)), LOCAL / CHAIN_MODEL / "1")
    assert found == encoder.links(page)
    assert sum(bool(link.antecedents) for link in found) > 20
    assert sum(rows for rows, _, _ in rows_of_windows) > 2 * len(rows_of_windows), "several windows a request"
    assert all(sentences % 16 == tokens % 64 == 0 for _, sentences, tokens in rows_of_windows), "few shapes"


@pytest.mark.usefixtures("rows_of_windows")
async def test_windows_of_another_request_are_an_outage(connection: TritonConnection, server: Server) -> None:
    server.spoil = reversed_rows
    with pytest.raises(ForeignAnswer, match="rows were read from other tokens"):
        await TritonChains(connection).links([*PAGE[:2], "", *PAGE[3:6]])


async def test_a_page_without_words_that_refer_asks_nothing(connection: TritonConnection, server: Server) -> None:
    before = server.infers
    assert len(await TritonChains(connection).links(["Zirconium melts.", "Hafnium burns."])) == 2
    assert server.infers == before


def shifted(outputs: Feeds) -> Feeds:
    """Each row is the answer of another request, with its checksum."""
    return {name: value + np.asarray(1, value.dtype) if name == "read" else value for name, value in outputs.items()}


def shortened(outputs: Feeds) -> Feeds:
    return {name: value if name == "read" else value[:-1] for name, value in outputs.items()}


def not_finite(outputs: Feeds) -> Feeds:
    return {name: value if name == "read" else np.full_like(value, np.nan) for name, value in outputs.items()}


def reversed_rows(outputs: Feeds) -> Feeds:
    """The rows of two requests, exchanged: each with its own checksum."""
    return {name: value[::-1] for name, value in outputs.items()}


@pytest.mark.parametrize("spoil", [shifted, shortened, not_finite])
async def test_an_answer_of_another_request_is_an_outage(
    connection: TritonConnection, settings: TritonSettings, server: Server, spoil: Callable[[Feeds], Feeds]
) -> None:
    server.spoil = spoil
    with pytest.raises(ForeignAnswer) as of_vectors:
        await TritonEmbedder(connection, settings).embed(TEXTS[:3], "passage")
    with pytest.raises(ForeignAnswer) as of_links:
        await TritonChains(connection).links(PAGE[:12])
    assert is_outage(of_vectors.value), "the stage waits, and the event is not at fault"
    assert is_outage(of_links.value)


async def test_a_foreign_answer_is_asked_for_again(
    connection: TritonConnection, settings: TritonSettings, server: Server
) -> None:
    embedder = TritonEmbedder(connection, settings)
    right = await embedder.embed(TEXTS[:3], "passage")
    spoiled: list[bool] = []

    def once(outputs: Feeds) -> Feeds:
        spoiled.append(len(spoiled) == 0)
        return shifted(outputs) if spoiled[-1] else outputs

    server.spoil = once
    assert (await embedder.embed(TEXTS[:3], "passage") == right).all()
    assert spoiled == [True, False]


async def test_rows_of_two_requests_that_were_exchanged_are_noticed(
    connection: TritonConnection, settings: TritonSettings, server: Server
) -> None:
    server.spoil = reversed_rows
    with pytest.raises(ForeignAnswer, match="2 of 2 rows were read from other tokens"):
        await TritonEmbedder(connection, settings).embed(["A dog barked.", "A cat slept on it."], "passage")


@pytest.mark.usefixtures("cross_encoder")
async def test_scores_of_a_cross_encoder_are_in_the_order_of_the_texts(connection: TritonConnection) -> None:
    texts = ["a river", "a log", "a shallow river with shallow water", "", "\ud800", "zzz " * 100 + "river"] * 30
    assert list(await TritonReranker(connection, "rerank").scores("a shallow river", texts)) == [2, 1, 4, 0, 0, 0] * 30


@pytest.mark.usefixtures("cross_encoder")
@pytest.mark.parametrize("spoil", [shifted, shortened, not_finite, reversed_rows])
async def test_scores_of_another_request_are_an_outage(
    connection: TritonConnection, server: Server, spoil: Callable[[Feeds], Feeds]
) -> None:
    server.spoil = spoil
    with pytest.raises(ForeignAnswer):
        await TritonReranker(connection, "rerank").scores("a shallow river", ["a river", "the log"])


async def test_a_model_without_its_tokenizer_is_an_outage_until_it_has_one(
    connection: TritonConnection, settings: TritonSettings, server: Server
) -> None:
    whole = server.configs["sbert"]
    server.configs["sbert"] = {**whole, "parameters": {**whole["parameters"], "tokenizer": {"string_value": ""}}}
    embedder = TritonEmbedder(connection, settings)
    try:
        with pytest.raises(StoreUnavailable, match="no tokenizer in its configuration"):
            await embedder.embed(TEXTS[:1], "passage")
    finally:
        server.configs["sbert"] = whole
    assert len(await embedder.embed(TEXTS[:1], "passage")) == 1


async def test_a_client_of_a_model_of_texts_reads_the_configuration_again_once_the_model_is_a_graph(
    connection: TritonConnection, settings: TritonSettings, server: Server
) -> None:
    graph, chain = server.configs["sbert"], server.configs[CHAIN_MODEL]
    embedder, chains = TritonEmbedder(connection, settings), TritonChains(connection)
    described: Sequence[dict[str, Any]] = [{"name": "TEXT", "data_type": "TYPE_STRING", "dims": ["1"]}]
    server.configs |= {"sbert": {**graph, "input": described}, CHAIN_MODEL: {**chain, "input": described}}
    await embedder.info()
    await chains._interface.find_graph()
    server.configs |= {"sbert": graph, CHAIN_MODEL: chain}
    for call in (lambda: embedder.embed(TEXTS[:2], "passage"), lambda: chains.links(PAGE[:6])):
        with pytest.raises(StoreUnavailable, match="of another release"):
            await call()
        assert len(await call()) in (2, 6)


async def test_doctor_asks_graphs_for_an_answer(settings: TritonSettings) -> None:
    states = await asyncio.to_thread(model_states, settings, ["sbert", CHAIN_MODEL], PATIENCE_SECONDS)
    assert states == {"sbert": "ok", CHAIN_MODEL: "ok"}


async def test_a_model_whose_process_is_lost_is_broken(settings: TritonSettings, server: Server) -> None:
    """Triton lists it as ready, and only its answer to a request says so: the supervisor starts such a server again."""

    def lose(_: Feeds) -> Feeds:
        raise RuntimeError("Failed to process the request(s), message: Stub process 'sbert_0_0' is not healthy.")

    server.spoil = lose
    states = await asyncio.to_thread(model_states, settings, ["sbert"], PATIENCE_SECONDS)
    assert states == {"sbert": "broken"}


ROWS = {
    "input": [{"name": "TEXT", "data_type": "TYPE_STRING", "dims": ["1"]}],
    "output": [{"name": name, "data_type": "TYPE_FP32", "dims": ["4"]} for name in ("EMBEDDING", SEAL)],
    "max_batch_size": "8",
}
CHAINS = {
    "input": [{"name": "SENTENCES", "data_type": "TYPE_STRING", "dims": ["-1"]}],
    # Not in the order of the seal.
    "output": [{"name": name, "data_type": "TYPE_FP32", "dims": ["-1"]} for name in (SEAL, *reversed(NAMES))],
    "max_batch_size": "0",
}


def answer_rows(feeds: Feeds) -> Feeds:
    rows = np.ones((1, 4), np.float32)
    return {"EMBEDDING": rows, SEAL: seal_rows(list(feeds["TEXT"].reshape(-1)), rows)}


def answer_chains(feeds: Feeds) -> Feeds:
    columns = [np.full((1, 5) if name == "ALTERNATIVES" else 1, at, np.float32) for at, name in enumerate(NAMES)]
    return dict(zip(NAMES, columns, strict=True)) | {SEAL: seal_whole(list(feeds["SENTENCES"]), columns)}


@pytest.mark.parametrize(
    ("spoiled", "state"),
    [
        pytest.param(lambda outputs: outputs, "ok", id="its own answer"),
        pytest.param(lambda outputs: outputs | {SEAL: outputs[SEAL] + 1}, "broken", id="the seal of another request"),
        pytest.param(
            lambda outputs: {name: np.concatenate([value, value]) for name, value in outputs.items()},
            "broken",
            id="rows of another request",
        ),
    ],
)
@pytest.mark.parametrize(("config", "run"), [(ROWS, answer_rows), (CHAINS, answer_chains)])
async def test_a_model_that_answers_another_request_is_broken(
    config: dict[str, Any], run: Run, spoiled: Callable[[Feeds], Feeds], state: str
) -> None:
    """Triton lists such a model as ready. The supervisor, which asks for one answer, starts the server again."""
    server = Server({"texts": config}, {"texts": run})
    server.spoil = spoiled
    async with serving(server) as settings:
        assert await asyncio.to_thread(model_states, settings, ["texts"], 20.0) == {"texts": state}


@pytest.mark.parametrize("shape", [(1, 1), (3, 7), (64, 512)])
def test_the_output_of_rows_leaves_out_padding(shape: tuple[int, int], tmp_path: Path) -> None:
    path = write_model(tmp_path) / "model.onnx"
    model = path.read_bytes()
    added = add_read_output_of_rows(model)
    assert add_read_output_of_rows(added) == added
    former, present = (onnxruntime.InferenceSession(each) for each in (model, added))
    generator = np.random.default_rng(shape[1])
    ids = generator.integers(0, 12, shape)
    mask = (np.arange(shape[1]) < generator.integers(1, shape[1] + 1, (shape[0], 1))).astype(np.int64)
    feeds = {"input_ids": ids, "attention_mask": mask, "token_type_ids": np.zeros_like(ids)}
    logits, read = present.run(None, feeds)
    assert (read == read_checksums(ids, mask)).all()
    assert (logits == former.run(None, feeds)[0]).all()


def test_the_output_is_added_once_and_changes_no_other_output() -> None:
    parameters = parameters_of(read_config(LOCAL / CHAIN_MODEL))
    model = find_file(parameters, "model", LOCAL / CHAIN_MODEL / "1").read_bytes()
    added = add_read_output(model)
    assert add_read_output(added) == added
    former, present = (onnxruntime.InferenceSession(each) for each in (model, added))
    for tokens in (1, 7, 320):
        ids = np.random.default_rng(tokens).integers(0, 30_000, tokens)
        feeds = {"input_ids": ids, "membership": np.ones((1, tokens), np.float32)}
        *outputs, read = present.run(None, feeds)
        assert read.tolist() == read_checksums(ids[None], np.ones_like(ids)[None])[0].tolist()
        assert all(map(np.array_equal, outputs, former.run(None, feeds)))


async def test_another_model_under_the_same_name_is_noticed(
    connection: TritonConnection, settings: TritonSettings, server: Server, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(triton, "READ_AGAIN_SECONDS", 0.0)
    embedder, whole = TritonEmbedder(connection, settings), server.configs["sbert"]
    before = await embedder.info()
    other = {"model_version": {"string_value": "another"}}
    server.configs["sbert"] = {**whole, "parameters": {**whole["parameters"], **other}}
    try:
        assert (await embedder.info()).model == (before.name, "another")
    finally:
        server.configs["sbert"] = whole
