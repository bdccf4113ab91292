"""A trained run -> ONNX files (fp32, fp16, int8), their thresholds and a model card.

    python -m triton_models.statement_chain.training.export RUN --dev dev.jsonl --weights MINILM --output FOLDER

The int8 file has its weights in 8 bits, and activations are quantized while it runs. Thresholds are chosen on the
development sentences with the int8 file and the stage's own code (`choose`), and the curve goes into the model card.
"""

import argparse
import hashlib
import json
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np
import onnx
import torch
from onnxruntime.quantization import QuantType, quantize_dynamic
from onnxruntime.quantization.shape_inference import quant_pre_process

from streams.statements.evaluation import ChainQuality, Document, chains_of, quality, read_documents
from streams.stores.inference.chain_encoder import ChainEncoder
from streams.stores.protocols import Link
from triton_models.statement_chain.training.network import ChainNetwork

THRESHOLDS = [round(0.02 * step, 2) for step in range(1, 46)]
MAX_ADDED = 0.12
"""Maximum share of sentences that get a chain and need none."""
INPUTS, OUTPUTS = ["input_ids", "membership"], ["need", "scores", "leaf"]


def main() -> None:
    arguments = _arguments()
    state = torch.load(arguments.run / "checkpoint.pt", weights_only=True)
    network = ChainNetwork(state["recipe"]["layers"])
    network.load_state_dict(state["network"])
    files = export(network.eval(), arguments.output)
    tokenizer = arguments.weights / "tokenizer.json"
    documents = read_documents(arguments.dev)
    curves = {name: curve(_answers(file, tokenizer, documents), documents) for name, file in files.items()}
    need, follow = choose(curves["int8"])
    card = {"recipe": state["recipe"], "epochs": state["epoch"], "need_threshold": need, "follow_threshold": follow}
    card["files"] = {name: {"bytes": file.stat().st_size, "sha256": _sha256(file)} for name, file in files.items()}
    card["curves"] = {name: [[n, f, *q.to_dict().values()] for n, f, q in points] for name, points in curves.items()}
    (arguments.output / "card.json").write_text(json.dumps(card, indent=1) + "\n")
    for name, points in curves.items():
        chosen = next(found for n, f, found in points if (n, f) == (need, follow))
        print(name, files[name].stat().st_size, need, follow, chosen)  # noqa: T201 - a script's result


def export(network: ChainNetwork, output: Path) -> dict[str, Path]:
    """Write the files of the three precisions."""
    output.mkdir(parents=True, exist_ok=True)
    files = {name: output / f"model.{name}.onnx" for name in ("fp32", "fp16", "int8")}
    sentences, tokens = 4, 41
    membership = torch.zeros(sentences, tokens)
    for number in range(sentences):
        membership[number, 1 + number * 10 : 11 + number * 10] = 1
    torch.onnx.export(
        network,
        (torch.arange(1000, 1000 + tokens), membership),
        str(files["fp32"]),
        input_names=INPUTS,
        output_names=OUTPUTS,
        dynamic_axes={
            "input_ids": {0: "tokens"},
            "membership": {0: "sentences", 1: "tokens"},
            "need": {0: "sentences"},
            "scores": {0: "sentences", 1: "sentences"},
            "leaf": {0: "sentences"},
        },
        opset_version=17,
        dynamo=False,
    )
    _half(files["fp32"], files["fp16"])
    prepared = output / "prepared.onnx"
    quant_pre_process(str(files["fp32"]), str(prepared), skip_symbolic_shape=True)
    quantize_dynamic(
        str(prepared),
        str(files["int8"]),
        weight_type=QuantType.QInt8,
        per_channel=True,
        op_types_to_quantize=["MatMul", "Gather", "Gemm"],
    )
    prepared.unlink()
    return files


def _half(source: Path, target: Path) -> None:
    """Store the weights in half precision, and compute in single: a CPU has no half-precision kernels."""
    model = onnx.load(str(source))
    casts = []
    for tensor in model.graph.initializer:
        if tensor.data_type != onnx.TensorProto.FLOAT or len(tensor.dims) < 2:
            continue
        values = onnx.numpy_helper.to_array(tensor).astype(np.float16)
        name = tensor.name
        tensor.CopyFrom(onnx.numpy_helper.from_array(values, f"{name}_half"))
        casts.append(onnx.helper.make_node("Cast", [f"{name}_half"], [name], to=onnx.TensorProto.FLOAT))
    for cast in reversed(casts):
        model.graph.node.insert(0, cast)
    onnx.save(model, str(target))


def _answers(file: Path, tokenizer: Path, documents: Sequence[Document]) -> list[list[Link]]:
    """The links of all documents without thresholds: each sentence has its best antecedent."""
    parameters = {"need_threshold": "0", "follow_threshold": "0", "model_name": file.name}
    for what, path in (("model", file), ("tokenizer", tokenizer)):
        parameters |= {f"{what}_sources": f"path:{path.resolve()}", f"{what}_sha256": _sha256(path)}
    encoder = ChainEncoder(parameters, Path("/"))
    return [encoder.links([sentence.text for sentence in document]) for document in documents]


def curve(answers: Sequence[Sequence[Link]], documents: Sequence[Document]) -> list[tuple[float, float, ChainQuality]]:
    """The quality at each pair of thresholds (need, follow). A chain is followed at least as willingly as begun."""
    points = []
    for need in THRESHOLDS:
        for follow in (share * need for share in (0.0, 0.1, 0.25, 0.5, 1.0)):
            linked = [[_limited(link, need, follow) for link in links] for links in answers]
            made = [
                (document, chains_of(links, [sentence.text for sentence in document]))
                for document, links in zip(documents, linked, strict=True)
            ]
            points.append((need, round(follow, 3), quality(made)))
    return points


def _limited(link: Link, need: float, follow: float) -> Link:
    return replace(
        link,
        antecedent=link.antecedent if link.need >= need else -1,
        followed=link.antecedent if link.need >= follow else -1,
    )


def choose(points: Sequence[tuple[float, float, ChainQuality]]) -> tuple[float, float]:
    """The thresholds with the most contained antecedents, where at most MAX_ADDED get a chain for nothing."""
    allowed = [point for point in points if point[2].added <= MAX_ADDED]
    best = max(allowed, key=lambda point: (point[2].contained, -point[2].antecedents))
    return best[0], best[1]


def _sha256(path: Path) -> str:
    return hashlib.sha256(path.read_bytes()).hexdigest()


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("run", type=Path, help="folder of a training run")
    parser.add_argument("--dev", type=Path, required=True, help="labelled sentences that the thresholds are chosen on")
    parser.add_argument("--weights", type=Path, required=True, help="folder of MiniLM's tokenizer")
    parser.add_argument("--output", type=Path, required=True, help="folder for the files")
    return parser.parse_args()


if __name__ == "__main__":
    main()
