"""Activations in 8 bits: the ranges, their file, and what a model makes of them."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from streams.errors import UsageError
from streams.models.inference.activations import (
    LEVELS,
    Range,
    fit_range,
    inputs_of_products,
    processor_has_vnni,
    quantize_activations,
    read_ranges,
    weights_of,
    write_ranges,
)
from streams.models.inference.encoder import SentenceEncoder
from streams.models.inference.repository import parameters_of, read_config
from streams.settings import Settings

TEXTS = (
    "Write-ahead logging lets readers go on while a writer commits.",
    "SELECT count(*) FROM pages WHERE generation < 7;",
    "Ein Leser wird von keinem Schreiber aufgehalten.",
    "bread",
)
ROWS, INPUTS, OUTPUTS = 64, 32, 16


@given(
    lowest=st.lists(st.floats(-30, 0, width=32), min_size=4, max_size=4),
    highest=st.lists(st.floats(0, 30, width=32), min_size=4, max_size=4),
)
def test_each_column_is_within_the_range_and_zero_is_a_level(lowest: list[float], highest: list[float]) -> None:
    low, high = np.array(lowest, np.float32), np.array(highest, np.float32)
    if not (high - low).max() > 0.001:
        return
    one = fit_range(low, high, np.ones((4, 3), np.float32))
    step = (one.high - one.low) / (LEVELS - 1)
    assert one.low - step <= (low / one.scales).min()
    assert (high / one.scales).max() <= one.high + step
    assert abs(one.low / step - round(one.low / step)) < 1e-3


def test_a_file_gives_the_ranges_back_and_equal_ranges_make_an_equal_file(tmp_path: Path) -> None:
    ranges = {name: Range(np.full(3, size, np.float32), -size, size) for name, size in (("b", 2.0), ("a", 1.0))}
    for file in ("1.npz", "2.npz"):
        write_ranges(tmp_path / file, ranges)
    assert (tmp_path / "1.npz").read_bytes() == (tmp_path / "2.npz").read_bytes()
    again = read_ranges(tmp_path / "1.npz")
    assert {name: (one.low, one.high, *one.scales) for name, one in again.items()} == {
        "a": (-1, 1, 1, 1, 1),
        "b": (-2, 2, 2, 2, 2),
    }


@pytest.mark.parametrize(
    ("flags", "expected"),
    [
        ("flags : avx2 avx512f avx512_vnni", True),
        ("flags : avx2 avx_vnni", True),
        ("flags : avx2 avx512f", False),  # sums of 16 bits
    ],
)
def test_the_processor_is_asked_for_vnni(flags: str, *, expected: bool, tmp_path: Path) -> None:
    (tmp_path / "cpuinfo").write_text(flags)
    assert processor_has_vnni(tmp_path / "cpuinfo") is expected
    assert not processor_has_vnni(tmp_path / "none")


def network() -> Any:
    """A product with weights of 8 bits, whose input is `before`. One column is 30 times as large as the others."""
    openvino = pytest.importorskip("openvino")
    from openvino import opset13

    generator = np.random.default_rng(3)
    numbers = generator.integers(-127, 128, (INPUTS, OUTPUTS)).astype(np.int8)
    weights = opset13.multiply(opset13.convert(opset13.constant(numbers), "f32"), opset13.constant(np.float32(0.01)))
    rows = opset13.parameter([1, ROWS, INPUTS], np.float32, "rows")
    sizes = np.ones(INPUTS, np.float32)
    sizes[5] = 30
    before = opset13.multiply(rows, opset13.constant(sizes[None, None]))
    before.set_friendly_name("before")
    return openvino.Model([opset13.matmul(before, weights, False, False)], [rows], "network")


def outputs(model: Any, rows: Any) -> Any:
    from openvino import Core

    options = {"INFERENCE_PRECISION_HINT": "f32", "DYNAMIC_QUANTIZATION_GROUP_SIZE": 0, "INFERENCE_NUM_THREADS": 1}
    return Core().compile_model(model, "CPU", options)([rows])[0]


def test_a_product_with_a_range_is_near_the_exact_one_though_a_column_is_large(tmp_path: Path) -> None:
    model = network()
    rows = np.random.default_rng(4).uniform(-1, 1, (1, ROWS, INPUTS)).astype(np.float32)
    exact = outputs(model, rows)
    ((name, products),) = inputs_of_products(model)
    assert name == "before"
    ends = np.ones(INPUTS, np.float32)
    ends[5] = 30
    quantize_activations(model, {name: fit_range(-ends, ends, weights_of(products[0]))}, tmp_path)
    assert "FakeQuantize" in {node.get_type_name() for node in model.get_ordered_ops()}
    near = outputs(model, rows)
    if processor_has_vnni():
        assert np.abs(near - exact).mean() < 0.01 * np.abs(exact).mean()
    assert not np.array_equal(near, exact)


def test_ranges_of_another_model_are_refused(tmp_path: Path) -> None:
    model, ranges = network(), {"elsewhere": Range(np.ones(INPUTS, np.float32), -1, 1)}
    with pytest.raises(UsageError, match=r"activations\.npz is of another model: this one has no elsewhere"):
        quantize_activations(model, ranges, tmp_path / "activations.npz")


def test_the_local_model_with_its_ranges_gives_vectors_near_those_without() -> None:
    pytest.importorskip("openvino")
    folder = Settings().models_path / "local" / "sbert"
    ranged = parameters_of(read_config(folder))
    assert ranged["activations_sources"] == "path:activations.npz"
    plain = {name: value for name, value in ranged.items() if not name.startswith("activations")}
    try:
        present, other = (SentenceEncoder(one, folder / "1").embed(TEXTS) for one in (ranged, plain))
    except UsageError as missing:
        pytest.skip(str(missing))
    cosines = (present * other).sum(axis=1)
    assert cosines.min() >= 0.998
    assert processor_has_vnni() == bool(cosines.max() < 1 - 1e-5), "the ranges are used where the processor has VNNI"
