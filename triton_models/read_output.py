"""The output `read` of a graph: a checksum of the token ids that the graph has read.

`add_read_output` adds it to an ONNX file, for a server that runs the graph itself. A message of Protocol Buffers is
extended by the bytes of another one behind it: repeated fields are appended, and fields of a common submessage merged
(https://protobuf.dev/programming-guides/encoding/#last-one-wins). So the additions are a second, small model behind the
first, and no library for ONNX is needed. Fields have their numbers from onnx.proto.

The checksum is the same as in `seals.read_checksums`: the sum of id x (position x 31 + 1), with positions from 1.
"""

from collections.abc import Iterator, Sequence

import numpy as np

from streams.models.inference.packed import onnx_bytes as onnx

NAME = "read"
IDS, MASK = "input_ids", "attention_mask"
_CONSTANTS = {"read_0": 0, "read_1": 1, "read_31": 31}
_LAST = "read_last"
_ONE = "read_column"
"""The checksums of one of several networks."""


def add_read_output(model: bytes, *, rows: bool = False) -> bytes:
    """Return the ONNX file with the output. Its input `input_ids` has the shape (tokens,), or (n, tokens) with `rows`.
    Operators of set 11 are enough."""
    return _extend(model, axis=int(rows), masked=False)


def add_read_output_of_rows(model: bytes, prefixes: Sequence[str] = ("",)) -> bytes:
    """Return the ONNX file with the output. Its inputs `input_ids` and `attention_mask` have the shape (n, tokens).

    A file of several networks has such inputs for each, whose names begin with the network's prefix. The output has
    a column for each.
    """
    return _extend(model, axis=1, masked=True, prefixes=prefixes)


def _extend(model: bytes, *, axis: int, masked: bool, prefixes: Sequence[str] = ("",)) -> bytes:
    if NAME.encode() + b"_positions" in model:
        return model
    alone = len(prefixes) == 1
    nodes = [
        node
        for prefix in prefixes
        for node in _nodes(f"read_{axis}", axis, masked=masked, prefix=prefix, output=NAME if alone else prefix + _ONE)
    ]
    if not alone:
        columns = [prefix + _ONE for prefix in prefixes]
        nodes.append(_node("Concat", columns, NAME, onnx.attribute("axis", 1)))
    constants = [onnx.tensor(name, np.array(value, np.int64)) for name, value in _CONSTANTS.items()]
    constants.append(onnx.tensor(_LAST, np.array([-1], np.int64)))
    output = onnx.value(NAME, onnx.INT64, ("batch", len(prefixes)) if axis else (1,))
    graph = b"".join(onnx.field(1, node) for node in nodes)
    graph += b"".join(onnx.field(5, constant) for constant in constants) + onnx.field(12, output)
    return model + onnx.field(7, graph)


def _nodes(axis_name: str, axis: int, *, masked: bool, prefix: str, output: str) -> Iterator[bytes]:
    """Yield the operations. The sum of a row is the last one of its running sums: the operator for sums has another
    form since set 13, and running sums have one form."""
    ids, own = prefix + IDS, f"{prefix}{NAME}"
    yield _node("Mul", [ids, "read_0"], f"{own}_zeros")
    yield _node("Add", [f"{own}_zeros", "read_1"], f"{own}_ones")
    yield _node("CumSum", [f"{own}_ones", axis_name], f"{own}_positions")
    yield _node("Mul", [f"{own}_positions", "read_31"], f"{own}_scaled")
    yield _node("Add", [f"{own}_scaled", "read_1"], f"{own}_weights")
    if masked:
        yield _node("Mul", [ids, prefix + MASK], f"{own}_ids")
    yield _node("Mul", [f"{own}_ids" if masked else ids, f"{own}_weights"], f"{own}_products")
    yield _node("CumSum", [f"{own}_products", axis_name], f"{own}_sums")
    yield _node("Gather", [f"{own}_sums", _LAST], output, onnx.attribute("axis", axis))


def _node(operation: str, inputs: list[str], output: str, *attributes: bytes) -> bytes:
    return onnx.node(operation, inputs, output, *attributes, name=output)
