"""Measures the ranges of a local model's activations: `activations.npz`.

    python -m triton_models.calibrate sbert [WEB...]
    python -m triton_models.calibrate e5 [WEB...]
    python -m triton_models.calibrate --mean e5 FILE

WEB holds HOST/path pages (default: the bundled web), or is a file with a text on each line. Their statements pass
through the network in single precision, and the extremes of each column are noted. The file is written beside the
model and beside the one for queries, with its checksum in their config.pbtxt. For `e5`, the texts should be in many
languages. With `--mean`, three quarters of the mean of their vectors are written (`mean.npy`), which the model
subtracts, and no ranges.
New ranges, or a new mean, make other vectors: give the model a new version by hand.
"""

import argparse
import hashlib
import random
import re
import tempfile
from collections.abc import Callable, Sequence
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
PAGES, TEXTS = 60, 600
"""Number of pages of a web, and of texts of all webs."""
SHARE = 0.75
"""The share of the mean vector that a model subtracts. All of it is too much for questions in another language than the
pages', and less leaves the vectors of the pair too near to each other (docs/decisions/0133)."""
CHECKSUM = r'({}_sha256" value \{{ string_value: ")[0-9a-f]*'
KEPT = {
    "sbert": re.compile(r"node_gelu(_[123])?|node_view_\d+"),
    "e5": re.compile(r"l\d+\.attended"),
}
"""Inputs that keep their groups, since one range loses most there: the results of attention, which cost little, and in
`sbert` what the first four layers compute between their two large products, where few numbers are far larger than all
others."""


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("model", choices=sorted(KEPT))
    parser.add_argument("webs", nargs="*", type=Path, metavar="WEB")
    parser.add_argument("--repository", type=Path, default=LOCAL, help="folder of the model (default: local)")
    parser.add_argument("--mean", action="store_true", help="write the mean of the vectors, and no ranges")
    arguments = parser.parse_args()
    folder = arguments.repository / arguments.model
    parameters = parameters_of(read_config(folder))
    samples = texts(arguments.webs, parameters.get("query_prefix", ""), parameters.get("passage_prefix", ""))
    if arguments.mean:
        without = {name: value for name, value in parameters.items() if not name.startswith("mean_")}
        mean = np.float32(SHARE) * SentenceEncoder(without, folder / "1").embed(samples).mean(axis=0)
        store(arguments.repository, arguments.model, "mean.npy", lambda path: np.save(path, mean))
        return
    ranges = measure(parameters, folder / "1", samples, KEPT[arguments.model])
    store(arguments.repository, arguments.model, "activations.npz", lambda path: write_ranges(path, ranges))


def store(repository: Path, model: str, file: str, write: Callable[[Path], None]) -> None:
    """Write a file of a model, and of the model for its queries, with its checksum in their configurations."""
    for name in filter(lambda name: (repository / name).is_dir(), (model, f"{model}_query")):
        target = repository / name / "1" / file
        write(target)
        checksum = hashlib.sha256(target.read_bytes()).hexdigest()
        config = target.parents[1] / "config.pbtxt"
        config.write_text(re.sub(CHECKSUM.format(target.stem), rf"\g<1>{checksum}", config.read_text()))
        print(f"{target}: sha256 {checksum}")  # noqa: T201 - a script's result


def texts(webs: Sequence[Path], query_prefix: str, passage_prefix: str) -> list[str]:
    """Return statements as they are embedded, as many of each web, a few of them in the form of queries."""
    from benchmarks.models.embed import statements_of
    from streams.local.demo import unpack
    from streams.vectors.points import texts_of

    chance, found = random.Random(2), list[str]()  # noqa: S311 - a sample
    with tempfile.TemporaryDirectory() as scratch:
        for web in webs or [unpack(Path(scratch) / "demo")]:
            if web.is_file():
                every = sorted({line for line in web.read_text().splitlines() if line})
            else:
                every = sorted({text for page in statements_of(web, PAGES) for text in texts_of(page)})
            found += chance.sample(every, min(TEXTS // max(len(webs), 1), len(every)))
    asked = [query_prefix + text.rsplit("\n", 1)[-1] for text in found[::8]] if query_prefix else []
    return [*(passage_prefix + text for text in found), *asked]


def measure(parameters: Parameters, folder: Path, samples: Sequence[str], kept: re.Pattern[str]) -> dict[str, Range]:
    """Return the ranges of the inputs, without those that keep their groups."""
    import openvino

    core = openvino.Core()
    model = core.read_model(str(find_file(parameters, "model", folder)))
    inputs = dict(inputs_of_products(model))
    model.add_outputs([products[0].input_value(0) for products in inputs.values()])
    options = {"INFERENCE_PRECISION_HINT": "f32", "DYNAMIC_QUANTIZATION_GROUP_SIZE": 0}
    request = core.compile_model(model, "CPU", options).create_infer_request()
    names = [node.get_any_name() for node in request.model_inputs]
    lowest: dict[str, Floats] = {}
    highest: dict[str, Floats] = {}

    def run(feeds: Any) -> Floats:
        request.infer({name: feeds[name] for name in names})
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
    for name in sorted(name for name in inputs if not kept.fullmatch(name)):
        weights = np.concatenate([weights_of(product) for product in inputs[name]], axis=1)
        found[name] = fit_range(lowest[name], highest[name], weights)
    return found


if __name__ == "__main__":
    main()
