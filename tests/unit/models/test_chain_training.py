"""The way of a chain model from an encoder's weights to links: training, export, a repository, a server.

The weights are random and tiny. What trains and exports needs PyTorch, which is in no lock: without it, only the checks
of an encoder's files run.
"""

import json
import runpy
import shutil
from collections.abc import Callable
from dataclasses import replace
from hashlib import sha256
from pathlib import Path
from typing import Any

import numpy as np
import onnxruntime
import pytest
from tokenizers import Tokenizer

from streams.errors import UsageError
from streams.models.inference.chain_encoder import ChainReader, chain_model
from streams.models.inference.packed.packed_file import read_packed
from streams.models.inference.packed.tokenizer import tokenizer_json
from streams.models.inference.repository import CHAIN_MODEL, parameters_of, read_config, set_parameters
from streams.models.inference.tokenizing import plain_tokenizer
from streams.models.protocols import Link
from streams.models.triton import TritonChains
from streams.models.triton_connection import TritonConnection
from streams.settings import Settings
from tests.tiny_packed_file import packed_file
from tests.unit.models.test_triton_graphs import Feeds, Server, serving
from triton_models.statement_chain.training import encoders

REPOSITORY = Settings().models_path
WORDS = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "the", "river", "log", "engine", "it", "waits", "falls", "is", "."]
HIDDEN, INNER, LAYERS, HEADS = 32, 64, 3, 2
PAGE = [
    "the river falls .",
    "it waits .",
    "",
    "the log is the log .",
    "it falls .",
    "the engine waits .",
    "it is it .",
] * 3


def write_distilbert(folder: Path) -> Path:
    """Write a folder as the publisher of DistilBERT has it, with the list of checksums."""
    folder.mkdir()
    mark = {"single_word": False, "lstrip": False, "rstrip": False, "normalized": False, "special": True}
    cls, sep = ({"SpecialToken": {"id": name, "type_id": 0}} for name in ("[CLS]", "[SEP]"))
    tokenizer = {
        "version": "1.0",
        "added_tokens": [{"id": place, "content": name, **mark} for place, name in enumerate(WORDS[:4])],
        "pre_tokenizer": {"type": "Whitespace"},
        "post_processor": {
            "type": "TemplateProcessing",
            "single": [cls, {"Sequence": {"id": "A", "type_id": 0}}, sep],
            "pair": [cls, {"Sequence": {"id": "A", "type_id": 0}}, sep],
            "special_tokens": {
                name: {"id": name, "ids": [WORDS.index(name)], "tokens": [name]} for name in ("[CLS]", "[SEP]")
            },
        },
        "model": {"type": "WordLevel", "vocab": {word: n for n, word in enumerate(WORDS)}, "unk_token": "[UNK]"},
    }
    (folder / "tokenizer.json").write_text(json.dumps(tokenizer))
    (folder / "config.json").write_text(json.dumps({"n_heads": HEADS}))
    (folder / "model.safetensors").write_bytes(_safetensors(_distilbert()))
    list_checksums(folder)
    return folder


def list_checksums(folder: Path) -> None:
    names = ("config.json", "model.safetensors", "tokenizer.json")
    lines = [f"{sha256((folder / name).read_bytes()).hexdigest()}  {name}\n" for name in names]
    (folder / "SHA256SUMS").write_text("".join(lines))


def _distilbert() -> dict[str, np.ndarray[Any, Any]]:
    sizes: dict[str, tuple[int, ...]] = {
        "embeddings.word_embeddings.weight": (len(WORDS), HIDDEN),
        "embeddings.position_embeddings.weight": (512, HIDDEN),
    }
    parts: dict[str, tuple[int, ...]] = {f"attention.{part}_lin": (HIDDEN, HIDDEN) for part in ("q", "k", "v", "out")}
    parts |= {"ffn.lin1": (INNER, HIDDEN), "ffn.lin2": (HIDDEN, INNER)}
    for layer in range(LAYERS):
        for name, size in parts.items():
            sizes |= {
                f"transformer.layer.{layer}.{name}.weight": size,
                f"transformer.layer.{layer}.{name}.bias": size[:1],
            }
    random = np.random.default_rng(5)
    tensors = {f"distilbert.{name}": random.normal(0, 0.2, size).astype(np.float32) for name, size in sizes.items()}
    norms = ["embeddings.LayerNorm"]
    norms += [f"transformer.layer.{n}.{name}" for n in range(LAYERS) for name in ("sa_layer_norm", "output_layer_norm")]
    for name in norms:
        tensors[f"distilbert.{name}.weight"] = np.ones(HIDDEN, np.float32)
        tensors[f"distilbert.{name}.bias"] = random.normal(0, 0.1, HIDDEN).astype(np.float32)
    return tensors


def _safetensors(tensors: dict[str, np.ndarray[Any, Any]]) -> bytes:
    """The file of these tensors: the length of the header, the header, the numbers."""
    header, place = {}, 0
    for name, values in tensors.items():
        header[name] = {"dtype": "F32", "shape": values.shape, "data_offsets": [place, place + values.nbytes]}
        place += values.nbytes
    text = json.dumps(header).encode()
    return len(text).to_bytes(8, "little") + text + b"".join(values.tobytes() for values in tensors.values())


