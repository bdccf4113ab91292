"""A file of the layout E5S1 with a network of two layers, and the network's numbers without a library for networks."""

import struct
from typing import Any

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float32]
HIDDEN, LAYERS, HEADS, INNER, ROWS, POSITIONS = 32, 2, 2, 64, 16, 64
PIECES = (
    ("<s>", 0.0), ("<pad>", 0.0), ("</s>", 0.0), ("<unk>", 0.0), ("▁", -4.0), ("▁the", -3.0), ("▁river", -5.0),
    ("▁ri", -6.0), ("ver", -6.5), ("s", -5.0), ("é", -7.0), ("～", -8.0), ("▁fi", -7.0), ("<mask>", 0.0),
)  # fmt: skip
REPLACED = {"\t": " ", "\n": " ", "\x01": "", "\u200b": " ", "ﬁ": "fi"}
SHAPES = {"q": HIDDEN, "k": HIDDEN, "v": HIDDEN, "ao": HIDDEN, "fi": INNER, "fo": HIDDEN}
"""The products of a layer with the number of their outputs."""


def packed_file() -> tuple[bytes, dict[str, Floats]]:
    """Return the file, and its numbers by name."""
    random = np.random.default_rng(3)
    tensors: dict[str, Floats] = {}
    stored: list[tuple[str, int, int, bytes]] = []

    def add_vector(name: str, values: NDArray[Any]) -> None:
        tensors[name] = values.astype(np.float32)
        stored.append((name, 0, values.size, tensors[name].tobytes()))

    def add_blocks(name: str, rows: int, columns: int) -> None:
        numbers = random.integers(0, 16, (rows, columns // 32, 32)).astype(np.uint8)
        scales = random.uniform(0.01, 0.05, (rows, columns // 32)).astype(np.float16)
        tensors[name] = ((numbers.astype(np.float32) - 8) * scales[..., None]).reshape(rows, columns)
        content = b"".join(
            scale.tobytes() + (block[:16] | block[16:] << 4).tobytes()
            for scale, block in zip(scales.reshape(-1), numbers.reshape(-1, 32), strict=True)
        )
        stored.append((name, 1, rows * columns, content))

    add_blocks("emb.word", ROWS, HIDDEN)
    add_vector("emb.pos", random.normal(size=POSITIONS * HIDDEN) * 0.1)
    add_vector("emb.type", random.normal(size=2 * HIDDEN) * 0.1)
    norms = ["emb.ln", *(f"l{layer}.{part}" for layer in range(LAYERS) for part in ("aln", "oln"))]
    for layer in range(LAYERS):
        for part, outputs in SHAPES.items():
            add_blocks(f"l{layer}.{part}.w", outputs, INNER if part == "fo" else HIDDEN)
            add_vector(f"l{layer}.{part}.b", random.normal(size=outputs) * 0.1)
    for name in norms:
        add_vector(f"{name}.w", random.uniform(0.5, 1.5, HIDDEN))
        add_vector(f"{name}.b", random.normal(size=HIDDEN) * 0.1)
    return _header() + _directory(stored), tensors


def _header() -> bytes:
    texts = [piece.encode() for piece, _ in PIECES]
    ends = np.cumsum([0, *map(len, texts)]).astype("<u4")
    replaced = b"".join(
        struct.pack(f"<IB{len(to)}I", ord(own), len(to), *map(ord, to)) for own, to in sorted(REPLACED.items())
    )
    return b"".join([
        b"E5S1", struct.pack("<I7ifi", 1, HIDDEN, LAYERS, HEADS, INNER, ROWS, POSITIONS, 2, 1e-12, 32),
        struct.pack("<5iQ", len(PIECES), 0, 2, 1, 3, int(ends[-1])), ends.tobytes(),
        np.array([score for _, score in PIECES], "<f4").tobytes(), b"".join(texts),
        struct.pack("<iI", len(REPLACED), len(replaced)), replaced,
    ])  # fmt: skip


def _directory(stored: list[tuple[str, int, int, bytes]]) -> bytes:
    """Return the directory of the tensors with the tensors behind it."""
    size = 4 + sum(2 + len(name) + 1 + 4 + 16 for name, *_ in stored)
    place, lines, contents = len(_header()) + size, [struct.pack("<i", len(stored))], []
    for name, kind, count, content in stored:
        lines.append(struct.pack(f"<H{len(name)}sBIQQ", len(name), name.encode(), kind, count, place, len(content)))
        contents.append(content)
        place += len(content)
    return b"".join([*lines, *contents])


def last_layer(tensors: dict[str, Floats], ids: list[int]) -> Floats:
    """Return the last layer for one text, as the network's description has it."""
    from math import erf

    def normalize(states: Any, name: str) -> Any:
        centred = states - states.mean(axis=1, keepdims=True)
        scaled = centred / np.sqrt((centred**2).mean(axis=1, keepdims=True) + 1e-12)
        return scaled * tensors[f"{name}.w"] + tensors[f"{name}.b"]

    def product(states: Any, name: str) -> Any:
        return states @ tensors[f"{name}.w"].T + tensors[f"{name}.b"]

    places, kinds = tensors["emb.pos"].reshape(POSITIONS, HIDDEN), tensors["emb.type"].reshape(2, HIDDEN)
    states = normalize(tensors["emb.word"][ids] + places[: len(ids)] + kinds[0], "emb.ln")
    size = HIDDEN // HEADS
    for layer in range(LAYERS):
        queries, keys, values = (product(states, f"l{layer}.{part}") for part in "qkv")
        attended = np.empty_like(states)
        for head in range(HEADS):
            part = slice(head * size, (head + 1) * size)
            scores = queries[:, part] @ keys[:, part].T / np.sqrt(size)
            shares = np.exp(scores - scores.max(axis=1, keepdims=True))
            attended[:, part] = shares / shares.sum(axis=1, keepdims=True) @ values[:, part]
        states = normalize(states + product(attended, f"l{layer}.ao"), f"l{layer}.aln")
        inner = product(states, f"l{layer}.fi")
        inner = inner * (1 + np.vectorize(erf)(inner / np.sqrt(2))) / 2
        states = normalize(states + product(inner, f"l{layer}.fo"), f"l{layer}.oln")
    found: Floats = states.astype(np.float32)
    return found
