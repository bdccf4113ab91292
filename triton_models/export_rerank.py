"""Puts a cross-encoder into a model repository, as the model `rerank`.

    python triton_models/export_rerank.py MODEL --output REPOSITORY [--onnx FILE] [--precision NAME]

MODEL is a folder with a cross-encoder of sentence-transformers (config.json, tokenizer.json, the weights), such as a
clone of cross-encoder/ms-marco-MiniLM-L6-v2. Nothing is downloaded. REPOSITORY is the folder that holds `sbert`:
triton_models/local or a copy of triton_models/production. The model has the interface of `sbert` there: a graph for
clients that tokenize, or a model of Triton's python backend. The script writes rerank/ with model.onnx, the tokenizer
and their description. Then set RIFFLE_TRITON__RERANK_MODEL=rerank.

--onnx takes a file that there is already, such as MODEL/onnx/model_qint8_avx512_vnni.onnx. Without it the weights are
exported in single precision, which needs: pip install torch transformers onnx (not part of Riffle: several GB). The
scores of a few pairs are then compared with PyTorch's.
"""

import argparse
import hashlib
import json
import re
import shutil
import sys
from pathlib import Path
from typing import Any

from streams.models.inference.pairs import IDS, MASK, TYPES
from streams.models.inference.repository import read_config, set_parameters
from streams.models.inference.tokenizing import pack_tokenizer
from streams.models.triton_graphs import is_graph

TEMPLATE = Path(__file__).parent / "rerank"
GRAPH = "graph.pbtxt"
EMBEDDING_MODEL = "sbert"
INPUTS = (IDS, MASK, TYPES)
PAIRS = (
    ("how deep is a riffle", "A riffle is a shallow stretch of a river."),
    ("how deep is a riffle", "Write-ahead logging lets readers continue while a writer commits."),
)
TOLERANCE = 1e-3
"""Maximum difference between an exported score and PyTorch's."""


def main() -> None:
    arguments = _arguments()
    target = arguments.output / "rerank" / "1"
    target.mkdir(parents=True, exist_ok=True)
    if arguments.onnx:
        shutil.copyfile(arguments.onnx, target / "model.onnx")
    else:
        export(arguments.model, target / "model.onnx")
    values = describe(arguments.model, arguments.precision)
    if _has_graphs(arguments.output):
        values |= install_graph(arguments.model, target)
    else:
        values |= install_python_model(arguments.model, target)
    path = target.parent / "config.pbtxt"
    path.write_text(set_parameters(path.read_text(), values))
    print(f"{target.parent}: set RIFFLE_TRITON__RERANK_MODEL=rerank")  # noqa: T201 - a script's result


def _has_graphs(repository: Path) -> bool:
    """Return True if the embedding model beside it is a graph."""
    config = repository / EMBEDDING_MODEL / "config.pbtxt"
    return config.exists() and is_graph(read_config(config.parent))


def install_graph(model: Path, target: Path) -> dict[str, str]:
    """Write the graph with the output `read`, and its configuration. Return the parameters of both files."""
    import onnxruntime

    sys.path.insert(0, str(Path(__file__).parents[1]))  # Riffle may be installed without this folder
    from triton_models.read_output import add_read_output_of_rows

    path = target / "model.onnx"
    path.write_bytes(add_read_output_of_rows(path.read_bytes()))
    inputs = {each.name for each in onnxruntime.InferenceSession(str(path)).get_inputs()}
    config = (TEMPLATE / GRAPH).read_text()
    config = re.sub(r'(name: "logits" data_type: TYPE_FP32 dims: \[ )1', rf"\g<1>{_count_classes(model)}", config)
    if TYPES not in inputs:  # as in models whose segments are not marked
        config = re.sub(rf',\s*\{{ name: "{TYPES}"[^}}]*\}}', "", config)
    (target.parent / "config.pbtxt").write_text(config)
    packed = pack_tokenizer((model / "tokenizer.json").read_bytes())
    return packed | {"model_sha256": sha256(path)}


def _count_classes(model: Path) -> int:
    """Return the number of scores of a pair."""
    config = json.loads((model / "config.json").read_text())
    return len(config.get("id2label", {})) or 1


def install_python_model(model: Path, target: Path) -> dict[str, str]:
    """Write the model of the python backend with its tokenizer. Return the parameters of both files."""
    shutil.copytree(TEMPLATE, target.parent, dirs_exist_ok=True, ignore=shutil.ignore_patterns(GRAPH))
    shutil.copyfile(model / "tokenizer.json", target / "tokenizer.json")
    return {f"{what}_sha256": sha256(target / name) for what, name in _FILES.items()}


def describe(model: Path, precision: str) -> dict[str, str]:
    """Return name, version and length as parameters of the configuration."""
    config = json.loads((model / "config.json").read_text())
    tokenizer = model / "tokenizer_config.json"
    limits = json.loads(tokenizer.read_text()) if tokenizer.exists() else {}
    return {
        "model_name": model.resolve().name,
        "model_version": f"{precision}-1",
        "max_tokens": str(min(limits.get("model_max_length", 512), config.get("max_position_embeddings", 512), 512)),
    }


_FILES = {"model": "model.onnx", "tokenizer": "tokenizer.json"}


def export(model: Path, target: Path) -> None:
    """Export the weights by PyTorch, and compare the scores of a few pairs."""
    try:
        import onnx  # noqa: F401
        import torch
        import transformers
    except ImportError as error:
        sys.exit(f"{error.name} is missing: pip install torch transformers onnx. Or name an ONNX file by --onnx")
    tokenizer = transformers.AutoTokenizer.from_pretrained(model, local_files_only=True)
    network = transformers.AutoModelForSequenceClassification.from_pretrained(model, local_files_only=True).eval()
    sample = dict(tokenizer(list(PAIRS), padding=True, return_tensors="pt"))
    names = [name for name in INPUTS if name in sample]
    torch.onnx.export(
        network,
        ({name: sample[name] for name in names},),
        str(target),
        input_names=names,
        output_names=["logits"],
        dynamic_axes={name: {0: "batch", 1: "tokens"} for name in names} | {"logits": {0: "batch"}},
        opset_version=17,
        dynamo=False,
    )
    _compare(torch, network, sample, names, target)


def _compare(torch: Any, network: Any, sample: dict[str, Any], names: list[str], target: Path) -> None:
    import onnxruntime

    session = onnxruntime.InferenceSession(str(target), providers=["CPUExecutionProvider"])
    exported = session.run(None, {name: sample[name].numpy() for name in names})[0]
    with torch.no_grad():
        expected = network(**sample).logits.numpy()
    difference = float(abs(exported - expected).max())
    if difference > TOLERANCE:
        sys.exit(f"{target}: a score differs from PyTorch's by {difference:.6f}, at most {TOLERANCE} is allowed")


def sha256(path: Path) -> str:
    return hashlib.sha256(path.read_bytes()).hexdigest()


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("model", type=Path, help="folder of a cross-encoder")
    parser.add_argument("--output", type=Path, required=True, help="a model repository: the folder that holds sbert")
    parser.add_argument("--onnx", type=Path, help="an ONNX file of the model, instead of an export")
    parser.add_argument("--precision", default="fp32", help="of the ONNX file, as part of the version (default fp32)")
    return parser.parse_args()


if __name__ == "__main__":
    main()
