"""A Triton server's models under load: same results, statements a second, how busy the GPUs are, queries beside it.

    python -m benchmarks models 127.0.0.1:8001 --clients 8 --batch 64 --batch 256
    python -m benchmarks models --repository models --clients 8

It works with any repository of Riffle. In one run:

1. The server's models answer. Vectors of `sbert` are compared with the vectors of `sbert_query`, which must be of the
   same network, and links with the links by the chain model's file in this process.
2. Queries, one at a time: the server has nothing else to do.
3. Statements by each batch size, from several client processes, tokenizing included. Triton's counters give the mean
   batch that the model ran, and nvidia-smi how busy the GPUs of this machine were.
4. Only chains. Then statements, chains and queries together: queries by `sbert_query`, then by `sbert` with priority.

With --repository, a Triton of this benchmark serves graphs by the python backend (`graph_backend` says what differs).
"""

import asyncio
import json
import tempfile
from collections.abc import Callable, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Annotated, Any

import numpy as np
import typer

from benchmarks.machine import describe, machine, percentile, table
from benchmarks.models.client import Kind, Request
from benchmarks.models.clients import Counted, common_time, count_answers, run_clients
from benchmarks.models.gpu_share import GpuSampler, gpu_names
from benchmarks.models.graph_backend import lay_out, serving
from benchmarks.models.texts import ModelTexts, spread_by_length, texts_of_pages
from streams.commands.console import AsJson, command, err, load_settings, out, print_json
from streams.errors import RiffleError, StoreUnavailable, UsageError
from streams.local.demo import unpack
from streams.models.batches import BATCH_SIZE
from streams.models.inference.repository import CHAIN_MODEL, parameters_of, read_config
from streams.models.triton import TritonChains, TritonEmbedder
from streams.models.triton_connection import TritonConnection, model_states, server_state
from streams.settings import Settings, TritonSettings

COMPARED_TEXTS = 256
COMPARED_PAGES = 20
STATE_SECONDS = 60.0


@dataclass(frozen=True, slots=True)
class Plan:
    """The measurements of one run."""

    batches: tuple[int, ...]
    clients: int
    chain_clients: int
    seconds: float
    log: Path | None = None


@command
async def run(
    url: Annotated[
        str, typer.Argument(metavar="[URL]", help="gRPC address of a Triton. Default: the address of the settings.")
    ] = "",
    repository: Annotated[
        Path | None,
        typer.Option(exists=True, file_okay=False, help="Serve these graphs by a Triton of this benchmark, no URL."),
    ] = None,
    instances: Annotated[
        int | None, typer.Option(min=1, help="With --repository: instances of a model on each GPU.")
    ] = None,
    batch: Annotated[list[int] | None, typer.Option(min=1, help="Texts in a request. May be repeated.")] = None,
    clients: Annotated[int, typer.Option(min=1, help="Number of client processes that embed statements.")] = 4,
    chain_clients: Annotated[int, typer.Option(min=0, help="Number of client processes that ask for chains.")] = 1,
    seconds: Annotated[float, typer.Option(min=1, help="Time of each measurement.")] = 10,
    folder: Annotated[
        Path | None, typer.Option(exists=True, file_okay=False, help="HOST/path pages. Default: the bundled web.")
    ] = None,
    pages: Annotated[int, typer.Option(min=1, help="Number of pages, spread evenly.")] = 60,
    save_texts: Annotated[Path | None, typer.Option(help="Write the texts to this file.")] = None,
    texts: Annotated[
        Path | None, typer.Option(exists=True, dir_okay=False, help="Read the texts from this file: no pages needed.")
    ] = None,
    log: Annotated[Path | None, typer.Option(help="Append each result to this file as a line of JSON.")] = None,
    as_json: AsJson = False,
) -> int:
    """Measure a Triton server with any repository: same results, statements/s, GPU busy, chains, queries beside load.

    Example:  python -m benchmarks models 127.0.0.1:8001 --clients 8 --batch 64 --batch 256
    """
    plan = Plan(tuple(batch or [64]), clients, chain_clients, seconds, log)
    found = read_texts(texts, folder, pages, save_texts)
    return await measure(load_settings(), url, repository, instances, found, plan, as_json=as_json)