def without(name: str) -> Callable[[Path], object]:
    return lambda folder: (folder / name).unlink()


def spoil(folder: Path) -> None:
    (folder / "model.safetensors").write_bytes(b"other weights")


def shorten(folder: Path) -> None:
    (folder / "SHA256SUMS").write_text("".join((folder / "SHA256SUMS").read_text().splitlines(keepends=True)[:1]))


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (without("SHA256SUMS"), r"SHA256SUMS, the checksums of the weights.*sha256sum config\.json"),
        (without("model.safetensors"), r"the weights of distilbert was found in none of path:model\.safetensors"),
        (shorten, r"has no checksum of model\.safetensors, tokenizer\.json"),
        (spoil, r"model\.safetensors has the checksum"),
    ],
)
def test_weights_in_a_folder_are_taken_only_with_their_checksums(
    change: Callable[[Path], object], message: str, tmp_path: Path
) -> None:
    folder = write_distilbert(tmp_path / "weights")
    assert encoders.find_files("distilbert", folder)("weights") == folder / "model.safetensors"
    change(folder)
    with pytest.raises(UsageError, match=message):
        encoders.find_files("distilbert", folder)("weights")


def test_an_encoder_that_is_in_no_package_needs_a_folder() -> None:
    with pytest.raises(UsageError, match=r"no package has the weights of distilbert: .* by --weights"):
        encoders.find_files("distilbert")


@pytest.mark.parametrize("name", ["minilm", "e5"])
def test_the_other_encoders_are_in_packages_with_their_tokenizers(name: str) -> None:
    find = encoders.find_files(name)
    try:
        found = find("weights")
    except UsageError as missing:
        pytest.skip(str(missing))
    assert found.is_file()
    _, marks = plain_tokenizer(Tokenizer.from_file(str(find("tokenizer"))))
    assert marks == {"minilm": (101, 102), "e5": (0, 2)}[name]


def test_the_layers_of_a_packed_file_have_the_shapes_of_a_network(tmp_path: Path) -> None:
    (tmp_path / "packed.bin").write_bytes(packed_file()[0])
    found = encoders.ENCODERS["e5"].read(lambda what: tmp_path / "packed.bin", 1)
    shapes = {name: found.tensors[name].shape for name in ("words.weight", "layers.0.down.weight", "norm.bias")}
    assert shapes == {"words.weight": (16, 32), "layers.0.down.weight": (32, 64), "norm.bias": (32,)}
    assert not [name for name in found.tensors if name.startswith("layers.1")]


def write_labels(path: Path) -> Path:
    """Write documents in which "it" needs the sentence before it."""
    lines = []
    for document in range(12):
        noun = ("river", "log", "engine")[document % 3]
        texts = [f"the {noun} falls .", "it waits .", f"the {noun} is the {noun} .", "it falls ."]
        for place, text in enumerate(texts):
            before = f"{document}-{place - 1}"
            refers = {"via": "coref", "form": "pron3", "mention": "it", "to": before, "nominal_to": before}
            own = {"doc": f"d{document}", "i": place, "sent_id": f"{document}-{place}", "text": text}
            needs = text.startswith("it")
            lines.append(json.dumps({**own, "needs_context": needs, "deps": [refers] if needs else []}))
    path.write_text("\n".join(lines) + "\n")
    return path


@pytest.fixture
def scripts(monkeypatch: pytest.MonkeyPatch) -> Callable[..., dict[str, Any]]:
    pytest.importorskip("torch", reason="PyTorch, which trains the chain model, is not installed")
    pytest.importorskip("onnx", reason="the package onnx is not installed: only the export of models needs it")

    def run(name: str, *arguments: str | Path) -> dict[str, Any]:
        module = f"triton_models.statement_chain.training.{name}"
        monkeypatch.setattr("sys.argv", [name, *map(str, arguments)])
        return runpy.run_module(module, run_name="__main__")

    return run


