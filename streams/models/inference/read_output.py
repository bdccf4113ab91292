"""The output `read` of the chain model's graph: a checksum of the token ids that the graph has read.

`add_read_output` adds it to an ONNX file, for a server that runs the graph itself. A message of Protocol Buffers is
extended by the bytes of another one behind it: repeated fields are appended, and fields of a common submessage merged
(https://protobuf.dev/programming-guides/encoding/#last-one-wins). So the additions are a second, small model behind the
first, and no library for ONNX is needed. Fields have their numbers from onnx.proto.

The checksum is the same as in `seals.read_checksums`: the sum of id x (position x 31 + 1), with positions from 1.
"""

INT64 = 7
"""The code of the type in ONNX."""
NAME = "read"
_INPUT = "input_ids"
_CONSTANTS = {"read_0": 0, "read_1": 1, "read_31": 31}
_NODES = (
    ("Mul", (_INPUT, "read_0"), "read_zeros"),
    ("Add", ("read_zeros", "read_1"), "read_ones"),
    ("CumSum", ("read_ones", "read_0"), "read_positions"),
    ("Mul", ("read_positions", "read_31"), "read_scaled"),
    ("Add", ("read_scaled", "read_1"), "read_weights"),
    ("Mul", (_INPUT, "read_weights"), "read_products"),
    ("ReduceSum", ("read_products",), NAME),  # over all axes, with one number left
)


def add_read_output(model: bytes) -> bytes:
    """Return the ONNX file with the output. Its input `input_ids` has the shape (tokens,)."""
    if NAME.encode() + b"_positions" in model:
        return model
    nodes = b"".join(_field(1, _node(*node)) for node in _NODES)
    constants = b"".join(_field(5, _scalar(name, value)) for name, value in _CONSTANTS.items())
    graph = nodes + constants + _field(12, _output())
    return model + _field(7, graph)


def _node(operation: str, inputs: tuple[str, ...], output: str) -> bytes:
    named = b"".join(_field(1, name.encode()) for name in inputs)
    return named + _field(2, output.encode()) + _field(3, output.encode()) + _field(4, operation.encode())


def _scalar(name: str, value: int) -> bytes:
    """Return a tensor without dimensions (`data_type`, `name`, `raw_data`)."""
    return _field(2, INT64) + _field(8, name.encode()) + _field(9, value.to_bytes(8, "little"))


def _output() -> bytes:
    """Return the description of the output: INT64, one dimension of one number."""
    shape = _field(1, _field(1, 1))
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
