"""The model repositories: what they describe is there, and both say the same names and tensors."""

import re
import runpy
import shutil
from pathlib import Path
from uuid import UUID

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from streams.errors import StoreUnavailable, UsageError
from streams.models.inference.antecedents import antecedents
from streams.models.inference.encoder import (
    MAX_TOGETHER,
    MAX_TOKENS_TOGETHER,
    PAD_TO,
    SentenceEncoder,
    batches,
)
from streams.models.inference.repository import (
    CHAIN_MODEL,
    find_file,
    model_info,
    parameters_in,
    parameters_of,
    read_config,
)
from streams.models.inference.runtimes import available, open_model, resolve_runtime
from streams.models.inference.tokenizing import CHECKSUM, TOKENIZER, pack_tokenizer, unpack_tokenizer
from streams.models.protocols import ModelInfo
from streams.models.triton_graphs import READ, is_graph
from streams.settings import Settings
from streams.statements.statement import Statement
from triton_models.read_output import add_read_output

REPOSITORY = Settings().models_path
LOCAL, PRODUCTION = REPOSITORY / "local", REPOSITORY / "production"
CONFIGS = sorted(REPOSITORY.rglob("*.pbtxt"))


@pytest.mark.parametrize("path", CONFIGS, ids=lambda path: str(path.relative_to(REPOSITORY)))
def test_every_configuration_is_valid_and_named_like_its_folder(path: Path, tmp_path: Path) -> None:
    (tmp_path / "config.pbtxt").write_text(path.read_text())
    folder = path.parent.parent if path.parent.name == "configs" else path.parent
    assert read_config(tmp_path)["name"] == folder.name
    assert (folder / "1").is_dir(), "Triton needs a version folder"


@pytest.mark.parametrize("path", CONFIGS, ids=lambda path: str(path.relative_to(REPOSITORY)))
def test_no_model_process_is_nicer_than_the_server(path: Path) -> None:
    """Triton takes a process that gets no processor in time for dead, and gives its memory to another one."""
    assert not re.search(r"\bnice\b", path.read_text())


@pytest.mark.parametrize("path", CONFIGS, ids=lambda path: str(path.relative_to(REPOSITORY)))
def test_the_text_of_a_configuration_has_its_parameters(path: Path, tmp_path: Path) -> None:
    (tmp_path / "config.pbtxt").write_text(path.read_text())
    assert parameters_in(path.read_text()) == parameters_of(read_config(tmp_path))


EMBEDDING_MODELS = pytest.mark.parametrize("model", ["e5", "sbert"])
GRAPHS = pytest.mark.parametrize("model", ["e5", "sbert", "sbert_e5"])


@EMBEDDING_MODELS
def test_queries_have_the_same_model_in_an_instance_of_its_own(model: str) -> None:
    bulk, queries = (read_config(LOCAL / name) for name in (model, f"{model}_query"))
    assert parameters_of(queries) == parameters_of(bulk)
    assert [queries[side] for side in ("input", "output")] == [bulk[side] for side in ("input", "output")]
    assert queries["instance_group"][0]["count"] == 1


@pytest.mark.parametrize(
    "path", sorted(PRODUCTION.rglob("*.pbtxt")), ids=lambda path: str(path.relative_to(PRODUCTION))
)
def test_production_needs_no_python_and_proves_each_answer(path: Path, tmp_path: Path) -> None:
    (tmp_path / "config.pbtxt").write_text(path.read_text())
    config = read_config(tmp_path)
    assert config["backend"] in ("onnxruntime", "tensorrt")
    assert READ in [output["name"] for output in config["output"]]
    assert is_graph(config)
    assert parameters_of(config).keys() >= {"model_name", "model_version", TOKENIZER, CHECKSUM}


def test_both_repositories_have_the_chain_model_with_the_same_thresholds() -> None:
    local, production = (parameters_of(read_config(kind / CHAIN_MODEL)) for kind in (LOCAL, PRODUCTION))
    for name in ("model_name", "model_version", "need_threshold", "antecedent_floor", "max_antecedents"):
        assert local[name] == production[name]


@GRAPHS
def test_production_s_query_model_makes_the_vectors_of_production_s_collection(model: str) -> None:
    bulk, queries = (read_config(PRODUCTION / name) for name in (model, f"{model}_query"))
    assert model_info(parameters_of(queries), "") == model_info(parameters_of(bulk), "")
    assert [queries[side] for side in ("input", "output")] == [bulk[side] for side in ("input", "output")]
    assert {group["kind"] for group in queries["instance_group"]} == {"KIND_CPU"}


