"""A trained run -> ONNX files, their thresholds and a model card.

    python -m triton_models.statement_chain.training.export RUN --dev dev.jsonl --output FOLDER \
        [--weights FOLDER] [--install REPOSITORY]

An encoder for CPUs gets a file in single precision (fp32) and one for use with its weights in 8 bits (int8), whose
activations are quantized while it runs. An encoder for GPUs gets a file in single precision and one for use that takes
batches of windows, with the encoder in half precision (fp16) and attention as one operator (`fused_attention`).

Thresholds are chosen on the development sentences with the stage's own code (`choose`), by the file for use on CPUs,
or by fp32, since a CPU computes half precision slowly. The curve goes into `card.json`. With --install, the file for
use and its description are put into a repository: triton_models/local, or a copy of triton_models/production for GPUs,
after the other exports, which write the shipped chain model.
"""

import argparse
import hashlib
import json
import shutil
import sys
from collections.abc import Mapping, Sequence
from copy import deepcopy
from pathlib import Path

import onnx
import torch
from onnxruntime.quantization import QuantType, quantize_dynamic
from onnxruntime.quantization.shape_inference import quant_pre_process

from benchmarks.evaluation.chains import ChainQuality, Document, chains_of, measure_quality, read_documents
from streams.errors import UsageError
from streams.models.inference.chain_encoder import OUTPUTS, ChainEncoder, SentenceAnswer
from streams.models.inference.repository import CHAIN_MODEL, parameters_in, set_parameters
from streams.models.inference.tokenizing import pack_tokenizer
from triton_models.fused_attention import fuse_attention
from triton_models.read_output import add_read_output
from triton_models.statement_chain.training.encoders import ENCODERS, TOKENIZER, Encoder, find_files
from triton_models.statement_chain.training.network import ChainNetwork, Shape

NEEDS = [0.05, 0.1, 0.15, *(round(0.2 + 0.02 * step, 2) for step in range(11)), 0.5, 0.6, 0.7, 0.8, 0.9]
FLOORS = (0.0, 1.35, 4.0, 12.0, 40.0, 100_000.0)
"""Minimum probabilities of further antecedents, times the third power of the number of earlier sentences.

The last one leaves the best antecedent alone."""
MAX_ANTECEDENTS = 5
"""Maximum antecedents at which a chain begins."""
ROWS = 8
"""Windows of a batch while the file that takes batches is measured."""
MAX_ADDED, MIN_CONTAINED = 0.118, 0.82
"""The goals on the development sentences."""
INPUTS = ["input_ids", "membership"]
BATCHES = Path(__file__).parents[2] / "production" / CHAIN_MODEL / "configs" / "batches.pbtxt"
"""The configuration of a model for GPUs."""


def main() -> None:
    arguments = _arguments()
    state = torch.load(arguments.run / "checkpoint.pt", weights_only=True)
    name = state["recipe"]["encoder"]
    encoder, network = ENCODERS[name], ChainNetwork(Shape(**state["shape"]))
    try:
        tokenizer = find_files(name, arguments.weights)(TOKENIZER)
    except UsageError as error:
        sys.exit(str(error))
    network.load_state_dict(averaged(arguments.run, range(state["epoch"], state["epoch"] - arguments.average, -1)))
    files = export(network.eval(), arguments.output, on_gpus=encoder.on_gpus)
    documents = list(read_documents(arguments.dev).values())
    chosen_by = "fp32" if encoder.on_gpus else "int8"
    models = {
        precision: open_file(file, tokenizer, encoder, arguments.runtime, rows=ROWS if precision == "fp16" else 0)
        for precision, file in files.items()
    }
    answers = [models[chosen_by].answers([sentence.text for sentence in document]) for document in documents]
    points = curve(models[chosen_by], answers, documents)
    need, floor, _ = choose(points)
    chosen = {precision: _quality(model.with_thresholds(need, floor), documents) for precision, model in models.items()}
    card = {
        "recipe": state["recipe"],
        "epochs_trained": state["epoch"],
        "epochs_averaged": arguments.average,
        "need_threshold": need,
        "antecedent_floor": floor,
        "files": {
            precision: {"bytes": file.stat().st_size, "sha256": _sha256(file)} for precision, file in files.items()
        },
        "development": {precision: found.to_dict() for precision, found in chosen.items()},
        "curve": [{"need_threshold": n, "antecedent_floor": s, **found.to_dict()} for n, s, found in points],
    }
    (arguments.output / "card.json").write_text(json.dumps(card, indent=1) + "\n")
    print(json.dumps({key: value for key, value in card.items() if key != "curve"}, indent=1))  # noqa: T201
    if arguments.install:
        description = {
            "model_name": f"{name}-statement-chain",
            "licence": encoder.licence,
            "multilingual": "true" if encoder.multilingual else "false",
            "need_threshold": str(need),
            "antecedent_floor": str(floor),
        }
        install = install_on_gpus if encoder.on_gpus else install_on_cpus
        install(files["fp16" if encoder.on_gpus else "int8"], tokenizer, arguments.install / CHAIN_MODEL, description)


