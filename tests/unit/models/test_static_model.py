"""Static models: distilled from a network, averaged over tokens, and used by the encoder like any other."""

from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pytest

from streams.commands.operate.distill import make_config
from streams.errors import UsageError
from streams.models.inference.encoder import SentenceEncoder
from streams.models.inference.repository import find_file, model_info, parameters_of, read_config
from streams.models.inference.static import Floats, distill_rows, mean_of_tokens, read_table, write_table
from streams.settings import Settings

SBERT = Settings().models_path / "local" / "sbert"


def random_rows(tokens: Sequence[str]) -> Floats:
    return np.random.default_rng(1).standard_normal((len(tokens), 32)).astype(np.float32)


def test_frequent_tokens_weigh_less() -> None:
    rows = distill_rows(random_rows, [str(n) for n in range(5_000)], 32)
    lengths = np.linalg.norm(rows, axis=1)
    assert rows.shape == (5_000, 32)
    assert lengths[:10].mean() < lengths[-1_000:].mean() / 10


def test_the_first_word_of_a_vocabulary_is_the_most_frequent_token() -> None:
    marks, letters = ["[PAD]", *(f"[unused{n}]" for n in range(998)), ".", ","], [*"abcdefgh", *"äöü中"]
    words = ["the", *("w" + "x" * n for n in range(1, 5_000))]
    lengths = np.linalg.norm(distill_rows(random_rows, [*marks, *letters, *words], 32), axis=1)
    by_token = dict(zip([*marks, *letters, *words], lengths / np.median(lengths), strict=True))
    assert all(by_token[token] < 0.02 for token in ("the", ".", "a", "[PAD]"))
    assert all(by_token[token] > 0.4 for token in ("中", words[-1]))


def test_a_text_is_the_mean_of_its_tokens_in_any_order() -> None:
    rows = random_rows(["a"] * 10)
    vectors = mean_of_tokens(rows, [[1, 2, 3], [3, 1, 2], [], [4]])
    assert np.allclose(vectors[0], vectors[1], atol=1e-6)
    assert np.allclose(np.linalg.norm(vectors, axis=1), 1, atol=1e-5)
    assert np.allclose(vectors[3], rows[4] / np.linalg.norm(rows[4]), atol=1e-6)


def test_a_table_is_read_as_it_was_written(tmp_path: Path) -> None:
    rows = random_rows(["a"] * 10)
    write_table(tmp_path / "t.npy", rows)
    assert np.allclose(read_table(tmp_path / "t.npy"), rows, atol=1e-2)


def test_the_encoder_runs_a_distilled_model_by_its_configuration(tmp_path: Path) -> None:
    parameters = parameters_of(read_config(SBERT))
    try:
        find_file(parameters, "tokenizer", SBERT / "1")
    except UsageError as missing:
        pytest.skip(str(missing))
    (tmp_path / "1").mkdir()
    write_table(tmp_path / "1" / "static.npy", distill_rows(random_rows, ["a"] * 30_522, 16))
    text = make_config((SBERT / "config.pbtxt").read_text(), "small", 16, parameters, tmp_path / "1" / "static.npy")
    (tmp_path / "config.pbtxt").write_text(text)
    config = read_config(tmp_path)
    assert (config["name"], config["output"][0]["dims"]) == ("small", ["16"])
    info = model_info(parameters_of(config), "here")
    assert (info.name, info.version, info.dimensions) == ("all-minilm-l6-v2-static", "16-2", 16)
    vectors = SentenceEncoder(parameters_of(config), tmp_path / "1").embed(["A dog barked.", "barked a dog.", ""])
    assert vectors.shape == (3, 16)
    assert np.allclose(vectors[0], vectors[1], atol=1e-6)
