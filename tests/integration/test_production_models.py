"""The production repository in a real Triton, as its clients see it: configurations, tensors, refusals.

Triton's backend for ONNX is in no package, so the graphs run in the python backend here: a small model runs the same
files in ONNX Runtime. Everything else is the real server's: it reads the configurations that the export writes, hands
them to clients, and checks the tensors. The pair of the local repository runs in the same backend, as it always does.
"""

import asyncio
import runpy
import shutil
from collections.abc import AsyncIterator
from pathlib import Path
from typing import get_args

import pytest

from streams.errors import UsageError
from streams.models.inference.chain_encoder import ChainEncoder
from streams.models.inference.encoder import Floats
from streams.models.inference.packed.packed_file import read_packed
from streams.models.inference.pair_encoder import open_encoder
from streams.models.inference.prepared_repository import Changes, prepare_repository
from streams.models.inference.repository import CHAIN_MODEL, find_file, parameters_of, read_config, set_parameters
from streams.models.inference.runtimes import resolve_runtime
from streams.models.protocols import TextRole
from streams.models.triton import TritonChains, TritonEmbedder, TritonModel, TritonReranker
from streams.models.triton_connection import MissingModel, TritonConnection, model_states
from streams.models.triton_graphs import ChainGraph
from streams.settings import TritonSettings
from tests.integration.test_starved_models import Server, serving
from tests.tiny_cross_encoder import exported
from tests.unit.models.test_triton_graphs import LOCAL, PAGE, PRODUCTION, TEXTS
from triton_models.check_server import find_fault
from triton_models.statement_chain.training.encoders import find_files, read_weights

pytestmark = [pytest.mark.integration("triton"), pytest.mark.timeout(600)]

BATCHES = "chains_in_batches"
PAIR = ("sbert_e5", "sbert_e5_query")
MODELS = ("e5", "e5_query", *PAIR, CHAIN_MODEL, BATCHES, "rerank")
ROOT = Path(__file__).parents[2]
MANY_TEXTS = [*TEXTS, "Der Schreiber wartet auf das Schloss.", "读者不等待写者。", "Τα αρχεία γράφονται πρώτα."]
PATIENCE_SECONDS = 300.0
"""Maximum time of an answer: on a busy machine the first one of a model in Python took over 20 s."""
MODEL = f"""
import sys
from pathlib import Path
from typing import get_args
sys.path.insert(0, {str(ROOT)!r})
import numpy as np
import triton_python_backend_utils as pb_utils
from streams.models.inference.repository import parameters_of, read_config
import onnxruntime
from tests.unit.models.test_triton_graphs import CHAIN_MODEL, batched, chain_graph, rerank_graph

class TritonPythonModel:
    def initialize(self, args):
        graphs = {{
            CHAIN_MODEL: chain_graph,
            "{BATCHES}": lambda: batched(chain_graph()),
            "rerank": lambda: rerank_graph(Path(args["model_repository"]).parent),
        }}
        self.graph = graphs.get(args["model_name"], lambda: self.embedding_graph(args))()

    def embedding_graph(self, args):
        session = onnxruntime.InferenceSession(str(Path(args["model_repository"]) / "1" / "model.onnx"))
        return lambda feeds: dict(zip(("embedding", "read"), session.run(["embedding", "read"], feeds)))

    def execute(self, requests):
        return [self.answer(request) for request in requests]

    def answer(self, request):
        outputs = self.graph({{tensor.name(): tensor.as_numpy() for tensor in request.inputs()}})
        return pb_utils.InferenceResponse([pb_utils.Tensor(n, np.ascontiguousarray(v)) for n, v in outputs.items()])
"""


def lay_out(repository: Path) -> None:
    """The production repository as the export leaves it."""
    export = runpy.run_path(str(PRODUCTION.parent / "export_e5.py"))
    try:
        packed = find_file(export["SOURCE"], "model", Path()).read_bytes()
    except UsageError as missing:
        pytest.skip(str(missing))
    shutil.copytree(PRODUCTION, repository)
    export["add_graphs"](read_packed(packed), export["read_mean"](), repository, "fp16")
    lay_out_pair(repository, packed, export["read_mean"]())
    export["install_chain_model"](repository, "1")
    export["drop_models_without_file"](repository)
    lay_out_batches(repository)
    cross_encoder = exported(repository.parent / "rerank", graph=True) / "rerank"
    shutil.copytree(cross_encoder, repository / "rerank")
    for path in repository.glob("*/config.pbtxt"):
        text = path.read_text().replace('"onnxruntime"', '"python"').replace("KIND_GPU", "KIND_CPU")
        path.write_text(text)
        (path.parent / "1" / "model.py").write_text(MODEL)


