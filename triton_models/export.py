"""Exports a sentence-transformers model for the production repository: ONNX in half precision, pooling inside.

    pip install torch transformers onnx        # beside Riffle: several GB
    python triton_models/export.py MODEL --output REPOSITORY [--version N] [--precision fp16|fp32]

MODEL is a folder with a sentence-transformers model (config.json, the weights, tokenizer.json, modules.json,
1_Pooling/config.json), such as a clone of multi-qa-mpnet-base-dot-v1. Nothing is downloaded. REPOSITORY is a copy of
triton_models/production; the script writes model.onnx into it (for statements, and in single precision for queries on
CPUs), and name, version, dimensions, pooling and the tokenizer into its config.pbtxt files, from which clients read
them. It also writes the chain model, with an output that proves its answers. The vectors of a few sentences, in batches
of other sizes and lengths than the exported one, are compared with PyTorch's.

In half precision, attention is one operator of ONNX Runtime where it is recognized (`fused_attention`). TensorRT does
not know that operator: `--precision fp32` leaves attention as PyTorch exports it.

TensorRT: build the plan from the fp32 export on the kind of GPU that will run it, with TensorRT's own tool:

    trtexec --onnx=model.onnx --saveEngine=model.plan --fp16 \\
        --minShapes=input_ids:1x32,attention_mask:1x32 \\
        --optShapes=input_ids:64x64,attention_mask:64x64 \\
        --maxShapes=input_ids:256x512,attention_mask:256x512
"""

import argparse
import hashlib
import json
import re
import shutil
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from streams.models.inference.repository import CHAIN_MODEL, find_file, parameters_of, read_config, set_parameters
from streams.models.inference.tokenizing import pack_tokenizer

PRODUCTION = Path(__file__).parent / "production"
LOCAL_CHAIN_MODEL = Path(__file__).parent / "local" / CHAIN_MODEL
EMBEDDING_MODEL = "sbert"
SAMPLES = ("A dog.", "Write-ahead logging lets readers go on while a writer commits.", "Wie tief ist das Wasser? " * 9)
QUERY_MODEL = "sbert_query"
"""The model for queries on CPUs: always in single precision, which CPUs compute faster than half precision."""
TOLERANCE = {"fp16": 0.9995, "fp32": 0.999999}
"""Minimum cosine between an exported vector and PyTorch's."""


def main() -> None:
    arguments = _arguments()
    try:
        import onnx  # noqa: F401
        import torch
        import transformers
    except ImportError as error:
        sys.exit(f"{error.name} is missing. The export needs: pip install torch transformers onnx")
    description = describe(arguments.model, arguments.precision)
    tokenizer = transformers.AutoTokenizer.from_pretrained(arguments.model, local_files_only=True)
    transformer = transformers.AutoModel.from_pretrained(arguments.model, local_files_only=True).eval()
    pooled = _pooled(torch, transformer, description)
    files = {
        _file(arguments, EMBEDDING_MODEL): arguments.precision,
        _file(arguments, QUERY_MODEL): "fp32",
    }
    for target, precision in files.items():
        _write_onnx(torch, pooled, tokenizer, target)
        if precision == "fp16":
            _halve(target, transformer.config.num_attention_heads)
        _compare(torch, pooled, tokenizer, target, TOLERANCE[precision])
    packed = pack_tokenizer((arguments.model / "tokenizer.json").read_bytes())
    describe_in_configs(arguments.output, description | packed)
    install_chain_model(arguments.output, arguments.version)
    drop_models_without_file(arguments.output)
    for target in files:
        print(f"{target}: sha256 {sha256(target)}")  # noqa: T201 - a script's result


def _file(arguments: argparse.Namespace, model: str) -> Path:
    return graph_file(arguments.output, model, arguments.version)


def graph_file(repository: Path, model: str, version: str) -> Path:
    """Return the place of a model's graph, in a folder with the model's configuration."""
    if not (repository / model).is_dir():
        shutil.copytree(PRODUCTION / model, repository / model)
    target = repository / model / version / "model.onnx"
    target.parent.mkdir(parents=True, exist_ok=True)
    return target


def drop_models_without_file(repository: Path) -> None:
    """Remove the models that nobody exported: a server is not ready with them."""
    for config in repository.glob("*/config.pbtxt"):
        if not [*config.parent.glob("*/model.*")]:
            shutil.rmtree(config.parent)


def describe(model: Path, precision: str) -> dict[str, str]:
    """The parameters of a sentence-transformers folder."""
    config = json.loads((model / "config.json").read_text())
    pooling = json.loads((model / "1_Pooling" / "config.json").read_text())
    modules = json.loads((model / "modules.json").read_text())
    limits = json.loads((model / "sentence_bert_config.json").read_text())
    if pooling.get("pooling_mode_cls_token") == pooling.get("pooling_mode_mean_tokens"):
        sys.exit(
            f"{model}: pooling must be that of the first token or the mean, and its 1_Pooling/config.json has neither"
        )
    return {
        "model_name": model.resolve().name,
        "model_version": f"{precision}-1",
        "dimensions": str(config["hidden_size"]),
        "max_tokens": str(limits["max_seq_length"]),
        "normalized": "true" if any(module["type"].endswith("Normalize") for module in modules) else "false",
        "pooling": "cls" if pooling["pooling_mode_cls_token"] else "mean",
    }


