"""The export of the pair: two networks in one graph, each with tokens of its own, and one vector."""

import runpy
import shutil
from pathlib import Path
from typing import Any

import numpy as np
import onnxruntime
import pytest
from numpy.typing import NDArray

from streams.errors import UsageError
from streams.models.inference.packed.graph import FIRST, Precision, pair_network, pooled_network
from streams.models.inference.packed.packed_file import PackedModel, read_packed
from streams.models.inference.repository import parameters_of, read_config
from streams.models.inference.seals import read_checksums
from streams.models.inference.tokenizing import unpack_tokenizer
from streams.settings import Settings
from tests.tiny_packed_file import HIDDEN, INNER, LAYERS, ROWS, packed_file
from triton_models.export_pair import plain_bert
from triton_models.read_output import add_read_output_of_rows
from triton_models.safetensors_file import read_safetensors
from triton_models.statement_chain.training.encoders import PACKED_PARTS, Weights

REPOSITORY = Settings().models_path
MEAN = np.full(HIDDEN, 0.5 / HIDDEN**0.5, np.float32)
FIRST_ROWS: tuple[list[int], ...] = ([2, 5, 6, 3], [], [2, 7, 3])
"""The tokens of three texts for the first network. It does not read the second text."""
SECOND_ROWS = ([0, 5, 2], [0, 5, 7, 8, 9, 6, 2], [0, 2])


def first_weights() -> Weights:
    """A network of other numbers than the packed one: word embeddings in single precision, and no blocks."""
    random = np.random.default_rng(5)
    inner = {"up": (INNER, HIDDEN), "down": (HIDDEN, INNER)}
    tensors = {"words.weight": random.normal(0, 0.2, (ROWS, HIDDEN))}
    tensors |= {"places.weight": random.normal(0, 0.1, (32, HIDDEN))}
    tensors |= {"norm.weight": random.uniform(0.5, 1.5, HIDDEN), "norm.bias": random.normal(0, 0.1, HIDDEN)}
    for layer in range(LAYERS):
        for part in PACKED_PARTS:
            shape = (HIDDEN,) if part.endswith("norm") else inner.get(part, (HIDDEN, HIDDEN))
            tensors[f"layers.{layer}.{part}.weight"] = random.normal(0, 0.2, shape)
            tensors[f"layers.{layer}.{part}.bias"] = random.normal(0, 0.1, shape[0])
    return Weights(4, 1e-12, {name: values.astype(np.float32) for name, values in tensors.items()})


def fed(rows: tuple[list[int], ...], prefix: str) -> dict[str, NDArray[np.int64]]:
    length = max(map(len, rows))
    ids = np.array([[*row, *[0] * (length - len(row))] for row in rows])
    mask = np.array([[1] * max(len(row), 1) + [0] * (length - max(len(row), 1)) for row in rows])
    return {f"{prefix}input_ids": ids, f"{prefix}attention_mask": mask}


FEEDS = {**fed(SECOND_ROWS, ""), **fed(FIRST_ROWS, FIRST)}


def run(content: bytes, feeds: dict[str, Any]) -> list[NDArray[Any]]:
    found: list[NDArray[Any]] = onnxruntime.InferenceSession(content).run(None, feeds)
    return found


@pytest.fixture(scope="module")
def second() -> PackedModel:
    return read_packed(packed_file()[0])


@pytest.mark.parametrize(("precision", "tolerance"), [("fp32", 1e-5), ("fp16", 1e-2)])
def test_a_vector_is_that_of_both_networks(second: PackedModel, precision: Precision, tolerance: float) -> None:
    first = plain_bert(first_weights(), LAYERS)
    vectors, read = run(add_read_output_of_rows(pair_network(first, second, precision, MEAN), ("", FIRST)), FEEDS)
    alone = {name.removeprefix(FIRST): values for name, values in FEEDS.items() if name.startswith(FIRST)}
    # A mean of zeros: the first network's vectors stay where they are.
    (own,) = run(pooled_network(first, "fp32", np.zeros(HIDDEN, np.float32)), alone)
    (other,) = run(pooled_network(second, "fp32", MEAN), fed(SECOND_ROWS, ""))
    expected = np.concatenate([own, other], axis=1) * 0.5**0.5
    expected[1] = np.concatenate([np.zeros(HIDDEN), other[1]])
    assert np.abs(vectors - expected).max() < tolerance
    both = [[FEEDS[prefix + name] for name in ("input_ids", "attention_mask")] for prefix in ("", FIRST)]
    assert (read == np.concatenate([read_checksums(*each) for each in both], axis=1)).all()


def test_padding_changes_no_vector(second: PackedModel) -> None:
    content = pair_network(plain_bert(first_weights(), LAYERS), second, "fp32", MEAN)
    wider = {name: np.pad(values, [(0, 0), (0, 2 if name.startswith(FIRST) else 9)]) for name, values in FEEDS.items()}
    assert np.allclose(run(content, FEEDS)[0], run(content, wider)[0], atol=1e-5)


def test_the_export_writes_graphs_that_clients_can_use(second: PackedModel, tmp_path: Path) -> None:
    repository = tmp_path / "models"
    shutil.copytree(REPOSITORY / "production", repository)
    export = runpy.run_path(str(REPOSITORY / "export_pair.py"))
    export["add_graphs"](plain_bert(first_weights(), LAYERS), b"{}", second, MEAN, repository, "fp16")
    export["drop_models_without_file"](repository)
    assert sorted(each.name for each in repository.iterdir()) == ["sbert_e5", "sbert_e5_query"]
    for name in ("sbert_e5", "sbert_e5_query"):
        config = read_config(repository / name)
        parameters = parameters_of(config)
        session = onnxruntime.InferenceSession(repository / name / "1" / "model.onnx")
        assert {each["name"] for each in config["input"]} == {each.name for each in session.get_inputs()}
        assert [each["name"] for each in config["output"]] == [each.name for each in session.get_outputs()]
        assert unpack_tokenizer(parameters, name).encode("the river").tokens == ["<s>", "▁the", "▁river", "</s>"]


@pytest.mark.parametrize(
    "content", [b"", b"\xff" * 64, (19).to_bytes(8, "little") + b'{"a": {"dtype": 1}}', b"\x02" + b"\0" * 7 + b"[]"]
)
def test_another_form_of_weights_is_refused(content: bytes, tmp_path: Path) -> None:
    (tmp_path / "weights").write_bytes(content)
    with pytest.raises(UsageError, match="is no file of safetensors"):
        read_safetensors(tmp_path / "weights")