async def measure(
    settings: Settings,
    url: str,
    repository: Path | None,
    instances: int | None,
    texts: ModelTexts,
    plan: Plan,
    *,
    as_json: bool,
) -> int:
    """Measure, and print. Returns the exit status."""
    conditions = {**machine(), "gpus": gpu_names()}
    results: list[dict[str, Any]] = []

    def note(row: dict[str, Any]) -> None:
        results.append(row)
        if plan.log is not None:
            with plan.log.open("a") as file:
                file.write(json.dumps(row) + "\n")

    with ExitStack() as stack:
        home = Path(stack.enter_context(tempfile.TemporaryDirectory()))
        texts.save(home / "texts.json")
        if repository is not None:
            names = lay_out(repository, home / "models", instances)
            url = stack.enter_context(serving(home / "models", names, home))
        asked = settings.triton.model_copy(update={"url": url} if url else {})
        sampler = stack.enter_context(GpuSampler())
        load = Load(asked, home / "texts.json", plan, sampler)
        note({"what": "server", **await asyncio.to_thread(check_server, asked)})
        note({"what": "same results", **await compare(settings, asked, texts)})
        for step in load.steps():
            note(await asyncio.to_thread(step))
    result = {"machine": conditions, "results": results}
    if as_json:
        print_json(result)
    else:
        show(result)
    return 0


def read_texts(saved: Path | None, folder: Path | None, pages: int, save: Path | None) -> ModelTexts:
    """Return the texts of a file, or of pages. Raises UsageError."""
    if saved is not None:
        return ModelTexts.read(saved)
    with tempfile.TemporaryDirectory() as scratch, err.status("Cutting pages into statements ..."):
        found = texts_of_pages(folder or unpack(Path(scratch) / "web"), pages)
    if not found.statements:
        raise UsageError("the pages have no statements")
    if save is not None:
        found.save(save)
    return found


def check_server(settings: TritonSettings) -> dict[str, Any]:
    """Return the server's version and models. Raises StoreUnavailable if a model does not answer."""
    state = server_state(settings, STATE_SECONDS)
    wanted = {settings.model, *filter(None, [settings.query_model]), CHAIN_MODEL} & set(state.models)
    if not wanted:
        raise StoreUnavailable(f"{settings.url} has none of the models ready: see its log")
    answers = model_states(settings, sorted(wanted), STATE_SECONDS)
    if silent := {name for name, found in answers.items() if found != "ok"}:
        raise StoreUnavailable(f"models of {settings.url} do not answer: {', '.join(sorted(silent))}")
    return {"version": state.version, "models": state.models}


async def compare(settings: Settings, asked: TritonSettings, texts: ModelTexts) -> dict[str, Any]:
    """Compare vectors with the vectors of the model for queries, and links with the links of this process."""
    connection = TritonConnection(asked)
    try:
        chosen = spread_by_length(texts.statements, COMPARED_TEXTS)
        embedder = TritonEmbedder(connection, asked)
        info = await embedder.info()
        vectors = await embedder.embed(chosen, "passage")
        reference = await embedder.embed(chosen, "query", deadline_seconds=600)
        cosines = cosines_of(vectors, reference)
        found: dict[str, Any] = {
            "model": f"{info.name} {info.version}",
            "dimensions": info.dimensions,
            "texts": len(chosen),
            "characters": [len(chosen[0]), len(chosen[-1])],
            "cosine_least": round(float(cosines.min()), 6),
            "cosine_median": round(float(np.median(cosines)), 6),
            "length_ratio_least": round(float(_lengths(vectors, reference).min()), 5),
            "length_ratio_most": round(float(_lengths(vectors, reference).max()), 5),
        }
        try:
            return found | await compare_links(settings, TritonChains(connection), texts.pages[:COMPARED_PAGES])
        except (RiffleError, ImportError) as error:
            return found | {"links": f"not compared: {error}"}
    finally:
        await connection.close()


