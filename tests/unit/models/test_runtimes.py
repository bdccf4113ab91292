"""A network has the same numbers on each processor."""

from pathlib import Path

import numpy as np
import pytest

from streams.models.inference import runtimes
from streams.models.inference.packed.onnx_bytes import FLOAT, attribute, field, node, number, tensor, text, value
from streams.models.inference.runtimes import ONNXRUNTIME, open_model, session_options

INPUTS = 64


def sums_of_eight_bits() -> bytes:
    """A network that multiplies its input, in 8 bits without a sign, by weights that are all 127."""
    weights = np.full((INPUTS, 8), 127, np.int8)
    nodes = [
        node("DynamicQuantizeLinear", ["input"], ["levels", "step", "zero"]),
        node("MatMulInteger", ["levels", "weights", "zero"], ["sums"]),
        node("Cast", ["sums"], ["output"], attribute("to", FLOAT)),
    ]
    graph = b"".join(field(1, each) for each in nodes) + text(2, "sums") + field(5, tensor("weights", weights))
    graph += field(11, value("input", FLOAT, (1, INPUTS))) + field(12, value("output", FLOAT, (1, 8)))
    return number(1, 6) + field(7, graph) + field(8, text(1, "") + number(2, 11))


def test_sums_of_eight_bits_are_exact_without_vnni_too(tmp_path: Path) -> None:
    """A processor without VNNI adds two products in 16 bits by default: 255 x 127 x 2 is too large for them."""
    model = tmp_path / "model.onnx"
    model.write_bytes(sums_of_eight_bits())
    found = open_model(ONNXRUNTIME, model, 1)({"input": np.full((1, INPUTS), 255, np.float32)})
    assert found.tolist() == [[INPUTS * 255 * 127] * 8]


@pytest.mark.parametrize("has_vnni", [True, False])
def test_only_a_processor_without_vnni_pays_for_it(has_vnni: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(runtimes, "processor_has_vnni", lambda: has_vnni)
    try:
        adds_exactly = session_options(1).get_session_config_entry("session.x64quantprecision") == "1"
    except RuntimeError:  # no such entry
        adds_exactly = False
    assert adds_exactly is not has_vnni
