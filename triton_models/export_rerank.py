"""Puts a cross-encoder into a model repository, as the model `rerank`.

    python triton_models/export_rerank.py MODEL --output REPOSITORY [--onnx FILE] [--precision NAME]

MODEL is a folder with a cross-encoder of sentence-transformers (config.json, tokenizer.json, the weights), such as a
clone of cross-encoder/ms-marco-MiniLM-L6-v2. Nothing is downloaded. REPOSITORY is the folder that holds `sbert`:
triton_models/local or a copy of triton_models/production. The script copies triton_models/rerank there, with
model.onnx, tokenizer.json and their description. Then set RIFFLE_TRITON__RERANK_MODEL=rerank.

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

TEMPLATE = Path(__file__).parent / "rerank"
INPUTS = ("input_ids", "attention_mask", "token_type_ids")
PAIRS = (
    ("how deep is a riffle", "A riffle is a shallow stretch of a river."),
    ("how deep is a riffle", "Write-ahead logging lets readers continue while a writer commits."),
)
TOLERANCE = 1e-3
"""Maximum difference between an exported score and PyTorch's."""


def main() -> None:
    arguments = _arguments()
    target = arguments.output / "rerank" / "1"
    shutil.copytree(TEMPLATE, target.parent, dirs_exist_ok=True)
    if arguments.onnx:
        shutil.copyfile(arguments.onnx, target / "model.onnx")
    else:
        export(arguments.model, target / "model.onnx")
    shutil.copyfile(arguments.model / "tokenizer.json", target / "tokenizer.json")
    describe(arguments.model, target, arguments.precision)
    print(f"{target.parent}: set RIFFLE_TRITON__RERANK_MODEL=rerank")  # noqa: T201 - a script's result


def describe(model: Path, target: Path, precision: str) -> None:
    """Write name, version, length and checksums into the configuration."""
    config = json.loads((model / "config.json").read_text())
    tokenizer = model / "tokenizer_config.json"
    limits = json.loads(tokenizer.read_text()) if tokenizer.exists() else {}
    values = {
        "model_name": model.resolve().name,
        "model_version": f"{precision}-1",
        "max_tokens": str(min(limits.get("model_max_length", 512), config.get("max_position_embeddings", 512), 512)),
        **{f"{what}_sha256": sha256(target / name) for what, name in _FILES.items()},
    }
    path = target.parent / "config.pbtxt"
    text = path.read_text()
    for key, value in values.items():
        text = re.sub(rf'(key: "{key}" value {{ string_value: )"[^"]*"', rf'\g<1>"{value}"', text)
    path.write_text(text)


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
