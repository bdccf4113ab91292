"""Activations in 8 bits: a network in OpenVINO most of whose products of matrices run in integers.

The weights of the local models have 8 bits. By itself OpenVINO quantizes activations while it runs, in groups of 32
numbers with a scale for each. With a range that was measured once, all sums of a product are integers, and a text takes
a quarter less time.

The columns of an input differ in size up to thirty times. So each column is divided by a scale of its own, and its row
of the weights is multiplied by that scale (SmoothQuant, Xiao and others, 2023). Products without a range keep their
groups. `triton_models/calibrate.py` measures the ranges. They belong to one file of weights, and to a model version.

A processor without VNNI adds two products in 16 bits, which is too few for some sums. There the ranges are left aside.
The vectors' cosine to those with ranges is .999, so one index may have both.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from streams.errors import UsageError

Floats = NDArray[np.float32]

GROUP = 128
"""Numbers with a common scale in the products that have no range."""
LEVELS = 256
"""Number of values that 8 bits hold."""
BALANCE = 0.85
"""The share of a column's size that its scale moves from the activations to the weights."""
_LARGEST_WEIGHT = 127


@dataclass(frozen=True, slots=True)
class Range:
    """The scale of each column of an input, and the smallest and the largest number after the division."""

    scales: Floats
    low: float
    high: float


Ranges = Mapping[str, Range]
"""The ranges of the inputs of products, by the name of the operation that makes the input."""


def processor_has_vnni(facts: Path = Path("/proc/cpuinfo")) -> bool:
    """Return True if the processor adds products of 8 bits in 32 bits, as OpenVINO then does. Only Linux shows it."""
    return facts.exists() and not {"avx512_vnni", "avx_vnni"}.isdisjoint(facts.read_text().split())


def fit_range(lowest: Floats, highest: Floats, weights: Floats) -> Range:
    """Return the range of an input, from the extremes of its columns and its weights (rows by columns)."""
    sizes = np.maximum(np.abs(lowest), np.abs(highest)) + np.float32(1e-6)
    scales = sizes**BALANCE / (np.abs(weights).max(axis=1) + np.float32(1e-6)) ** (1 - BALANCE)
    scales = (scales / np.exp(np.log(scales).mean())).astype(np.float32)
    low, high = float((lowest / scales).min()), float((highest / scales).max())
    step = (high - low) / (LEVELS - 1)
    zero = round(-low / step)  # so that zero is a level of its own
    return Range(scales, -zero * step, (LEVELS - 1 - zero) * step)


def write_ranges(path: Path, ranges: Ranges) -> None:
    """Write the ranges. Equal ranges give an equal file."""
    names = sorted(ranges)
    arrays = {f"scales/{name}": ranges[name].scales for name in names}
    ends = np.array([[ranges[name].low, ranges[name].high] for name in names], np.float32)
    with path.open("wb") as file:
        np.savez(file, names=np.array(names), ends=ends, **arrays)


def read_ranges(path: Path) -> dict[str, Range]:
    with np.load(path, allow_pickle=False) as arrays:
        named = zip(arrays["names"].tolist(), arrays["ends"].tolist(), strict=True)
        return {name: Range(arrays[f"scales/{name}"], low, high) for name, (low, high) in named}


def quantize_activations(model: Any, ranges: Ranges, path: Path) -> None:
    """Change a model of OpenVINO, in place. Raises UsageError if `ranges`, of this file, are of another model."""
    from openvino import opset13

    inputs = dict(inputs_of_products(model))
    if unknown := sorted(ranges.keys() - inputs.keys()):
        raise UsageError(f"{path} is of another model: this one has no {', '.join(unknown)}")
    for name, one in ranges.items():
        products = inputs[name]
        divided = opset13.multiply(products[0].input_value(0), opset13.constant((1 / one.scales)[None, None]))
        ends = [opset13.constant(np.float32(end)) for end in (one.low, one.high)]
        rounded = opset13.fake_quantize(divided, *ends, *ends, LEVELS)
        for product in products:
            scaled = _compressed(weights_of(product) * one.scales[:, None])
            product.input(0).replace_source_output(rounded.output(0))
            product.input(1).replace_source_output(scaled.output(0))
    model.validate_nodes_and_infer_types()


def inputs_of_products(model: Any) -> Iterator[tuple[str, list[Any]]]:
    """Yield the name of each input of a product with weights of 8 bits, and the products that read the input."""
    found: dict[str, list[Any]] = {}
    for node in model.get_ordered_ops():
        if node.get_type_name() == "MatMul" and _has_weights(node):
            found.setdefault(node.input_value(0).get_node().get_friendly_name(), []).append(node)
    yield from found.items()


def _has_weights(product: Any) -> bool:
    """Return True if the second factor is weights: whole numbers, converted, and multiplied by a scale."""
    scaled = product.input_value(1).get_node()
    if scaled.get_type_name() != "Multiply":
        return False
    converted = scaled.input_value(0).get_node()
    constant = converted.get_type_name() == "Convert" and converted.input_value(0).get_node()
    return bool(constant) and constant.get_type_name() == "Constant"


def weights_of(product: Any) -> Floats:
    """Return the weights of a product, inputs by outputs."""
    scaled = product.input_value(1).get_node()
    numbers = scaled.input_value(0).get_node().input_value(0).get_node().get_data().astype(np.float32)
    weights: Floats = numbers * _constant(scaled.input_value(1).get_node())
    return weights


def _constant(node: Any) -> Floats:
    """Return the numbers of a constant, or of a constant in another shape, as scales of columns have it."""
    source = node
    while source.get_type_name() in {"Reshape", "Unsqueeze"}:
        source = source.input_value(0).get_node()
    numbers: Floats = source.get_data().reshape(list(node.get_output_shape(0)))
    return numbers


def _compressed(weights: Floats) -> Any:
    """Return weights in 8 bits, with a scale for each output."""
    from openvino import opset13

    scales = np.abs(weights).max(axis=0, keepdims=True) / np.float32(_LARGEST_WEIGHT)
    numbers = np.rint(weights / np.maximum(scales, np.float32(1e-12))).astype(np.int8)
    return opset13.multiply(opset13.convert(opset13.constant(numbers), "f32"), opset13.constant(scales))