def cosines_of(vectors: Any, others: Any) -> Any:
    """Return the cosine of each row with the row of the other matrix."""
    return (vectors * others).sum(axis=1) / np.linalg.norm(vectors, axis=1) / np.linalg.norm(others, axis=1)


def _lengths(vectors: Any, others: Any) -> Any:
    return np.linalg.norm(vectors, axis=1) / np.linalg.norm(others, axis=1)


async def compare_links(settings: Settings, chains: TritonChains, pages: Sequence[Sequence[str]]) -> dict[str, Any]:
    """Compare the links of pages with the links by the local repository's file in this process."""
    from streams.models.inference.chain_encoder import chain_model

    folder = settings.models_path / "local" / CHAIN_MODEL
    own = chain_model(parameters_of(read_config(folder)), folder / "1")
    sentences = equal = 0
    for page in pages:
        served, expected = await chains.links(page, deadline_seconds=600), own(page)
        sentences += len(page)
        equal += sum(one.antecedents == other.antecedents for one, other in zip(served, expected, strict=True))
    return {"sentences": sentences, "equal_links": equal}


class Load:
    """The steps of a run. Each returns its figures."""

    def __init__(self, settings: TritonSettings, texts: Path, plan: Plan, sampler: GpuSampler) -> None:
        self._settings, self._texts, self._plan, self._sampler = settings, texts, plan, sampler

    def steps(self) -> list[Callable[[], dict[str, Any]]]:
        """Return the measurements in their order."""
        plan, largest, bulk_model = self._plan, max(self._plan.batches), self._settings.model
        queries = (self._client("queries"), self._client("queries", query_model=""))
        bulk = [self._client("statements", largest)] * plan.clients
        chains = [self._client("chains")] * plan.chain_clients
        loads: list[tuple[str, list[Request]]] = [
            ("queries", [queries[0]]),
            (f"queries by {bulk_model}", [queries[1]]),
            *((f"statements x {batch}", [self._client("statements", batch)] * plan.clients) for batch in plan.batches),
            ("chains", chains),
            ("all", [*bulk, *chains, queries[0]]),
            (f"all, queries by {bulk_model}", [*bulk, *chains, queries[1]]),
        ]
        return [partial(self.measure, what, clients) for what, clients in loads if clients]

    def measure(self, what: str, clients: Sequence[Request]) -> dict[str, Any]:
        """Run the clients, and return what they got, how the server batched it, and how busy the GPUs were."""
        with err.status(f"{what} ..."):
            before = self._statistics()
            found = run_clients([replace(client, number=number) for number, client in enumerate(clients)])
            after = self._statistics()
        start, end = common_time(found)
        share = self._sampler.between(start, end)
        row: dict[str, Any] = {"what": what, "seconds": round(end - start, 1), "gpu_busy": share and share.busy}
        if share is not None:
            row |= {"gpu_memory_mb": share.memory_mb, "gpu_watts": share.watts}
        kinds: tuple[Kind, ...] = ("statements", "chains", "queries")
        for kind in kinds:
            own = [client for client in clients if client.kind == kind]
            if own:
                row[kind] = {"clients": len(own), **figures_of(kind, count_answers(found, kind, start, end), own[0])}
        return row | {"models": mean_batches(before, after)}

    def _client(self, kind: Kind, batch: int = BATCH_SIZE, **changes: Any) -> Request:
        settings = self._settings.model_copy(update={"timeout_seconds": 120.0, **changes})
        return Request(kind, settings.model_dump(mode="json"), str(self._texts), self._plan.seconds, batch=batch)

    def _statistics(self) -> dict[str, dict[str, int]]:
        return asyncio.run(read_statistics(self._settings))


