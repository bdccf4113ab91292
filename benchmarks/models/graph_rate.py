"""An exported graph in ONNX Runtime, without a server and clients: statements a second by batch and tokens.

    python -m benchmarks graph models/sbert/1/model.onnx --provider CUDAExecutionProvider --instances 2

The ids are random, and no row has padding. Each instance has a session and a thread of its own in this process, as in
Triton's ONNX Runtime backend. The share of the time that the GPU is busy is nvidia-smi's.
"""

import json
import statistics
import threading
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated, Any

import numpy as np
import typer

from benchmarks.machine import machine, table
from benchmarks.models.gpu_share import GpuSampler, gpu_names
from benchmarks.models.graph_session import SessionOptions, open_session
from streams.commands.console import AsJson, command, out, print_json

VOCABULARY = 20_000
"""Maximum token id of a random text: every vocabulary in use is larger."""
WARM_UP_RUNS = 3


@command
def run(
    graph: Annotated[
        Path, typer.Argument(exists=True, dir_okay=False, metavar="FILE", help="A model.onnx of an export.")
    ],
    provider: Annotated[str, typer.Option(help="Execution provider of ONNX Runtime.")] = "CPUExecutionProvider",
    batch: Annotated[list[int] | None, typer.Option(min=1, help="Texts in a run. May be repeated.")] = None,
    tokens: Annotated[list[int] | None, typer.Option(min=1, help="Tokens of each text. May be repeated.")] = None,
    instances: Annotated[int, typer.Option(min=1, help="Sessions at once, each in a thread.")] = 1,
    seconds: Annotated[float, typer.Option(min=0.1, help="Time of each measurement.")] = 3,
    log: Annotated[Path | None, typer.Option(help="Append each result to this file as a line of JSON.")] = None,
    as_json: AsJson = False,
) -> int:
    """Measure an exported graph by itself in ONNX Runtime: statements/s by batch and tokens, GPU busy.

    Example:  python -m benchmarks graph models/sbert/1/model.onnx --provider CUDAExecutionProvider --instances 2
    """
    batches, lengths = batch or [1, 8, 32, 64, 128, 256], tokens or [32, 64]
    conditions = {**machine(), "gpus": gpu_names()}
    sessions = [open_session(graph, SessionOptions(provider)) for _ in range(instances)]
    rows: list[dict[str, Any]] = []
    with GpuSampler() as sampler:
        for length in lengths:
            for size in batches:
                row = {
                    "graph": str(graph),
                    "instances": instances,
                    **measure(sessions, size, length, seconds, sampler),
                }
                rows.append(row)
                if log is not None:
                    with log.open("a") as file:
                        file.write(json.dumps(row) + "\n")
    result = {"machine": conditions, "provider": provider, "rates": rows}
    if as_json:
        print_json(result)
    else:
        show(result)
    return 0


def measure(sessions: Sequence[Any], batch: int, tokens: int, seconds: float, sampler: GpuSampler) -> dict[str, Any]:
    """Run the graph in all sessions for some seconds."""
    ids = np.random.default_rng(batch * tokens).integers(5, VOCABULARY, (batch, tokens))
    feeds = {"input_ids": ids, "attention_mask": np.ones_like(ids)}
    for session in sessions:
        for _ in range(WARM_UP_RUNS):
            session.run(None, feeds)
    times: list[float] = []
    start = time.monotonic()
    end = start + seconds

    def repeat(session: Any) -> None:
        while (began := time.monotonic()) < end:
            session.run(None, feeds)
            times.append(time.monotonic() - began)

    threads = [threading.Thread(target=repeat, args=(session,)) for session in sessions]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    lasted = time.monotonic() - start
    share = sampler.between(start + seconds / 4, end)
    return {
        "batch": batch,
        "tokens": tokens,
        "statements_per_second": round(len(times) * batch / lasted, 1),
        "run_ms": round(statistics.median(times) * 1_000, 2),
        "gpu_busy": share and share.busy,
        "gpu_memory_mb": share and share.memory_mb,
    }


def show(result: dict[str, Any]) -> None:
    conditions = result["machine"]
    out.print(f"{conditions['cores']} cores, {conditions['processor']}, {', '.join(conditions['gpus']) or 'no GPU'}")
    rows = table(result["provider"], "tokens", "batch", "statements/s", "ms a run", "GPU busy")
    for row in result["rates"]:
        busy = "not known" if row["gpu_busy"] is None else f"{row['gpu_busy']:.0%}"
        figures = (row["batch"], row["statements_per_second"], row["run_ms"], busy)
        rows.add_row(str(row["tokens"]), *map(str, figures))
    out.print(rows)
