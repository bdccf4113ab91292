"""The output `read` of a graph: a checksum of the token ids that the graph has read.

`add_read_output` adds it to an ONNX file, for a server that runs the graph itself. A message of Protocol Buffers is
extended by the bytes of another one behind it: repeated fields are appended, and fields of a common submessage merged
(https://protobuf.dev/programming-guides/encoding/#last-one-wins). So the additions are a second, small model behind the
first, and no library for ONNX is needed. Fields have their numbers from onnx.proto.

The checksum is the same as in `seals.read_checksums`: the sum of id x (position x 31 + 1), with positions from 1.
"""

from collections.abc import Iterator

INT64 = 7
"""The code of the type in ONNX."""
INT_ATTRIBUTE = 2
"""The code of an attribute with an integer."""
NAME = "read"
IDS, MASK = "input_ids", "attention_mask"
_CONSTANTS = {"read_0": 0, "read_1": 1, "read_31": 31}
_LAST = "read_last"


def add_read_output(model: bytes) -> bytes:
    """Return the ONNX file with the output. Its input `input_ids` has the shape (tokens,). Operators of set 11 are
    enough."""
    return _extend(model, axis=0, masked=False)


def add_read_output_of_rows(model: bytes) -> bytes:
    """Return the ONNX file with the output. Its inputs `input_ids` and `attention_mask` have the shape (n, tokens)."""
    return _extend(model, axis=1, masked=True)


def _extend(model: bytes, *, axis: int, masked: bool) -> bytes:
    if NAME.encode() + b"_positions" in model:
        return model
    nodes = b"".join(_field(1, node) for node in _nodes(f"read_{axis}", axis, masked=masked))
    constants = b"".join(_field(5, _scalar(name, value)) for name, value in _CONSTANTS.items())
    constants += _field(5, _field(1, 1) + _scalar(_LAST, -1))  # one dimension of one number
    return model + _field(7, nodes + constants + _field(12, _output(rows=bool(axis))))


def _nodes(axis_name: str, axis: int, *, masked: bool) -> Iterator[bytes]:
    """Yield the operations. The sum of a row is the last one of its running sums: the operator for sums has another
    form since set 13, and running sums have one form."""
    yield _node("Mul", (IDS, "read_0"), "read_zeros")
    yield _node("Add", ("read_zeros", "read_1"), "read_ones")
    yield _node("CumSum", ("read_ones", axis_name), "read_positions")
    yield _node("Mul", ("read_positions", "read_31"), "read_scaled")
    yield _node("Add", ("read_scaled", "read_1"), "read_weights")
    if masked:
        yield _node("Mul", (IDS, MASK), "read_ids")
    yield _node("Mul", ("read_ids" if masked else IDS, "read_weights"), "read_products")
    yield _node("CumSum", ("read_products", axis_name), "read_sums")
    yield _node("Gather", ("read_sums", _LAST), NAME) + _field(5, _integer("axis", axis))


def _node(operation: str, inputs: tuple[str, ...], output: str) -> bytes:
    named = b"".join(_field(1, name.encode()) for name in inputs)
    return named + _field(2, output.encode()) + _field(3, output.encode()) + _field(4, operation.encode())


def _integer(name: str, value: int) -> bytes:
    """Return an attribute with an integer (`name`, `i`, `type`)."""
    return _field(1, name.encode()) + _field(3, value) + _field(20, INT_ATTRIBUTE)


def _scalar(name: str, value: int) -> bytes:
    """Return a tensor without dimensions (`data_type`, `name`, `raw_data`)."""
    return _field(2, INT64) + _field(8, name.encode()) + _field(9, value.to_bytes(8, "little", signed=True))


def _output(*, rows: bool) -> bytes:
    """Return the description of the output, INT64: one number, or one of each row."""
    row = _field(1, _field(2, b"batch")) if rows else b""
    shape = row + _field(1, _field(1, 1))
    return _field(1, NAME.encode()) + _field(2, _field(1, _field(1, INT64) + _field(2, shape)))


def _field(number: int, value: int | bytes) -> bytes:
    """Return a field: an integer, or a text, tensor or message with its length before it."""
    if isinstance(value, int):
        return _varint(number << 3) + _varint(value)
    return _varint(number << 3 | 2) + _varint(len(value)) + value


def _varint(value: int) -> bytes:
    """Return a number in groups of seven bits, the lowest first."""
    groups = []
    while value > 0x7F:
        groups.append(value & 0x7F | 0x80)
        value >>= 7
    return bytes([*groups, value])
