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

from streams.models.inference.packed.onnx_bytes import FLOAT, INT64, attribute, field, node, number, tensor, text, value
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
        node("Gather", ["table", "input_ids"], "vectors"),
        node("Cast", ["token_type_ids"], "types", attribute("to", FLOAT)),
        node("Cast", ["attention_mask"], "mask", attribute("to", FLOAT)),
        node("Mul", ["types", "mask"], "second"),
        node("Sub", ["mask", "second"], "first"),
        *(
            each
            for name in ("first", "second")
            for each in (
                node("Unsqueeze", [name], f"{name}_column", attribute("axes", [2])),
                node("Mul", ["vectors", f"{name}_column"], f"{name}_vectors"),
                node("ReduceSum", [f"{name}_vectors"], f"{name}_sum", attribute("axes", [1]), attribute("keepdims", 0)),
            )
        ),
        node("Mul", ["first_sum", "second_sum"], "product"),
        node("ReduceSum", ["product"], "logits", attribute("axes", [1]), attribute("keepdims", 1)),
    ]
    inputs = [value(name, INT64, ("batch", "tokens")) for name in ("input_ids", "attention_mask", "token_type_ids")]
    graph = b"".join(field(1, node) for node in nodes) + text(2, "tiny") + field(5, tensor("table", table))
    graph += b"".join(field(11, value) for value in inputs) + field(12, value("logits", FLOAT, ("batch", 1)))
    return number(1, 6) + field(7, graph) + field(8, text(1, "") + number(2, 11))
