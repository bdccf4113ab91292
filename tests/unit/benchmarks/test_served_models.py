"""The pure parts of the benchmarks of served models: samples of GPUs, counters of Triton, answers of clients, texts."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from benchmarks.models.client import Answered, query_of, rotate
from benchmarks.models.clients import common_time, count_answers
from benchmarks.models.gpu_share import GpuShare, Sample, parse_sample, share_of
from benchmarks.models.graph_backend import MODEL, for_python_backend, lay_out
from benchmarks.models.graph_session import CPU, CUDA, SessionOptions
from benchmarks.models.served import cosines_of, counters_of, mean_batches
from benchmarks.models.texts import ModelTexts, spread_by_length
from streams.errors import UsageError
from streams.models.inference.repository import read_config
from streams.settings import Settings

PRODUCTION = Settings().models_path / "production"


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        ("0, 97, 12345, 512.30\n", Sample(3.0, 0, 0.97, 12345.0, 512.3)),
        ("1, 0, 4, [N/A]", Sample(3.0, 1, 0.0, 4.0, 0.0)),
        ("No devices were found", None),
        ("0, [N/A], 4, 70.1", None),
        ("", None),
    ],
)
def test_a_line_of_nvidia_smi_is_a_sample_or_nothing(line: str, expected: Sample | None) -> None:
    assert parse_sample(line, 3.0) == expected


def test_the_share_of_a_time_is_the_median_of_its_samples() -> None:
    samples = [
        Sample(at, 0, busy, memory, 100) for at, busy, memory in ((1, 0.1, 5), (2, 0.9, 7), (3, 1, 9), (9, 0, 2))
    ]
    assert share_of(samples, 1, 3) == GpuShare(0.9, 9, 100, 3)
    assert share_of(samples, 4, 8) is None


def test_graphs_on_gpus_name_their_provider_and_keep_all_else(tmp_path: Path) -> None:
    source = read_config(PRODUCTION / "sbert")
    (tmp_path / "config.pbtxt").write_text(for_python_backend((PRODUCTION / "sbert" / "config.pbtxt").read_text(), 3))
    found = read_config(tmp_path)
    assert found["backend"] == "python"
    assert found["instance_group"] == [{"kind": "KIND_CPU", "count": 3}]
    assert SessionOptions.of(found) == SessionOptions(CUDA, 0, "ORT_ENABLE_EXTENDED")
    changed = dict.fromkeys(("backend", "instance_group", "parameters"), "")
    assert {**source, **changed} == {**found, **changed}
    assert found["parameters"] == {**source["parameters"], "provider": {"string_value": CUDA}}


def test_graphs_on_cpus_keep_their_instances_and_threads(tmp_path: Path) -> None:
    text = (PRODUCTION / "statement_chain" / "config.pbtxt").read_text()
    (tmp_path / "config.pbtxt").write_text(for_python_backend(text, 7))
    found = read_config(tmp_path)
    assert found["instance_group"] == read_config(PRODUCTION / "statement_chain")["instance_group"]
    assert SessionOptions.of(found) == SessionOptions(CPU, 1, "ORT_ENABLE_ALL")


def test_a_repository_without_graphs_is_refused_with_advice(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match=r"triton_models/export.py writes it"):
        lay_out(PRODUCTION, tmp_path / "a")
    with pytest.raises(UsageError, match="takes texts"):
        lay_out(PRODUCTION.parent / "local", tmp_path / "b")
    with pytest.raises(UsageError, match="holds no model"):
        lay_out(tmp_path, tmp_path / "c")


def test_a_repository_is_laid_out_with_the_same_weights(tmp_path: Path) -> None:
    folder = tmp_path / "models" / "sbert" / "1"
    folder.mkdir(parents=True)
    (folder / "model.onnx").write_bytes(b"graph")
    config = (PRODUCTION / "sbert" / "config.pbtxt").read_text()
    (folder.parent / "config.pbtxt").write_text(config)
    assert lay_out(tmp_path / "models", tmp_path / "served") == ["sbert"]
    assert (tmp_path / "served" / "sbert" / "1" / "model.onnx").read_bytes() == b"graph"
    assert (tmp_path / "served" / "sbert" / "1" / "model.py").read_text() == MODEL
    assert (folder.parent / "config.pbtxt").read_text() == config, "the repository itself stays as it is"


def test_only_answers_of_the_time_in_which_all_asked_count() -> None:
    first = Answered("statements", 0, 10, [(1, 64, 0.5), (3, 64, 0.5), (9, 64, 0.5)], 2.0, [])
    second = Answered("statements", 1, 11, [(4, 32, 0.25), (10.5, 32, 0.25)], 2.0, ["no answer"])
    queries = Answered("queries", 0, 10, [(5, 1, 0.01)], 1.0, [])
    found = [first, second, queries]
    start, end = common_time(found)
    assert (start, end) == (3, 10)
    counted = count_answers(found, "statements", start, end)
    assert (counted.texts, counted.per_second, counted.failures) == (96, 13.7, ["no answer"])
    assert counted.client_cpu_ms == round(4_000 / 256, 3)
    assert count_answers(found, "queries", start, end).seconds == [0.01]


def test_counters_of_triton_become_means_of_the_time_between() -> None:
    model: dict[str, Any] = {
        "name": "sbert",
        "inference_count": "640",
        "execution_count": "10",
        "inference_stats": {"success": {"count": "20"}, "queue": {"ns": "40000000"}},
        "batch_stats": [{"compute_infer": {"ns": "30000000"}}, {"compute_infer": {"ns": "20000000"}}],
    }
    after = {"sbert": counters_of(model), "sbert_query": counters_of({"name": "sbert_query"})}
    assert mean_batches({}, after) == {"sbert": {"rows": 640, "rows_a_run": 64.0, "run_ms": 5.0, "queue_ms": 2.0}}
    assert mean_batches(after, after) == {}


def test_cosines_do_not_depend_on_lengths() -> None:
    vectors = np.array([[3.0, 4.0], [1.0, 0.0]])
    assert cosines_of(vectors, vectors * 7).tolist() == [1.0, 1.0]


def test_texts_are_written_and_read(tmp_path: Path) -> None:
    texts = ModelTexts(("Größe\nThe log.", "A dog."), (("A dog.", "", "It barks."),))
    texts.save(tmp_path / "texts.json")
    assert ModelTexts.read(tmp_path / "texts.json") == texts
    (tmp_path / "other.json").write_text('{"statements": 3}')
    with pytest.raises(UsageError, match="holds no texts"):
        ModelTexts.read(tmp_path / "other.json")


def test_compared_texts_are_of_all_lengths() -> None:
    texts = ["x" * length for length in range(1, 101)] * 2
    found = spread_by_length(texts, 5)
    assert [len(text) for text in found] == [1, 26, 51, 75, 100]
    assert len(spread_by_length(texts, 500)) == 100


def test_clients_go_round_the_texts_from_places_of_their_own() -> None:
    take = rotate(["a", "b", "c"], 1)
    assert [take(2), take(2), take(4)] == [["b", "c"], ["a", "b"], ["c", "a", "b", "c"]]
    assert rotate(["a", "b", "c"], 0)(1) == ["a"]


def test_a_query_is_short_and_of_the_statement_itself() -> None:
    assert query_of("Title\nHeading\nThe write-ahead log lets readers go on while a writer") == (
        "The write-ahead log lets readers go on while"
    )
    assert query_of("\n") == "a query"