def _pooled(torch: Any, transformer: Any, description: dict[str, str]) -> Any:
    class Pooled(torch.nn.Module):
        """Transformer, pooling and scaling in one graph, so that only one vector for each text leaves the GPU.

        The second output is the checksum of the ids that the graph read, as `read_checksums` in
        streams/models/inference/seals.py makes it.
        """

        def __init__(self) -> None:
            super().__init__()
            self.transformer = transformer

        def forward(self, input_ids: Any, attention_mask: Any) -> Any:
            hidden = self.transformer(input_ids=input_ids, attention_mask=attention_mask).last_hidden_state
            if description["pooling"] == "cls":
                vectors = hidden[:, 0]
            else:
                weights = attention_mask.unsqueeze(-1).to(hidden.dtype)
                vectors = (hidden * weights).sum(1) / weights.sum(1)
            if description["normalized"] == "true":
                vectors = torch.nn.functional.normalize(vectors, dim=1)
            places = (torch.arange(input_ids.shape[1], device=input_ids.device) + 1) * 31 + 1
            return vectors, (input_ids * attention_mask * places).sum(1, keepdim=True)

    return Pooled().eval()


def _write_onnx(torch: Any, pooled: Any, tokenizer: Any, target: Path) -> None:
    sample = tokenizer(list(SAMPLES), padding=True, return_tensors="pt")
    names = {0: "batch", 1: "tokens"}
    torch.onnx.export(
        pooled,
        (sample["input_ids"], sample["attention_mask"]),
        str(target),
        input_names=["input_ids", "attention_mask"],
        output_names=["embedding", "read"],
        dynamic_axes={"input_ids": names, "attention_mask": names, "embedding": {0: "batch"}, "read": {0: "batch"}},
        opset_version=17,
        dynamo=False,
    )


def _halve(target: Path, heads: int) -> None:
    """Rewrite the graph in half precision, with fused attention."""
    import onnx
    from onnxruntime.transformers.float16 import convert_float_to_float16

    sys.path.insert(0, str(Path(__file__).parents[1]))  # Riffle may be installed without this folder
    from triton_models.fused_attention import fuse_attention

    model = onnx.load(str(target))
    places = fuse_attention(model, heads)
    # Inputs and outputs stay as they are (keep_io_types): the tensors are the same in either precision.
    onnx.save(convert_float_to_float16(model, keep_io_types=True), str(target))
    print(f"{target}: attention is one operator in {places} places")  # noqa: T201 - a script's result


def _compare(torch: Any, pooled: Any, tokenizer: Any, target: Path, least: float) -> None:
    import onnxruntime

    session = onnxruntime.InferenceSession(str(target), providers=onnxruntime.get_available_providers())
    cosine = 1.0
    # The graph was traced with one batch: others show whether it kept a size of it as a constant.
    for texts in (SAMPLES, SAMPLES[:1], SAMPLES[1:] * 3):
        sample = tokenizer(list(texts), padding=True, return_tensors="pt")
        feeds = {name: sample[name].numpy() for name in ("input_ids", "attention_mask")}
        vectors, read = session.run(["embedding", "read"], feeds)
        with torch.no_grad():
            expected, expected_read = pooled(sample["input_ids"], sample["attention_mask"])
        if (torch.from_numpy(read) != expected_read).any():
            sys.exit(f"{target}: the checksums of the token ids are not PyTorch's")
        exported = torch.from_numpy(vectors).float()
        cosine = min(cosine, torch.nn.functional.cosine_similarity(exported, expected.float()).min().item())
    if not cosine >= least:
        sys.exit(f"{target}: a vector differs from PyTorch's (cosine {cosine:.6f}, at least {least} is wanted)")
    print(f"{target}: cosine to PyTorch's vectors at least {cosine:.6f}")  # noqa: T201


def install_chain_model(repository: Path, version: str) -> None:
    """Write the chain model of the local repository, with the output `read`, and its tokenizer."""
    sys.path.insert(0, str(Path(__file__).parents[1]))  # Riffle may be installed without this folder
    from triton_models.read_output import add_read_output

    parameters, folder = parameters_of(read_config(LOCAL_CHAIN_MODEL)), LOCAL_CHAIN_MODEL / "1"
    target = repository / CHAIN_MODEL / version / "model.onnx"
    target.parent.mkdir(parents=True, exist_ok=True)
    target.write_bytes(add_read_output(find_file(parameters, "model", folder).read_bytes()))
    packed = pack_tokenizer(find_file(parameters, "tokenizer", folder).read_bytes())
    # The copy may have the configuration of another chain model.
    config = (PRODUCTION / CHAIN_MODEL / "config.pbtxt").read_text()
    (repository / CHAIN_MODEL / "config.pbtxt").write_text(set_parameters(config, parameters | packed))


def describe_in_configs(repository: Path, values: Mapping[str, str]) -> None:
    """Write the parameters, and the output's dimensions, into the config.pbtxt files of the embedding models."""
    for path in sorted(repository.glob(f"{EMBEDDING_MODEL}*/**/*.pbtxt")):
        text = set_parameters(path.read_text(), values)
        pattern = r'(name: "embedding" data_type: TYPE_FP32 dims: \[ )\d+'
        path.write_text(re.sub(pattern, rf"\g<1>{values['dimensions']}", text))


def sha256(path: Path) -> str:
    return hashlib.sha256(path.read_bytes()).hexdigest()


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("model", type=Path, help="folder of a sentence-transformers model")
    parser.add_argument("--output", type=Path, required=True, help="a copy of triton_models/production")
    parser.add_argument("--version", default="1", help="version folder to write (default 1)")
    parser.add_argument("--precision", choices=("fp16", "fp32"), default="fp16")
    return parser.parse_args()


if __name__ == "__main__":
    main()