def averaged(run: Path, epochs: Sequence[int]) -> dict[str, torch.Tensor]:
    """The mean of the weights after these epochs. It is better than the last ones: the learning rate is still high."""
    states = [torch.load(run / f"epoch-{epoch}.pt", weights_only=True) for epoch in epochs]
    return {name: torch.stack([state[name] for state in states]).mean(0) for name in states[0]}


def install_on_cpus(file: Path, tokenizer: Path, folder: Path, description: Mapping[str, str]) -> None:
    """Put the model into a repository that takes texts, and describe it in the configuration there."""
    values = {**description, "model_version": f"int8-{_sha256(file)[:8]}"}
    for what, source in (("model", file), ("tokenizer", tokenizer)):
        target = folder / "1" / f"{what}{source.suffix}"
        if source.resolve() != target.resolve():
            shutil.copyfile(source, target)
        values |= {f"{what}_sources": f"path:{target.name}", f"{what}_sha256": _sha256(source)}
    config = folder / "config.pbtxt"
    config.write_text(set_parameters(config.read_text(), values))


def install_on_gpus(file: Path, tokenizer: Path, folder: Path, description: Mapping[str, str]) -> None:
    """Put the model into a repository of graphs, with the output `read`, and its configuration."""
    content = add_read_output(file.read_bytes(), rows=True)
    (folder / "1").mkdir(parents=True, exist_ok=True)
    (folder / "1" / "model.onnx").write_bytes(content)
    version = f"fp16-{hashlib.sha256(content).hexdigest()[:8]}"
    values = {**description, "model_version": version, **pack_tokenizer(tokenizer.read_bytes())}
    (folder / "config.pbtxt").write_text(set_parameters(BATCHES.read_text(), values))


def export(network: ChainNetwork, output: Path, *, on_gpus: bool) -> dict[str, Path]:
    """Write the files, and return them by their precision."""
    output.mkdir(parents=True, exist_ok=True)
    files = {name: output / f"model.{name}.onnx" for name in ("fp32", "fp16" if on_gpus else "int8")}
    _write_onnx(network, files["fp32"])
    if on_gpus:
        half = deepcopy(network)
        half.encoder.half()
        _write_onnx(half, files["fp16"], "windows")
        model = onnx.load(str(files["fp16"]))
        fuse_attention(model, network.shape.heads)
        onnx.save(model, str(files["fp16"]))
        return files
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


def _write_onnx(network: ChainNetwork, target: Path, *rows: str) -> None:
    """Write the network for one window, or for windows in `rows`: the name of one dimension before all others."""
    sentences, tokens = 4, 41
    membership = torch.zeros(sentences, tokens)
    for number in range(sentences):
        membership[number, 1 + number * 10 : 11 + number * 10] = 1
    sample = torch.arange(tokens) % network.shape.vocabulary, membership
    names = {
        "input_ids": "tokens",
        "membership": "sentences tokens",
        "need": "sentences",
        "scores": "sentences sentences",
        "leaf": "sentences",
    }
    torch.onnx.export(
        network,
        tuple(torch.stack([each] * 2) for each in sample) if rows else sample,
        str(target),
        input_names=INPUTS,
        output_names=list(OUTPUTS),
        dynamic_axes={name: dict(enumerate([*rows, *axes.split()])) for name, axes in names.items()},
        opset_version=17,
        dynamo=False,
    )


def open_file(file: Path, tokenizer: Path, encoder: Encoder, runtime: str, rows: int = 0) -> ChainEncoder:
    """Open a file in this process. `rows`: the maximum windows of a batch, of a file that takes batches."""
    parameters = {"need_threshold": "0.5", "antecedent_floor": "0"}
    parameters |= {"max_antecedents": str(MAX_ANTECEDENTS), "model_name": file.name, "runtime": runtime}
    parameters |= {"multilingual": "true" if encoder.multilingual else "false"}
    if rows:
        parameters["pad_to"] = parameters_in(BATCHES.read_text())["pad_to"]
    for what, path in (("model", file), ("tokenizer", tokenizer)):
        parameters |= {f"{what}_sources": f"path:{path.resolve()}", f"{what}_sha256": _sha256(path)}
    return ChainEncoder(parameters, Path("/"), rows)


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
    parser.add_argument("--weights", type=Path, help="folder of an encoder that is in no package, with checksums")
    parser.add_argument("--output", type=Path, required=True, help="folder for the files")
    parser.add_argument("--average", type=int, default=2, help="number of last epochs whose weights are averaged")
    parser.add_argument("--install", type=Path, help="model repository that gets the file for use")
    parser.add_argument("--runtime", default="onnxruntime", help="runtime that the thresholds are chosen with")
    return parser.parse_args()


if __name__ == "__main__":
    main()