def lay_out_pair(repository: Path, packed: bytes, mean: Floats) -> None:
    export = runpy.run_path(str(PRODUCTION.parent / "export_pair.py"))
    first = export["plain_bert"](read_weights("minilm", None, export["LAYERS"]), export["LAYERS"])
    tokenizer = find_files("minilm")("tokenizer").read_bytes()
    export["add_graphs"](first, tokenizer, read_packed(packed), mean, repository, "fp16")


def lay_out_batches(repository: Path) -> None:
    """The chain model that takes windows in batches, beside the one that takes one."""
    folder, shipped = repository / BATCHES, parameters_of(read_config(repository / CHAIN_MODEL))
    (folder / "1").mkdir(parents=True)
    config = (repository / CHAIN_MODEL / "configs" / "batches.pbtxt").read_text()
    config = set_parameters(config, shipped).replace(f'name: "{CHAIN_MODEL}"', f'name: "{BATCHES}"')
    (folder / "config.pbtxt").write_text(config)


@pytest.fixture
async def server(tmp_path: Path) -> AsyncIterator[Server]:
    lay_out(tmp_path / "models")
    with serving(tmp_path, tmp_path / "models", MODELS) as server:
        await server.ready()
        yield server


def asking(server: Server, model: str) -> TritonSettings:
    """The settings of a client of this model and of the one for its queries."""
    own = {"model": model, "query_model": f"{model}_query", "timeout_seconds": PATIENCE_SECONDS}
    return server.settings.triton.model_copy(update=own)


async def mean_cosines(connection: TritonConnection, settings: TritonSettings, **own: str) -> list[float]:
    """The mean cosine of the vectors of a server and those of the model's files in this process, by role."""
    folder = LOCAL / settings.model
    model = open_encoder({**resolve_runtime(parameters_of(read_config(folder))), **own}, folder / "1")
    embedder, found = TritonEmbedder(connection, settings), []
    for role in get_args(TextRole):
        expected = model.embed((await embedder.info(role)).prefixed(MANY_TEXTS, role))
        found.append(float((await embedder.embed(MANY_TEXTS, role) * expected).sum(axis=1).mean()))
    return found


async def test_clients_tokenize_for_a_server_without_tokenizers(server: Server, tmp_path: Path) -> None:
    settings = asking(server, "e5")
    connection = TritonConnection(settings)
    try:
        for model in ("e5", "sbert_e5"):
            cosines = await mean_cosines(connection, asking(server, model), runtime="onnxruntime")
            assert min(cosines) > 0.999, (
                f"{model}, in half precision and in single, beside weights in 8 bits: {cosines}"
            )
        proc = server.show_own_processes(tmp_path / "proc")
        assert not find_fault(server.http, proc=proc), "what the chart's probe asks"
        encoder = ChainEncoder(parameters_of(read_config(LOCAL / CHAIN_MODEL)), LOCAL / CHAIN_MODEL / "1")
        assert await TritonChains(connection).links(PAGE) == encoder.links(PAGE)
        batches = ChainGraph(connection, BATCHES, await connection.config(BATCHES))
        assert await batches.links(PAGE, PATIENCE_SECONDS) == encoder.links(PAGE)
        scores = await TritonReranker(connection, "rerank").scores("a river", ["a log", "a river", "a shallow river"])
        assert list(scores) == [1, 2, 2]
        assert await asyncio.to_thread(model_states, settings, MODELS, PATIENCE_SECONDS) == dict.fromkeys(MODELS, "ok")
        # A client that still knows a model of texts sees an outage, and reads the configuration again.
        former = TritonModel(connection, "e5", 8)
        await former.info()
        former._graph = None
        with pytest.raises(MissingModel, match="of another release"):
            await former.embed(["A dog."], PATIENCE_SECONDS)
        assert (await former.embed(["A dog."], PATIENCE_SECONDS)).shape == (1, 384)
    finally:
        await connection.close()


async def test_the_pair_of_the_local_repository_has_the_vectors_of_its_process(tmp_path: Path) -> None:
    prepare_repository(LOCAL, tmp_path / "models", Changes(only=("sbert_e5_query", "sbert_e5")))
    with serving(tmp_path, tmp_path / "models", ("sbert_e5",)) as server:
        await server.ready()
        connection, settings = TritonConnection(server.settings.triton), asking(server, "sbert_e5")
        try:
            assert await mean_cosines(connection, settings) == pytest.approx([1.0, 1.0], abs=1e-5)
            assert not find_fault(server.http, proc=server.show_own_processes(tmp_path / "proc"))
        finally:
            await connection.close()
