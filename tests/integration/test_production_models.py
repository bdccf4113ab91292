"""The production repository in a real Triton, as its clients see it: configurations, tensors, refusals.

Triton's backend for ONNX is in no package, so the graphs run in the python backend here: a small model runs the same
files in ONNX Runtime. Everything else is the real server's: it reads the configurations that the export writes, hands
them to clients, and checks the tensors.
"""

import asyncio
import re
import shutil
from collections.abc import AsyncIterator
from pathlib import Path
from typing import get_args

import numpy as np
import pytest

from streams.errors import UsageError
from streams.models.inference.chain_encoder import ChainEncoder
from streams.models.inference.encoder import SentenceEncoder
from streams.models.inference.repository import CHAIN_MODEL, find_file, parameters_of, read_config, set_parameters
from streams.models.inference.tokenizing import pack_tokenizer
from streams.models.protocols import TextRole
from streams.models.triton import TritonChains, TritonEmbedder, TritonModel, TritonReranker
from streams.models.triton_connection import MissingModel, TritonConnection, model_states
from streams.settings import TritonSettings
from tests.integration.test_starved_models import serving
from tests.tiny_cross_encoder import exported
from tests.unit.models.test_triton_graphs import LOCAL, PAGE, PRODUCTION, TEXTS

pytestmark = [pytest.mark.integration("triton"), pytest.mark.timeout(600)]

MODELS = ("sbert", "sbert_query", CHAIN_MODEL, "rerank")
ROOT = Path(__file__).parents[2]
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
from tests.unit.models.test_triton_graphs import CHAIN_MODEL, LOCAL, chain_graph, embedding_graph, rerank_graph

class TritonPythonModel:
    def initialize(self, args):
        local = {{**parameters_of(read_config(LOCAL / "sbert")), "runtime": "onnxruntime"}}
        graphs = {{
            CHAIN_MODEL: chain_graph,
            "rerank": lambda: rerank_graph(Path(args["model_repository"]).parent),
        }}
        self.graph = graphs.get(args["model_name"], lambda: embedding_graph(local))()

    def execute(self, requests):
        return [self.answer(request) for request in requests]

    def answer(self, request):
        outputs = self.graph({{tensor.name(): tensor.as_numpy() for tensor in request.inputs()}})
        return pb_utils.InferenceResponse([pb_utils.Tensor(n, np.ascontiguousarray(v)) for n, v in outputs.items()])
"""


def lay_out(repository: Path) -> None:
    """The production repository with the tokenizer and the numbers of the local model, as the export writes them."""
    local = parameters_of(read_config(LOCAL / "sbert"))
    sizes = {name: local[name] for name in ("dimensions", "max_tokens", "normalized")}
    try:
        tokenizer = find_file(local, "tokenizer", LOCAL / "sbert" / "1").read_bytes()
        find_file(local, "model", LOCAL / "sbert" / "1")
    except UsageError as missing:
        pytest.skip(str(missing))
    shutil.copytree(PRODUCTION, repository)
    cross_encoder = exported(repository.parent / "rerank", graph=True) / "rerank"
    shutil.copytree(cross_encoder, repository / "rerank")
    for path in repository.glob("*/config.pbtxt"):
        text = path.read_text().replace('"onnxruntime"', '"python"').replace("KIND_GPU", "KIND_CPU")
        text = re.sub(r"dims: \[ 768 \]", f"dims: [ {local['dimensions']} ]", text)
        is_exported = path.parent.name == "rerank"  # with its own tokenizer
        path.write_text(text if is_exported else set_parameters(text, sizes | pack_tokenizer(tokenizer)))
        (path.parent / "1" / "model.py").write_text(MODEL)


@pytest.fixture
async def settings(tmp_path: Path) -> AsyncIterator[TritonSettings]:
    lay_out(tmp_path / "models")
    with serving(tmp_path, tmp_path / "models", MODELS) as server:
        await server.ready()
        yield server.settings.triton.model_copy(
            update={"query_model": "sbert_query", "timeout_seconds": PATIENCE_SECONDS}
        )


async def test_clients_tokenize_for_a_server_without_tokenizers(settings: TritonSettings) -> None:
    connection = TritonConnection(settings)
    try:
        parameters = {**parameters_of(read_config(LOCAL / "sbert")), "runtime": "onnxruntime"}
        expected = SentenceEncoder(parameters, LOCAL / "sbert" / "1").embed(TEXTS)
        embedder = TritonEmbedder(connection, settings)
        for role in get_args(TextRole):
            found = await embedder.embed(TEXTS, role)
            assert np.median((found * expected).sum(axis=1)) > 0.99
        encoder = ChainEncoder(parameters_of(read_config(LOCAL / CHAIN_MODEL)), LOCAL / CHAIN_MODEL / "1")
        assert await TritonChains(connection).links(PAGE) == encoder.links(PAGE)
        scores = await TritonReranker(connection, "rerank").scores("a river", ["a log", "a river", "a shallow river"])
        assert list(scores) == [1, 2, 2]
        assert await asyncio.to_thread(model_states, settings, MODELS, PATIENCE_SECONDS) == dict.fromkeys(MODELS, "ok")
        # A client that still knows a model of texts sees an outage, and reads the configuration again.
        former = TritonModel(connection, "sbert", 8)
        await former.info()
        former._graph = None
        with pytest.raises(MissingModel, match="of another release"):
            await former.embed(["A dog."], PATIENCE_SECONDS)
        assert (await former.embed(["A dog."], PATIENCE_SECONDS)).shape == (1, 384)
    finally:
        await connection.close()
