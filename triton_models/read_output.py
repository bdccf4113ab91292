"""The output `read` of a graph: a checksum of the token ids that the graph has read.

`add_read_output` adds it to an ONNX file, for a server that runs the graph itself. A message of Protocol Buffers is
extended by the bytes of another one behind it: repeated fields are appended, and fields of a common submessage merged
(https://protobuf.dev/programming-guides/encoding/#last-one-wins). So the additions are a second, small model behind the
first, and no library for ONNX is needed. Fields have their numbers from onnx.proto.

The checksum is the same as in `seals.read_checksums`: the sum of id x (position x 31 + 1), with positions from 1.
"""

from collections.abc import Iterator

import numpy as np

from streams.models.inference.packed import onnx_bytes as onnx

NAME = "read"
IDS, MASK = "input_ids", "attention_mask"
_CONSTANTS = {"read_0": 0, "read_1": 1, "read_31": 31}
_LAST = "read_last"


def add_read_output(model: bytes, *, rows: bool = False) -> bytes:
    """Return the ONNX file with the output. Its input `input_ids` has the shape (tokens,), or (n, tokens) with `rows`.
    Operators of set 11 are enough."""
    return _extend(model, axis=int(rows), masked=False)


def add_read_output_of_rows(model: bytes) -> bytes:
    """Return the ONNX file with the output. Its inputs `input_ids` and `attention_mask` have the shape (n, tokens)."""
    return _extend(model, axis=1, masked=True)


def _extend(model: bytes, *, axis: int, masked: bool) -> bytes:
    if NAME.encode() + b"_positions" in model:
        return model
    nodes = b"".join(onnx.field(1, node) for node in _nodes(f"read_{axis}", axis, masked=masked))
    constants = [onnx.tensor(name, np.array(value, np.int64)) for name, value in _CONSTANTS.items()]
    constants.append(onnx.tensor(_LAST, np.array([-1], np.int64)))
    output = onnx.value(NAME, onnx.INT64, ("batch", 1) if axis else (1,))
    graph = nodes + b"".join(onnx.field(5, constant) for constant in constants) + onnx.field(12, output)
    return model + onnx.field(7, graph)


def _nodes(axis_name: str, axis: int, *, masked: bool) -> Iterator[bytes]:
    """Yield the operations. The sum of a row is the last one of its running sums: the operator for sums has another
    form since set 13, and running sums have one form."""
    yield _node("Mul", [IDS, "read_0"], "read_zeros")
    yield _node("Add", ["read_zeros", "read_1"], "read_ones")
    yield _node("CumSum", ["read_ones", axis_name], "read_positions")
    yield _node("Mul", ["read_positions", "read_31"], "read_scaled")
    yield _node("Add", ["read_scaled", "read_1"], "read_weights")
    if masked:
        yield _node("Mul", [IDS, MASK], "read_ids")
    yield _node("Mul", ["read_ids" if masked else IDS, "read_weights"], "read_products")
    yield _node("CumSum", ["read_products", axis_name], "read_sums")
    yield _node("Gather", ["read_sums", _LAST], NAME, onnx.attribute("axis", axis))


def _node(operation: str, inputs: list[str], output: str, *attributes: bytes) -> bytes:
    return onnx.node(operation, inputs, output, *attributes, name=output)
