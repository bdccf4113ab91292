"""Measures the ranges of the local model's activations: `activations.npz`, beside the model.

    python -m triton_models.calibrate [WEB]

WEB holds HOST/path pages (default: the bundled web). Their statements pass through the network in single precision, and
the extremes of each column are noted. The file is written for `sbert` and `sbert_query`, with its checksum in their
config.pbtxt. New ranges make other vectors: give `model_version` there a new value by hand.
"""

import hashlib
import random
import re
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from streams.models.inference.activations import (
    Range,
    fit_range,
    inputs_of_products,
    weights_of,
    write_ranges,
)
from streams.models.inference.encoder import Floats, SentenceEncoder
from streams.models.inference.repository import Parameters, find_file, parameters_of, read_config

LOCAL = Path(__file__).parent / "local"
MODELS = ("sbert", "sbert_query")
PAGES, TEXTS = 60, 600
CHECKSUM = re.compile(r'(activations_sha256" value \{ string_value: ")[0-9a-f]*')
KEPT = re.compile(r"node_gelu(_[123])?|node_view_\d+")
"""Inputs that keep their groups, since one range loses most there: what the first four layers compute between their two
large products, where few numbers are far larger than all others, and the results of attention, which cost little."""


def main() -> None:
    parameters = parameters_of(read_config(LOCAL / MODELS[0]))
    ranges = measure(parameters, LOCAL / MODELS[0] / "1", texts(Path(sys.argv[1]) if sys.argv[1:] else None))
    for model in MODELS:
        target = LOCAL / model / "1" / "activations.npz"
        write_ranges(target, ranges)
        checksum = hashlib.sha256(target.read_bytes()).hexdigest()
        config = LOCAL / model / "config.pbtxt"
        config.write_text(CHECKSUM.sub(rf"\g<1>{checksum}", config.read_text()))
        print(f"{target}: sha256 {checksum}")  # noqa: T201 - a script's result


def texts(web: Path | None) -> list[str]:
    """Statements, as they are embedded."""
    from benchmarks.models.embed import statements_of
    from streams.local.demo import unpack
    from streams.vectors.points import texts_of

    with tempfile.TemporaryDirectory() as scratch:
        pages = statements_of(web or unpack(Path(scratch) / "demo"), PAGES)
    every = sorted({text for page in pages for text in texts_of(page)})
    return random.Random(2).sample(every, min(TEXTS, len(every)))  # noqa: S311 - a sample


def measure(parameters: Parameters, folder: Path, samples: Sequence[str]) -> dict[str, Range]:
    """The ranges of the inputs, without those that keep their groups."""
    import openvino

    core = openvino.Core()
    model = core.read_model(str(find_file(parameters, "model", folder)))
    inputs = dict(inputs_of_products(model))
    model.add_outputs([products[0].input_value(0) for products in inputs.values()])
    options = {"INFERENCE_PRECISION_HINT": "f32", "DYNAMIC_QUANTIZATION_GROUP_SIZE": 0}
    request = core.compile_model(model, "CPU", options).create_infer_request()
    lowest: dict[str, Floats] = {}
    highest: dict[str, Floats] = {}

    def run(feeds: Any) -> Floats:
        request.infer(feeds)
        read = feeds["attention_mask"].astype(bool)
        for number, name in enumerate(inputs, 1):
            rows = request.get_output_tensor(number).data[read]
            lowest[name] = np.minimum(lowest.get(name, np.inf), rows.min(axis=0))
            highest[name] = np.maximum(highest.get(name, -np.inf), rows.max(axis=0))
        hidden: Floats = request.get_output_tensor(0).data
        return hidden

    encoder = SentenceEncoder({**parameters, "runtime": "onnxruntime"}, folder)
    encoder._model = run
    encoder.embed(samples)
    found = {}
    for name in sorted(name for name in inputs if not KEPT.fullmatch(name)):
        weights = np.concatenate([weights_of(product) for product in inputs[name]], axis=1)
        found[name] = fit_range(lowest[name], highest[name], weights)
    return found


if __name__ == "__main__":
    main()