@pytest.fixture
def tiny_e5(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The encoder `e5` has the tiny packed file."""
    content = packed_file()[0]
    made = {"weights": content, "tokenizer": tokenizer_json(read_packed(content))}
    files = {"model_name": "e5"}
    for what, each in made.items():
        path = tmp_path / f"{what}.json"
        path.write_bytes(each)
        files |= {f"{what}_sources": f"path:{path}", f"{what}_sha256": sha256(each).hexdigest()}
    monkeypatch.setitem(encoders.ENCODERS, "e5", replace(encoders.ENCODERS["e5"], files=files, layers=2, frozen=1))


def trained(scripts: Callable[..., dict[str, Any]], folder: Path, *options: str | Path) -> list[float]:
    """Train in a folder, and return the loss of each epoch."""
    labels = write_labels(folder / "labels.jsonl")
    scripts("train", labels, "--dev", labels, "--output", folder / "run", "--epochs", "6", *options)
    return [json.loads(line)["loss"] for line in (folder / "run" / "log.jsonl").read_text().splitlines()]


def links_of_the_network(
    made: dict[str, Any], run: Path, parameters: dict[str, str], tokenizer: Path, page: list[str]
) -> list[Link]:
    """The links by the trained network itself, window by window."""
    torch = pytest.importorskip("torch")
    state = torch.load(run / "checkpoint.pt", weights_only=True)
    network = made["ChainNetwork"](made["Shape"](**state["shape"])).eval()
    network.load_state_dict(made["averaged"](run, [6, 5]))
    reader = ChainReader(parameters, Tokenizer.from_file(str(tokenizer)))
    passes = list(reader.passes(page))
    with torch.no_grad():
        outputs = [
            [each.numpy() for each in network(torch.from_numpy(p.window.ids), torch.from_numpy(p.window.membership))]
            for p in passes
        ]
    need, scores, leaf = 0, 1, 2
    return reader.make_links(reader.answers(page, passes, [[o[need], o[scores], o[leaf]] for o in outputs]))


def assert_alike(found: list[Link], expected: list[Link], tolerance: float) -> None:
    assert [link.antecedents for link in found] == [link.antecedents for link in expected]
    assert sum(bool(link.antecedents) for link in found) >= 6
    for own, other in zip(found, expected, strict=True):
        assert own.need == pytest.approx(other.need, abs=tolerance)
        assert own.leaf == pytest.approx(other.leaf, abs=tolerance)


def count_operators(path: Path, kind: str) -> int:
    onnx = pytest.importorskip("onnx")
    return sum(node.op_type == kind for node in onnx.load(str(path)).graph.node)


def serve_graph(folder: Path) -> Server:
    """A server that runs the graph of a model folder in ONNX Runtime."""
    session = onnxruntime.InferenceSession(str(folder / "1" / "model.onnx"))
    names = [output.name for output in session.get_outputs()]

    def run(feeds: Feeds) -> Feeds:
        return dict(zip(names, session.run(names, feeds), strict=True))

    return Server({CHAIN_MODEL: read_config(folder)}, {CHAIN_MODEL: run})


@pytest.mark.filterwarnings("ignore")
async def test_a_distilbert_is_trained_and_answers_in_batches_as_its_trainer_does(
    scripts: Callable[..., dict[str, Any]], tmp_path: Path
) -> None:
    weights, repository = write_distilbert(tmp_path / "weights"), tmp_path / "models"
    shutil.copytree(REPOSITORY / "production", repository)
    chosen = ("--encoder", "distilbert", "--weights", weights, "--layers", str(LAYERS), "--frozen", "1")
    losses = trained(scripts, tmp_path, *chosen)
    assert losses[-1] < losses[0]
    options = ("--dev", tmp_path / "labels.jsonl", "--weights", weights, "--output", tmp_path / "files")
    made = scripts("export", tmp_path / "run", *options, "--install", repository)
    folder = repository / CHAIN_MODEL
    text = (folder / "config.pbtxt").read_text()
    (folder / "config.pbtxt").write_text(set_parameters(text, {"need_threshold": "0"}))
    config = read_config(folder)
    parameters = parameters_of(config)
    assert int(config["max_batch_size"]) > 1
    assert parameters["model_version"].startswith("fp16-")
    assert count_operators(folder / "1" / "model.onnx", "MultiHeadAttention") == LAYERS
    expected = links_of_the_network(made, tmp_path / "run", parameters, weights / "tokenizer.json", PAGE)
    server = serve_graph(folder)
    async with serving(server) as settings:
        connection = TritonConnection(settings)
        found = await TritonChains(connection).links(PAGE)
        await connection.close()
    assert server.infers == 1, "all windows of the page are of one padded size"
    assert_alike(found, expected, 0.01)


@pytest.mark.filterwarnings("ignore")
@pytest.mark.usefixtures("tiny_e5")
def test_an_encoder_for_cpus_is_trained_and_put_into_the_local_repository(
    scripts: Callable[..., dict[str, Any]], tmp_path: Path
) -> None:
    folder = tmp_path / "models" / CHAIN_MODEL
    shutil.copytree(REPOSITORY / "local" / CHAIN_MODEL, folder)
    losses = trained(scripts, tmp_path, "--encoder", "e5")
    assert losses[-1] < losses[0]
    options = ("--dev", tmp_path / "labels.jsonl", "--output", tmp_path / "files", "--install", tmp_path / "models")
    made = scripts("export", tmp_path / "run", *options)
    text = (folder / "config.pbtxt").read_text()
    (folder / "config.pbtxt").write_text(set_parameters(text, {"need_threshold": "0", "antecedent_floor": "100000"}))
    parameters = parameters_of(read_config(folder))
    assert (parameters["model_name"], parameters["multilingual"]) == ("e5-statement-chain", "true")
    page = ["the river", "the rivers", "", "river the", "the", "rivers"] * 3
    expected = links_of_the_network(made, tmp_path / "run", parameters, folder / "1" / "tokenizer.json", page)
    assert_alike(chain_model(parameters, folder / "1")(page), expected, 0.1)
