"""The model repositories: what they describe is there, and both say the same names and tensors."""

import re
from pathlib import Path

import numpy as np
import pytest

from streams.errors import UsageError
from streams.settings import Settings
from streams.stores.inference.antecedents import antecedents
from streams.stores.inference.encoder import SentenceEncoder
from streams.stores.inference.repository import find_file, parameters_of, read_config

REPOSITORY = Settings().models_path
LOCAL = REPOSITORY / "local"
CONFIGS = sorted(REPOSITORY.rglob("*.pbtxt"))


@pytest.mark.parametrize("path", CONFIGS, ids=lambda path: str(path.relative_to(REPOSITORY)))
def test_every_configuration_is_valid_and_named_like_its_folder(path: Path, tmp_path: Path) -> None:
    (tmp_path / "config.pbtxt").write_text(path.read_text())
    folder = path.parent.parent if path.parent.name == "configs" else path.parent
    assert read_config(tmp_path)["name"] == folder.name
    assert (folder / "1").is_dir(), "Triton needs a version folder"


@pytest.mark.parametrize("name", ["sbert", "statement_chain"])
def test_local_and_production_take_and_give_the_same(name: str) -> None:
    local, production = (read_config(REPOSITORY / kind / name) for kind in ("local", "production"))
    for side in ("input", "output"):
        assert [(t["name"], t["data_type"]) for t in local[side]] == [
            (t["name"], t["data_type"]) for t in production[side]
        ]
    assert {"model_name", "model_version"} <= parameters_of(local).keys() & parameters_of(production).keys()


LONGEST_CPU_BATCH = 4
"""Maximum texts in a batch on CPUs: about 80 ms of work on two busy cores."""


def test_a_query_overtakes_bulk_work_and_waits_for_a_short_batch_at_most() -> None:
    local = read_config(LOCAL / "sbert")
    assert int(local["dynamic_batching"]["priority_levels"]) == 2
    assert int(local["dynamic_batching"]["default_priority_level"]) == 2
    assert int(local["max_batch_size"]) <= LONGEST_CPU_BATCH


def test_the_readme_lists_every_checksum() -> None:
    readme = (REPOSITORY / "README.md").read_text()
    sums = {found for path in CONFIGS for found in re.findall(r"\b[0-9a-f]{64}\b", path.read_text())}
    assert sums
    assert not {found for found in sums if found not in readme}


PARAMETERS = {"model_name": "m", "model_sources": "path:model.onnx package:no-such-package/x", "model_sha256": "0" * 64}


def test_a_missing_file_says_where_it_was_looked_for(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match=r"path:model\.onnx, package:no-such-package/x.*requirements/models\.txt"):
        find_file(PARAMETERS, "model", tmp_path)


def test_a_file_of_another_content_is_refused(tmp_path: Path) -> None:
    (tmp_path / "model.onnx").write_bytes(b"other")
    with pytest.raises(UsageError, match="checksum"):
        find_file(PARAMETERS, "model", tmp_path)


@pytest.fixture(scope="module")
def encoder() -> SentenceEncoder:
    parameters = parameters_of(read_config(LOCAL / "sbert"))
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