def figures_of(kind: Kind, counted: Counted, client: Request) -> dict[str, Any]:
    """Return the figures of one kind of client."""
    figures: dict[str, Any] = {
        "answers": counted.texts,
        "per_second": counted.per_second,
        "client_cpu_ms": counted.client_cpu_ms,
        "failures": len(counted.failures),
    }
    if counted.failures:
        figures["failure"] = counted.failures[0]
    if kind == "statements":
        figures["batch"] = client.batch
    if kind == "queries" and counted.seconds:
        shares = {"p50_ms": 0.5, "p95_ms": 0.95, "p99_ms": 0.99}
        figures |= {name: round(percentile(counted.seconds, share) * 1_000, 1) for name, share in shares.items()}
    return figures


async def read_statistics(settings: TritonSettings) -> dict[str, dict[str, int]]:
    """Return Triton's counters of each model: rows, runs of the network, time of a run and in the queue (ns)."""
    connection = TritonConnection(settings)
    try:
        answer = await connection.statistics()
    finally:
        await connection.close()
    return {model["name"]: counters_of(model) for model in answer["model_stats"]}


def counters_of(model: dict[str, Any]) -> dict[str, int]:
    """Return the counters of one model from Triton's statistics in JSON."""
    times = model.get("inference_stats", {})
    return {
        "rows": int(model.get("inference_count", 0)),
        "runs": int(model.get("execution_count", 0)),
        "compute_ns": sum(int(each.get("compute_infer", {}).get("ns", 0)) for each in model.get("batch_stats", [])),
        "queue_ns": int(times.get("queue", {}).get("ns", 0)),
        "requests": int(times.get("success", {}).get("count", 0)),
    }


def mean_batches(before: dict[str, dict[str, int]], after: dict[str, dict[str, int]]) -> dict[str, dict[str, float]]:
    """Return the mean rows of a run, its mean time and the mean time of a request in the queue, of models that ran."""
    found = {}
    for name, counters in after.items():
        made = {key: value - before.get(name, {}).get(key, 0) for key, value in counters.items()}
        if made["runs"]:
            found[name] = {
                "rows": made["rows"],
                "rows_a_run": round(made["rows"] / made["runs"], 1),
                "run_ms": round(made["compute_ns"] / made["runs"] / 1e6, 2),
                "queue_ms": round(made["queue_ns"] / max(made["requests"], 1) / 1e6, 2),
            }
    return found


def show(result: dict[str, Any]) -> None:
    """Print the figures for people."""
    conditions, (server, same, *loads) = result["machine"], result["results"]
    out.print(f"{describe(conditions)}, {', '.join(conditions['gpus']) or 'no GPU known'}")
    out.print(f"Triton {server['version']}: {', '.join(server['models'])}")
    out.print(
        f"{same['model']}, {same['dimensions']} dimensions: cosine to the model for queries at least "
        f"{same['cosine_least']}, median {same['cosine_median']} ({same['texts']} statements)"
    )
    if "equal_links" in same:
        out.print(f"{same['equal_links']} of {same['sentences']} sentences have the links of this process")
    rows = table("", "", "statements/s", "rows a run", "GPU busy", "chains/s", "query p50 / p99", "failures")
    for load in loads:
        rows.add_row(load["what"], *_cells(load))
    out.print(rows)


def _cells(load: dict[str, Any]) -> list[str]:
    statements, chains, queries = (load.get(kind, {}) for kind in ("statements", "chains", "queries"))
    ran = load["models"].get("sbert", {}) if statements else {}
    return [
        str(statements.get("per_second", "")),
        str(ran.get("rows_a_run", "")),
        "not known" if load["gpu_busy"] is None else f"{load['gpu_busy']:.0%}",
        str(chains.get("per_second", "")),
        f"{queries['p50_ms']} / {queries['p99_ms']}" if "p50_ms" in queries else "",
        str(sum(each.get("failures", 0) for each in (statements, chains, queries))),
    ]
