"""A sentence encoder of a few hundred bytes that knows two languages, as a model repository of its own.

It is as far from the bundled model as a user's own may be: another length of its vectors, a Unigram tokenizer with
other marks around a text, in which a word begins with `▁`, and a network without segments of its input. Words of both
languages that mean the same have the same vector: a one at the place of their meaning.
"""

import json
from hashlib import sha256
from pathlib import Path

import numpy as np

from streams.models.inference.packed.onnx_bytes import FLOAT, INT64, field, node, number, tensor, text, value
from streams.models.inference.repository import LOCAL_REPOSITORY
from streams.models.inprocess import VERSION
from streams.settings import Settings

NAME, MODEL = "two_languages", "tiny-two-languages"
MEANINGS = (("cat", "gato"), ("sleeps", "duerme"), ("bread", "pan"), ("bakes", "hornea"), ("river", "río"))
MARKS = ("<s>", "<pad>", "</s>", "<unk>")
DIMENSIONS = len(MEANINGS)


def write_repository(folder: Path, **changed: str) -> Path:
    """Write a repository with the model as the local one has its own, and with the local model of chains."""
    made = folder / LOCAL_REPOSITORY / NAME
    (made / VERSION).mkdir(parents=True)
    local = Settings().models_path / LOCAL_REPOSITORY
    (folder / LOCAL_REPOSITORY / "statement_chain").symlink_to(local / "statement_chain")
    files = {"model": ("model.onnx", _model()), "tokenizer": ("tokenizer.json", json.dumps(_tokenizer()).encode())}
    parameters = {
        "model_name": MODEL, "model_version": "1", "runtime": "onnxruntime", "dimensions": str(DIMENSIONS),
        "max_tokens": "32", "normalized": "true", "pooling": "mean", **changed,
    }  # fmt: skip
    for what, (name, content) in files.items():
        (made / VERSION / name).write_bytes(content)
        parameters |= {f"{what}_sources": f"path:{name}", f"{what}_sha256": sha256(content).hexdigest()}
    lines = [f'{{ key: "{key}" value {{ string_value: "{value}" }} }}' for key, value in parameters.items()]
    (made / "config.pbtxt").write_text(f'name: "{NAME}"\nparameters [\n' + ",\n".join(lines) + "\n]\n")
    return folder


def _words() -> list[str]:
    return [f"▁{word}" for pair in MEANINGS for word in pair]


def _tokenizer() -> dict[str, object]:
    vocabulary = [[piece, -1.0] for piece in (*MARKS, *_words(), "▁")]
    marks = [
        {"id": place, "content": name, "special": True, "normalized": False, "single_word": False, "lstrip": False,
         "rstrip": False}
        for place, name in enumerate(MARKS)
    ]  # fmt: skip
    first, last = ({"SpecialToken": {"id": name, "type_id": 0}} for name in ("<s>", "</s>"))
    return {
        "version": "1.0",
        "truncation": None,
        "padding": None,
        "added_tokens": marks,
        "normalizer": {"type": "Lowercase"},
        "pre_tokenizer": {"type": "Metaspace", "replacement": "▁", "prepend_scheme": "always", "split": True},
        "post_processor": {
            "type": "TemplateProcessing",
            "single": [first, {"Sequence": {"id": "A", "type_id": 0}}, last],
            "pair": [first, {"Sequence": {"id": "A", "type_id": 0}}, {"Sequence": {"id": "B", "type_id": 0}}, last],
            "special_tokens": {
                name: {"id": name, "ids": [MARKS.index(name)], "tokens": [name]} for name in ("<s>", "</s>")
            },
        },
        "decoder": None,
        "model": {"type": "Unigram", "unk_id": MARKS.index("<unk>"), "vocab": vocabulary, "byte_fallback": False},
    }


def _model() -> bytes:
    """The network: the row of each token. It reads no mask and no segments, only ids."""
    table = np.zeros((len(MARKS) + 2 * DIMENSIONS + 1, DIMENSIONS), np.float32)
    for place in range(2 * DIMENSIONS):
        table[len(MARKS) + place, place // 2] = 1.0
    graph = field(1, node("Gather", ["table", "input_ids"], "hidden")) + text(2, "tiny")
    graph += field(5, tensor("table", table)) + field(11, value("input_ids", INT64, ("batch", "tokens")))
    graph += field(12, value("hidden", FLOAT, ("batch", "tokens", DIMENSIONS)))
    return number(1, 6) + field(7, graph) + field(8, text(1, "") + number(2, 11))
