"""The embed stage by itself: runtimes beside each other, how busy the model is, and texts saved.

    python -m benchmarks embed [DIR] --pages 40

DIR holds HOST/path pages (default: the bundled web). They become statements by the code of the stages. In one run:

1. Each runtime that is installed embeds the same statements in this process, in one thread, in turns. CPU time
   counts, so other work on the machine matters little. The ratio and the cosines are what carries over.
2. The embed stage takes the pages through a Triton of its own, eight pages at once, with stores in memory. Triton's own
   counters give the time that its instances were busy.
3. The pages come again with one statement changed each, as after a re-crawl.
"""

import asyncio
import random
import tempfile
import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Annotated, Any
from uuid import uuid4

import numpy as np
import typer

from benchmarks.machine import machine, table
from schemas import Envelope, PageChunked
from schemas.ids import page_id
from streams.commands.console import AsJson, command, err, load_settings, out, print_json
from streams.errors import UsageError
from streams.local.demo import unpack
from streams.local.server_set import running_servers
from streams.models.inference.antecedents import links_by_rule
from streams.models.inference.encoder import SentenceEncoder
from streams.models.inference.repository import parameters_of, read_config
from streams.models.inference.runtimes import ONNXRUNTIME, RUNTIMES, available
from streams.models.triton_connection import TritonConnection
from streams.pages.normalize import normalize
from streams.runtime.agent import Delivery
from streams.settings import Settings
from streams.statements.chaining import chain_input, make_statements
from streams.statements.sandbox_tasks import Drafted, decode_drafts, draft
from streams.statements.statement import PageStatements, encode_statements
from streams.stores.opener import Stores, memory_stores, open_stores
from streams.topology import stage
from streams.vectors.embed_agent import EmbedAgent
from streams.vectors.points import texts_of

RUNTIME_TEXTS = 240
TURNS = 3
BUSY_TARGET = 0.90


@command
async def run(
    folder: Annotated[
        Path | None, typer.Argument(exists=True, file_okay=False, metavar="[DIR]", help="Default: the bundled web.")
    ] = None,
    pages: Annotated[int, typer.Option(min=1, help="Number of pages, spread evenly.")] = 40,
    as_json: AsJson = False,
) -> int:
    """Measure only the embed stage: runtimes beside each other, how busy the model is, texts that were saved.

    Example:  python -m benchmarks embed mirror/ --pages 100
    """
    settings = load_settings()
    conditions = machine()
    with tempfile.TemporaryDirectory() as scratch:
        home = Path(scratch)
        with err.status("Cutting pages into statements ..."):
            made = statements_of(folder or unpack(home / "web" / "demo"), pages)
        with err.status("Comparing the runtimes ..."):
            runtimes = compare_runtimes(settings, made)
        base = settings.model_copy(update={"home": home, "local_triton": True})
        with running_servers(home, ["triton"], base=base) as running:
            through = await stage_alone(running, made)
    result = {"machine": conditions, "runtimes": runtimes, "stage": through}
    if as_json:
        print_json(result)
    else:
        show(result)
    return 0


def statements_of(web: Path, pages: int) -> list[PageStatements]:
    """The statements of pages that are spread evenly over the folder."""
    made = []
    for url, found in drafts_of(web, pages):
        sentences, owners = chain_input(found.drafts)
        chained = make_statements(page_id(url), found.drafts, owners, links_by_rule(sentences))
        made.append(PageStatements(page_id(url), url, found.title, found.language, chained))
    return made


def drafts_of(web: Path, pages: int) -> Iterator[tuple[str, Drafted]]:
    """Yield the URLs and drafts of pages that are spread evenly over the folder. Raises UsageError."""
    from streams.pages.document.codec import encode_document

    files = sorted(path for path in web.rglob("*") if path.suffix.lower() in {".html", ".htm"})
    if not files:
        raise UsageError(f"{web} holds no HTML file: it must hold a folder for each host")
    step = max(1.0, len(files) / pages)
    for number in range(min(pages, len(files))):
        file = files[int(number * step)]
        url = f"https://{file.relative_to(web)}"
        yield url, decode_drafts(draft(encode_document(normalize(file.read_bytes(), url=url).document)))