def test_the_export_describes_statements_and_queries_alike(tmp_path: Path) -> None:
    """With the files of the local models: clients read what the export writes."""
    export = runpy.run_path(str(REPOSITORY / "export.py"))
    repository = tmp_path / "models"
    shutil.copytree(PRODUCTION, repository)
    made = {"model_name": "m", "model_version": "fp16-7", "dimensions": "384", "max_tokens": "256"}
    tokenizer = (LOCAL / CHAIN_MODEL / "1" / "tokenizer.json").read_bytes()
    description = made | {"normalized": "true", "pooling": "cls"} | pack_tokenizer(tokenizer)
    export["describe_in_configs"](repository, description)
    export["install_chain_model"](repository, "2")
    for name in ("sbert", "sbert_query"):
        config = read_config(repository / name)
        assert model_info(parameters_of(config), name) == ModelInfo("m", "fp16-7", 384, 256, normalized=True)
        assert config["output"][0]["dims"] == ["384"]
    for name in ("sbert", "sbert_query", CHAIN_MODEL):
        unpacked = unpack_tokenizer(parameters_of(read_config(repository / name)), name)
        assert unpacked.encode("A dog barked.").tokens[1:3] == ["a", "dog"]
    model = (repository / CHAIN_MODEL / "2" / "model.onnx").read_bytes()
    assert model == add_read_output((LOCAL / CHAIN_MODEL / "1" / "model.onnx").read_bytes())


@pytest.mark.parametrize(
    "parameters",
    [
        pytest.param({}, id="none"),
        pytest.param({"tokenizer": "", "tokenizer_sha256": ""}, id="not exported yet"),
        pytest.param({"tokenizer": "no base64"}, id="damaged"),
        pytest.param(pack_tokenizer(b"{}") | {"tokenizer_sha256": "00"}, id="another checksum"),
    ],
)
def test_a_graph_without_its_tokenizer_is_an_outage_with_advice(parameters: dict[str, str]) -> None:
    with pytest.raises(StoreUnavailable, match=r"model sbert.*triton_models/export\.py"):
        unpack_tokenizer(parameters, "model sbert")


def test_the_readme_lists_every_checksum() -> None:
    readme = "".join(path.read_text() for path in REPOSITORY.glob("**/README.md"))
    sums = {found for path in CONFIGS for found in re.findall(r"\b[0-9a-f]{64}\b", path.read_text())}
    assert sums
    assert not {found for found in sums if found not in readme}


PARAMETERS = {"model_name": "m", "model_sources": "path:model.onnx package:no-such-package/x", "model_sha256": "0" * 64}


def test_a_missing_file_says_where_it_was_looked_for(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match=r"path:model\.onnx, package:no-such-package/x.*--no-deps"):
        find_file(PARAMETERS, "model", tmp_path)


def test_a_file_of_another_content_is_refused(tmp_path: Path) -> None:
    (tmp_path / "model.onnx").write_bytes(b"other")
    with pytest.raises(UsageError, match="checksum"):
        find_file(PARAMETERS, "model", tmp_path)


@pytest.fixture(scope="module")
def encoder() -> SentenceEncoder:
    parameters = resolve_runtime(parameters_of(read_config(LOCAL / "sbert")))
    try:
        find_file(parameters, "tokenizer", LOCAL / "sbert" / "1")
    except UsageError as missing:
        pytest.skip(str(missing))
    return SentenceEncoder(parameters, LOCAL / "sbert" / "1")


TEXTS = ["A dog barked.", "", "The dog was barking at the cat.", "wal " * 600, "数据库", "\ud800", "x"] + [
    f"number {n}" for n in range(12)
]


def test_a_vector_does_not_depend_on_what_it_is_batched_with(encoder: SentenceEncoder) -> None:
    together = encoder.embed(TEXTS)
    assert (together == np.concatenate([encoder.embed([text]) for text in TEXTS])).all()
    assert np.allclose(np.linalg.norm(together, axis=1), 1, atol=1e-5)


LONG_CONTEXT = "\n".join(
    f"Раздел {number}: порядок предоставления отпуска сотрудникам предприятия" for number in range(30)
)
LONG_TEXTS = [
    # text, least tokens that are read of it
    (f"Title\n{LONG_CONTEXT}\nA short section\nA dog barked.", 40),
    (f"{'title ' * 300}\nA dog barked.", 5),
    (f"Title\n{'5ea7b4f55e49f88f52804561 ' * 40}\nA dog barked.", 7),
]


@pytest.mark.parametrize(("text", "least_tokens"), LONG_TEXTS)
def test_a_text_with_too_many_tokens_loses_context_and_not_its_statement(
    encoder: SentenceEncoder, text: str, least_tokens: int
) -> None:
    other = text.replace("A dog barked.", "Bananas are grown in Ecuador.")
    dog, banana = encoder.embed([text, other])
    assert dog @ banana < 0.97, "both vectors are those of the context"
    assert least_tokens <= encoder.tokens(text) <= 256


def test_the_title_and_the_nearest_context_are_left_of_a_long_text(encoder: SentenceEncoder) -> None:
    long, kept = encoder.embed([f"Title\n{'word ' * 300}\nNear\nA dog barked.", "Title\nNear\nA dog barked."])
    assert (long == kept).all()


