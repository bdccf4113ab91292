"""A trained run -> ONNX files (fp32, fp16, int8), their thresholds and a model card.

    python -m triton_models.statement_chain.training.export RUN --dev dev.jsonl --weights MINILM --output FOLDER

The int8 file has its weights in 8 bits, and activations are quantized while it runs. Thresholds are chosen on the
development sentences with the int8 file and the stage's own code (`choose`), and the curve goes into `card.json`. With
--install REPOSITORY the int8 file is put into its statement_chain, and checksum and thresholds into the configuration.
"""

import argparse
import hashlib
import json
import re
import shutil
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import onnx
import torch
from onnxruntime.quantization import QuantType, quantize_dynamic
from onnxruntime.quantization.shape_inference import quant_pre_process

from benchmarks.evaluation.chains import ChainQuality, Document, chains_of, measure_quality, read_documents
from streams.models.inference.chain_encoder import ChainEncoder, SentenceAnswer
from triton_models.statement_chain.training.network import ChainNetwork

NEEDS = [0.05, 0.1, 0.15, *(round(0.2 + 0.02 * step, 2) for step in range(11)), 0.5, 0.6, 0.7, 0.8, 0.9]
FLOORS = (0.0, 1.35, 4.0, 12.0, 40.0, 100_000.0)
"""Minimum probabilities of further antecedents, times the third power of the number of earlier sentences.

The last one leaves the best antecedent alone."""
MAX_ANTECEDENTS = 5
"""Maximum antecedents at which a chain begins."""
MAX_ADDED, MIN_CONTAINED = 0.118, 0.82
"""The goals on the development sentences."""
INPUTS, OUTPUTS = ["input_ids", "membership"], ["need", "scores", "leaf"]


def main() -> None:
    arguments = _arguments()
    state = torch.load(arguments.run / "checkpoint.pt", weights_only=True)
    network = ChainNetwork(state["recipe"]["layers"])
    network.load_state_dict(averaged(arguments.run, range(state["epoch"], state["epoch"] - arguments.average, -1)))
    files = export(network.eval(), arguments.output)
    tokenizer = arguments.weights / "tokenizer.json"
    documents = list(read_documents(arguments.dev).values())
    encoders = {name: _encoder(file, tokenizer, arguments.runtime) for name, file in files.items()}
    answers = [encoders["int8"].answers([sentence.text for sentence in document]) for document in documents]
    points = curve(encoders["int8"], answers, documents)
    need, floor, _ = choose(points)
    chosen = {name: _quality(encoder.with_thresholds(need, floor), documents) for name, encoder in encoders.items()}
    card = {
        "recipe": state["recipe"],
        "epochs_trained": state["epoch"],
        "epochs_averaged": arguments.average,
        "need_threshold": need,
        "antecedent_floor": floor,
        "files": {name: {"bytes": file.stat().st_size, "sha256": _sha256(file)} for name, file in files.items()},
        "development": {name: found.to_dict() for name, found in chosen.items()},
        "curve": [{"need_threshold": n, "antecedent_floor": s, **found.to_dict()} for n, s, found in points],
    }
    (arguments.output / "card.json").write_text(json.dumps(card, indent=1) + "\n")
    print(json.dumps({name: value for name, value in card.items() if name != "curve"}, indent=1))  # noqa: T201
    if arguments.install:
        install(files["int8"], arguments.install / "statement_chain", need, floor)


def averaged(run: Path, epochs: Sequence[int]) -> dict[str, torch.Tensor]:
    """The mean of the weights after these epochs. It is better than the last ones: the learning rate is still high."""
    states = [torch.load(run / f"epoch-{epoch}.pt", weights_only=True) for epoch in epochs]
    return {name: torch.stack([state[name] for state in states]).mean(0) for name in states[0]}


def install(file: Path, folder: Path, need: float, floor: float) -> None:
    """Put the model into a repository, and describe it in the configuration there."""
    shutil.copyfile(file, folder / "1" / "model.onnx")
    config = folder / "config.pbtxt"
    text = config.read_text()
    values = {"model_sha256": _sha256(file), "need_threshold": str(need), "antecedent_floor": str(floor)}
    for key, value in values.items():
        text = re.sub(rf'(key: "{key}" value {{ string_value: )"[^"]*"', rf'\g<1>"{value}"', text)
    config.write_text(text)


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


def _encoder(file: Path, tokenizer: Path, runtime: str) -> ChainEncoder:
    parameters = {"need_threshold": "0.5", "antecedent_floor": "0", "max_antecedents": str(MAX_ANTECEDENTS)}
    parameters |= {"model_name": file.name, "runtime": runtime}
    for what, path in (("model", file), ("tokenizer", tokenizer)):
        parameters |= {f"{what}_sources": f"path:{path.resolve()}", f"{what}_sha256": _sha256(path)}
    return ChainEncoder(parameters, Path("/"))


def curve(
    encoder: ChainEncoder, answers: Sequence[Sequence[SentenceAnswer]], documents: Sequence[Document]
) -> list[tuple[float, float, ChainQuality]]:
    """The quality at each pair of thresholds, of answers that were computed once."""
    points = []
    for need in NEEDS:
        for floor in FLOORS:
            limited = encoder.with_thresholds(need, floor)
            made = [
                (document, chains_of(limited.make_links(given), [sentence.text for sentence in document]))
                for document, given in zip(documents, answers, strict=True)
            ]
            points.append((need, floor, measure_quality(made)))
    return points


def _quality(encoder: ChainEncoder, documents: Sequence[Document]) -> ChainQuality:
    texts = [[sentence.text for sentence in document] for document in documents]
    return measure_quality(
        [(document, chains_of(encoder.links(own), own)) for document, own in zip(documents, texts, strict=True)]
    )


def choose(points: Sequence[tuple[float, float, ChainQuality]]) -> tuple[float, float, ChainQuality]:
    """The thresholds with the shortest chains among those that reach the goals; else those that contain the most."""
    allowed = [point for point in points if point[2].added <= MAX_ADDED]
    good = [point for point in allowed if point[2].contained >= MIN_CONTAINED]
    if good:
        return min(good, key=lambda point: (point[2].antecedents, point[2].added))
    return max(allowed, key=lambda point: (point[2].contained, -point[2].antecedents))


def _sha256(path: Path) -> str:
    return hashlib.sha256(path.read_bytes()).hexdigest()


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("run", type=Path, help="folder of a training run")
    parser.add_argument("--dev", type=Path, required=True, help="labelled sentences that the thresholds are chosen on")
    parser.add_argument("--weights", type=Path, required=True, help="folder of MiniLM's tokenizer")
    parser.add_argument("--output", type=Path, required=True, help="folder for the files")
    parser.add_argument("--average", type=int, default=2, help="number of last epochs whose weights are averaged")
    parser.add_argument("--install", type=Path, help="model repository that gets the int8 file")
    parser.add_argument("--runtime", default="onnxruntime", help="runtime that the thresholds are chosen with")
    return parser.parse_args()


if __name__ == "__main__":
    main()