def compare_runtimes(settings: Settings, pages: Sequence[PageStatements]) -> dict[str, Any]:
    folder = settings.models_path / "local" / settings.triton.model
    parameters = parameters_of(read_config(folder))
    every = [text for page in pages for text in texts_of(page)]
    texts = random.Random(1).sample(every, min(RUNTIME_TEXTS, len(every)))
    encoders = {
        name: SentenceEncoder({**parameters, "runtime": name}, folder / "1") for name in RUNTIMES if available(name)
    }
    cpu_ms = dict.fromkeys(encoders, float("inf"))
    vectors = {}
    for _ in range(TURNS):
        for name, encoder in encoders.items():
            started = time.process_time()
            vectors[name] = encoder.embed(texts)
            cpu_ms[name] = min(cpu_ms[name], (time.process_time() - started) / len(texts) * 1_000)
    figures: dict[str, Any] = {
        "texts": len(texts),
        "tokens": round(float(np.mean([next(iter(encoders.values())).tokens(text) for text in texts])), 1),
        "cpu_ms_per_text": {name: round(value, 2) for name, value in cpu_ms.items()},
    }
    for name in encoders.keys() - {ONNXRUNTIME}:
        cosines = (vectors[name] * vectors[ONNXRUNTIME]).sum(axis=1)
        figures[f"{name}_speedup"] = round(cpu_ms[ONNXRUNTIME] / cpu_ms[name], 2)
        figures[f"{name}_cosine_least"] = round(float(cosines.min()), 5)
        figures[f"{name}_cosine_mean"] = round(float(cosines.mean()), 5)
    return figures


async def stage_alone(settings: Settings, pages: Sequence[PageStatements]) -> dict[str, Any]:
    async with open_stores(settings, ["models"]) as opened:
        stores = memory_stores()
        stores.embedder = opened.embedder
        await opened.embedder.embed([text for page in pages[:4] for text in texts_of(page)][:128], "passage")  # warm up
        first = await through_stage(settings, stores, pages)
        again = await through_stage(settings, stores, [changed(page) for page in pages], generation=2)
    return {"first_fetch": first, "fetched_again": again}


def changed(page: PageStatements) -> PageStatements:
    """The page with its first statement changed."""
    from dataclasses import replace

    if not page.statements:
        return page
    first = replace(page.statements[0], text=f"{page.statements[0].text} (changed)")
    return replace(page, statements=(first, *page.statements[1:]))


async def through_stage(
    settings: Settings, stores: Stores, pages: Sequence[PageStatements], generation: int = 1
) -> dict[str, Any]:
    agent = EmbedAgent(stores)
    slots = asyncio.Semaphore(stage("embed").concurrency)
    deliveries = [delivery(page, await stores.blobs.put(encode_statements(page)), generation) for page in pages]

    async def handle(one: Delivery) -> None:
        async with slots:
            await agent.handle(one)

    connection = TritonConnection(settings.triton)
    before = await connection.busy(settings.triton.model)
    started = time.perf_counter()
    await asyncio.gather(*map(handle, deliveries))
    seconds = time.perf_counter() - started
    after = await connection.busy(settings.triton.model)
    await connection.close()
    await agent.stop()
    texts = dict(agent.measurements())
    total = sum(len(page.statements) for page in pages)
    return {
        "pages": len(pages),
        "statements": total,
        "seconds": round(seconds, 2),
        "statements_per_second": round(total / seconds, 1),
        "embedded": int(texts["embed_texts_embedded"]),
        "saved_share": round(1 - texts["embed_texts_embedded"] / max(total, 1), 4),
        "batches": int(texts["embed_batches"]),
        "model_busy_share": round((after.seconds - before.seconds) / (seconds * after.instances), 3),
    }


def delivery(page: PageStatements, reference: str, generation: int) -> Delivery:
    from datetime import UTC, datetime

    event = PageChunked(
        page_id=page.page_id,
        url=page.url,
        generation=generation,
        crawl_id="bench",
        statements_ref=reference,
        statements=len(page.statements),
        language=page.language,
    )
    envelope = Envelope(id=uuid4(), type=event.event_type(), source="bench", time=datetime.now(UTC), subject="")
    return Delivery(event, envelope, event.topic, 0, 0)


def show(result: dict[str, Any]) -> None:
    conditions, runtimes = result["machine"], result["runtimes"]
    out.print(f"{conditions['cores']} cores, {conditions['processor']}, load before {conditions['load_before']}")
    rows = table(f"{runtimes['texts']} statements of {runtimes['tokens']} tokens, one thread", "", "CPU ms each")
    for name, value in runtimes["cpu_ms_per_text"].items():
        rows.add_row(name, str(value))
    out.print(rows)
    if "openvino_speedup" in runtimes:
        cosine = runtimes["openvino_cosine_least"]
        out.print(f"OpenVINO is {runtimes['openvino_speedup']} times as fast; cosine at least {cosine}.")
    rows = table("\nThe embed stage", "", "first fetch", "fetched again", "target")
    for name in ("statements", "statements_per_second", "embedded", "saved_share", "model_busy_share"):
        target = str(BUSY_TARGET) if name == "model_busy_share" else ""
        rows.add_row(name.replace("_", " "), *(str(one[name]) for one in result["stage"].values()), target)
    out.print(rows)