def test_the_first_lines_of_a_long_listing_are_read(encoder: SentenceEncoder) -> None:
    rest = "\n".join(f"    value_{number} = first[{number}] + second[{number * 7}]" for number in range(40))
    texts = [
        Statement(UUID(int=1), 0, f"def {name}(first, second):\n{rest}", ("Arrays",), "code").in_context
        for name in ("add_prices", "sing_songs")
    ]
    adding, singing = encoder.embed(texts)
    assert not (adding == singing).all()


def test_a_statement_that_is_too_long_alone_is_cut_at_its_end(encoder: SentenceEncoder) -> None:
    long, alone = encoder.embed([f"Title\nSection\nA dog {'barked ' * 400}", f"A dog {'barked ' * 400}"])
    assert (long == alone).all()


PASSAGES = (
    "Write-ahead logging lets readers go on while a writer commits.",
    "If the journal file is on a network filesystem, then locking may not work, and the database may be corrupted.",
    "SELECT count(*) FROM pages WHERE generation < 7;",
    "The checkpoint is started automatically when the log has 1000 pages, which are about 4 MB, or when the last "
    "connection to the database is closed, whichever comes first.",
    "Ein Leser wird von keinem Schreiber aufgehalten.",
    "bread",
)
LEAST_COSINE = 0.998
"""Least cosine between the vectors of the local model in its two runtimes. With ranges of activations it is .9987."""


def test_the_vectors_of_both_runtimes_are_near_and_have_versions_of_their_own(encoder: SentenceEncoder) -> None:
    if not available("openvino"):
        pytest.skip("the package openvino isn't installed")
    parameters = parameters_of(read_config(LOCAL / "sbert"))
    other = {**parameters, "runtime": "onnxruntime"}
    expected = SentenceEncoder(other, LOCAL / "sbert" / "1").embed(PASSAGES)
    cosines = (encoder.embed(PASSAGES) * expected).sum(axis=1)
    assert LEAST_COSINE <= cosines.min() < 1
    assert parameters["model_version"] != parameters["fallback_version"]


def test_a_runtime_that_is_not_installed_gives_way_to_the_other_one_with_its_version() -> None:
    parameters = {"runtime": "no_such_library", "model_version": "a", "fallback_runtime": "numpy"}
    assert resolve_runtime({**parameters, "fallback_version": "b"})["model_version"] == "b"
    assert resolve_runtime(parameters | {"runtime": "numpy", "fallback_version": "b"})["model_version"] == "a"


@pytest.mark.parametrize(
    ("runtime", "message"), [("abacus", "'abacus' is no runtime"), ("openvino", "isn't installed.*config.pbtxt")]
)
def test_a_runtime_that_cannot_be_used_is_named(
    runtime: str, message: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("streams.models.inference.runtimes.available", lambda _: False)
    with pytest.raises(UsageError, match=message):
        open_model(runtime, tmp_path / "model.onnx", 1)


@given(st.lists(st.integers(1, 256), max_size=60))
def test_a_batch_has_texts_of_one_padded_length_which_depends_on_each_text_alone(lengths: list[int]) -> None:
    made = list(batches(lengths))
    assert sorted(index for _, batch in made for index in batch) == list(range(len(lengths)))
    for padded, batch in made:
        assert {-(-lengths[index] // PAD_TO) * PAD_TO for index in batch} == {padded}
        assert len(batch) <= MAX_TOGETHER
        assert len(batch) == 1 or len(batch) * padded <= MAX_TOKENS_TOGETHER


def test_meaning_is_near(encoder: SentenceEncoder) -> None:
    dog, barking, journal = encoder.embed(["A dog barked.", "Some hound was barking.", "The journal file is deleted."])
    assert dog @ barking > 0.5 > dog @ journal


@pytest.mark.parametrize(
    ("sentences", "expected", "why"),
    [
        (["A dog came.", "It barked."], [-1, 0], "a pronoun first"),
        (["A dog came.", "", "It barked."], [-1, -1, -1], "a break between"),
        (["A dog came.", "It is important to sleep."], [-1, -1], "an expletive it"),
        (["A dog came.", "This makes no sense."], [-1, 0], "a demonstrative"),
        (["A dog came.", "The cat ate its food."], [-1, -1], "named before the pronoun"),
        (["A dog came.", "In his house, Tom slept."], [-1, 0], "a possessive before the name"),
        (["A dog came.", "Found in 1971, it was old."], [-1, 0], "a pronoun behind a phrase without a subject"),
        (["A dog came.", "When the cat came, it ran."], [-1, -1], "a clause before it has a subject"),
        (["A dog came.", "However, no one saw."], [-1, 0], "a connective"),
        ([], [], "nothing"),
    ],
)
def test_antecedents(sentences: list[str], expected: list[int], why: str) -> None:
    assert antecedents(sentences) == expected, why
