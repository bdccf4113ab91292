"""A cross-encoder of a few hundred bytes, written as an ONNX file and a tokenizer by hand.

Its score is the number of words that query and text have in common: each token is a vector of zeros with a one at its
place, the vectors of both segments are summed, and the score is the product of the sums. So it reads ids, segments and
mask as a real model does, and its scores are known.
"""

import json
import shutil
import subprocess
import sys
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from streams.settings import Settings

WORDS = (
    "[PAD]",
    "[UNK]",
    "[CLS]",
    "[SEP]",
    "river",
    "riffle",
    "shallow",
    "water",
    "log",
    "database",
    "checkpoint",
    "a",
)
_FLOAT, _INT64 = 1, 7


def write_model(folder: Path) -> Path:
    """Write config.json, tokenizer.json and model.onnx, as the folder of a cross-encoder has them."""
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "config.json").write_text(json.dumps({"max_position_embeddings": 24}))
    (folder / "tokenizer.json").write_text(json.dumps(_tokenizer()))
    (folder / "model.onnx").write_bytes(_model())
    return folder


def exported(folder: Path, *, graph: bool = False) -> Path:
    """A model repository with the model, made as an operator makes one. `graph`: beside models that are graphs."""
    models = Settings().models_path
    model, repository = write_model(folder / "tiny"), folder / "repository"
    if graph:
        shutil.copytree(models / "production" / "sbert", repository / "sbert", dirs_exist_ok=True)
    script = models / "export_rerank.py"
    command: list[str | Path] = [sys.executable, script, model, "--output", repository, "--onnx", model / "model.onnx"]
    subprocess.run(command, check=True, capture_output=True)
    return repository


def _tokenizer() -> dict[str, object]:
    special = [
        {"id": WORDS.index(name), "content": name, "special": True, "normalized": False,
         "single_word": False, "lstrip": False, "rstrip": False}
        for name in WORDS[:4]
    ]  # fmt: skip
    cls, sep = ({"SpecialToken": {"id": name, "type_id": kind}} for name, kind in (("[CLS]", 0), ("[SEP]", 0)))
    first, second = ({"Sequence": {"id": name, "type_id": kind}} for name, kind in (("A", 0), ("B", 1)))
    last = {"SpecialToken": {"id": "[SEP]", "type_id": 1}}
    return {
        "version": "1.0",
        "truncation": None,
        "padding": None,
        "added_tokens": special,
        "normalizer": {"type": "Lowercase"},
        "pre_tokenizer": {"type": "Whitespace"},
        "post_processor": {
            "type": "TemplateProcessing",
            "single": [cls, first, sep],
            "pair": [cls, first, sep, second, last],
            "special_tokens": {
                name: {"id": name, "ids": [WORDS.index(name)], "tokens": [name]} for name in ("[CLS]", "[SEP]")
            },
        },
        "decoder": None,
        "model": {"type": "WordLevel", "vocab": {word: id for id, word in enumerate(WORDS)}, "unk_token": "[UNK]"},
    }


def _model() -> bytes:
    """The network. Fields of protocol buffers have the numbers of onnx.proto."""
    table = np.diag([0, 0, 0, 0, *[1] * (len(WORDS) - 4)]).astype(np.float32)
    nodes = [
        _node("Gather", ["table", "input_ids"], "vectors"),
        _node("Cast", ["token_type_ids"], "types", _attribute("to", _FLOAT)),
        _node("Cast", ["attention_mask"], "mask", _attribute("to", _FLOAT)),
        _node("Mul", ["types", "mask"], "second"),
        _node("Sub", ["mask", "second"], "first"),
        *(
            node
            for name in ("first", "second")
            for node in (
                _node("Unsqueeze", [name], f"{name}_column", _attribute("axes", [2])),
                _node("Mul", ["vectors", f"{name}_column"], f"{name}_vectors"),
                _node(
                    "ReduceSum", [f"{name}_vectors"], f"{name}_sum", _attribute("axes", [1]), _attribute("keepdims", 0)
                ),
            )
        ),
        _node("Mul", ["first_sum", "second_sum"], "product"),
        _node("ReduceSum", ["product"], "logits", _attribute("axes", [1]), _attribute("keepdims", 1)),
    ]
    inputs = [_value(name, _INT64, ("batch", "tokens")) for name in ("input_ids", "attention_mask", "token_type_ids")]
    graph = b"".join(_field(1, node) for node in nodes) + _text(2, "tiny") + _field(5, _tensor("table", table))
    graph += b"".join(_field(11, value) for value in inputs) + _field(12, _value("logits", _FLOAT, ("batch", 1)))
    return _number(1, 6) + _field(7, graph) + _field(8, _text(1, "") + _number(2, 11))


def _node(kind: str, inputs: list[str], output: str, *attributes: bytes) -> bytes:
    names = b"".join(_text(1, name) for name in inputs) + _text(2, output)
    return names + _text(4, kind) + b"".join(_field(5, attribute) for attribute in attributes)


def _attribute(name: str, value: int | list[int]) -> bytes:
    if isinstance(value, int):
        return _text(1, name) + _number(3, value) + _number(20, 2)
    return _text(1, name) + b"".join(_number(8, each) for each in value) + _number(20, 7)


def _tensor(name: str, values: NDArray[np.float32]) -> bytes:
    dims = b"".join(_number(1, size) for size in values.shape)
    return dims + _number(2, _FLOAT) + _text(8, name) + _field(9, values.tobytes())


def _value(name: str, kind: int, dims: tuple[str | int, ...]) -> bytes:
    shape = b"".join(_field(1, _text(2, dim) if isinstance(dim, str) else _number(1, dim)) for dim in dims)
    return _text(1, name) + _field(2, _field(1, _number(1, kind) + _field(2, shape)))


def _number(field: int, value: int) -> bytes:
    return _varint(field << 3) + _varint(value)


def _text(field: int, value: str) -> bytes:
    return _field(field, value.encode())


def _field(field: int, content: bytes) -> bytes:
    return _varint(field << 3 | 2) + _varint(len(content)) + content


def _varint(value: int) -> bytes:
    parts = bytearray()
    while value > 127:
        parts.append(value & 127 | 128)
        value >>= 7
    return bytes([*parts, value])
