"""`riffle reindex`: fill a model's collection from the statements in Cassandra, and choose the searched collection."""

import asyncio
import time
from collections.abc import Sequence
from contextlib import AsyncExitStack
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any
from urllib.parse import urlsplit

import typer

from streams.commands.console import EXIT_NO, AsJson, command, err, load_settings, out, print_json
from streams.commands.job_reports import Report, reported, unreported
from streams.commands.operate.reindex_entities import reindex_entities
from streams.crawl.urls import InvalidUrl, with_scheme
from streams.errors import UsageError
from streams.maintenance.page_writer import Outcome
from streams.maintenance.recomputing import Recomputer
from streams.maintenance.reindexing import LEAST_RECALL, Fault, Reindexer
from streams.models.opening import open_models
from streams.models.protocols import Embedder, Models
from streams.plain_text import count_of
from streams.statements.sandbox_tasks import drafting_pool
from streams.stores.opener import Stores, open_stores
from streams.stores.protocols import VectorIndex
from streams.stores.searched_model import CHECK_SECONDS

if TYPE_CHECKING:
    from streams.models.batch_files import BatchFiles

MAX_PASSES = 5
"""Maximum passes over all pages. Each pass writes the pages that were indexed elsewhere during the pass before."""
SEEN_SECONDS = 2 * CHECK_SECONDS
"""Time after a switch until each page is indexed into the searched collection (seconds): workers see the switch within
half of it, and a page that is being written is written within the rest."""
NAMED_PAGES = 10
"""Maximum pages of a kind that are named to people. Programs get all pages."""


@command
async def reindex(
    model: Annotated[str, typer.Option(help="Model of the model repository. Default: the one of the settings.")] = "",
    host: Annotated[str, typer.Option(help="Only pages of this host. The collection that is searched stays.")] = "",
    rate: Annotated[float, typer.Option(min=0, help="Maximum statements per second. 0: no limit.")] = 0.0,
    switch: Annotated[bool, typer.Option(help="Search the collection once it is complete and verified.")] = True,
    skip_failed: Annotated[
        bool,
        typer.Option(
            "--skip-failed",
            help="Switch although pages can't be read. They are missing until their statements are made again.",
        ),
    ] = False,
    recompute: Annotated[
        bool,
        typer.Option(
            "--recompute", help="Ask the models again about every page, and mend what is stored where it differs."
        ),
    ] = False,
    activate: Annotated[str, typer.Option(help="Only switch: search this collection from now on.")] = "",
    back: Annotated[bool, typer.Option("--back", help="Only switch: search the other collection again.")] = False,
    drop: Annotated[str, typer.Option(help="Only remove this collection, which no search reads.")] = "",
    entities: Annotated[
        bool, typer.Option("--entities", help="The collection of entities, with --model, --activate, --back or --drop.")
    ] = False,
    batch: Annotated[
        Path | None,
        typer.Option(help="Folder of requests for the server's Batch API, and of their results."),
    ] = None,
    as_json: AsJson = False,
) -> int:
    """Fill a model's collection from the statements in Cassandra, verify it, and search it from then on.

    For a new model, and after a loss of the vector index. Until then, searches read the former collection. A run that
    was stopped continues where it was. Nothing is fetched, and vectors that are kept are not computed again.

    With --recompute, the models compute all links and vectors again, page by page. The result is compared with what
    Cassandra and Qdrant hold, and only what differs is written. `riffle doctor --vectors` compares a sample beforehand.

    With --batch, the first run only writes requests, and further runs read the results. Rows without one are named, and
    asked for directly. So are texts that came since.

    Examples:

        riffle reindex --model sbert_mpnet --rate 200
        riffle reindex --model sbert_mpnet --host www.sqlite.org --no-switch
        riffle reindex --recompute --rate 200
        riffle reindex --model served --batch ./batch
        riffle reindex --entities --model sbert_mpnet
        riffle reindex --back
        riffle reindex --drop statements-all-minilm-l6-v2-int8-1
    """
    if sum(map(bool, (model or host or skip_failed or recompute, activate, back, drop))) > 1:
        raise UsageError("--activate, --back and --drop stand alone: each only changes which collections there are")
    if model and recompute:
        raise UsageError("--recompute compares pages with the model that they were indexed with: without --model")
    if batch and (recompute or entities or activate or back or drop):
        raise UsageError("--batch goes with --model, --host, --rate, --no-switch and --skip-failed only")
    if entities and (host or rate or recompute or skip_failed):
        raise UsageError("--entities goes with --model, --no-switch, --activate, --back and --drop only")
    settings = load_settings()
    if activate or back or drop:
        async with open_stores(settings, ["vectors"]) as stores:
            index = stores.entity_vectors if entities else stores.vectors
            if drop:
                await index.drop(drop)
            answer = {"dropped": drop} if drop else await _switch_collection(index, activate)
        _print(answer, as_json)
        return 0
    if entities:
        return await reindex_entities(settings, model or settings.triton.model, switch=switch, as_json=as_json)
    only = _host(host) if host else ""
    chosen = settings.triton.model_copy(
        update={"model": model or settings.triton.model, "query_model": "", "query_url": ""}
    )
    async with open_stores(settings, ["records", "vectors"]) as stores, AsyncExitStack() as stack:
        models = await open_models(settings.model_copy(update={"triton": chosen}))
        stack.push_async_callback(models.close)
        recomputer = await _start_recomputer(stores, models, stack) if recompute else None
        embedder: Embedder = models.embedder
        if batch:
            files = _batch_files(batch, embedder)
            if unready := await _take_batch(files, Reindexer(stores, embedder, host=only)):
                _print(unready, as_json)
                return EXIT_NO if unready["batch"].get("waiting") else 0
            embedder = files.before(embedder)
        reindexer = Reindexer(stores, embedder, host=only, per_second=rate, recomputer=recomputer)
        collection = await stores.vectors.ensure(await models.embedder.info())
        report = await stack.enter_async_context(reported(stores.notes, "reindex"))
        return await _fill_and_switch(
            stores, reindexer, collection, report, switch=switch and not only, skip_failed=skip_failed, as_json=as_json
        )


def _batch_files(folder: Path, embedder: Embedder) -> "BatchFiles":
    from streams.models.batch_files import BatchFiles  # as below
    from streams.models.openai_embedder import OpenAIEmbedder  # loads the runtimes of models

    if not isinstance(embedder, OpenAIEmbedder):
        raise UsageError(
            "--batch is for a model behind a server of OpenAI's API: RIFFLE_TRITON__URL=openai+https://..."
        )
    return BatchFiles(folder, embedder.model, embedder.path)


async def _take_batch(files: "BatchFiles", reindexer: Reindexer) -> dict[str, Any] | None:
    """Write the requests, or read the results. Return an answer, or None if the collection can be filled."""
    if not files.has_requests:
        try:
            with err.status("Writing requests ..."):
                texts, written = await files.write(reindexer.texts())
        finally:
            await reindexer.close()
        return {"batch": {"texts": texts, "written": written}} if texts else None
    with err.status("Comparing the results with their requests ..."):
        state = await asyncio.to_thread(files.read)
    for line in _first(state.failed):
        err.print(f"Asked for directly, since its row has no result: {line}")
    return {"batch": {"texts": state.texts, "waiting": list(state.waiting)}} if state.waiting else None


def _host(given: str) -> str:
    """Return the host as in the URLs of pages: lower case, in ASCII. Raises UsageError for anything else."""
    try:
        url = with_scheme(given.strip())
    except InvalidUrl as error:
        raise UsageError(
            f"--host {given!r} is not the name of a host ({error}). Give one like www.sqlite.org"
        ) from None
    host = urlsplit(url).netloc
    if "/" in given or url != f"https://{host}/":
        raise UsageError(f"--host {given!r} is a URL. Give its host alone: --host {host}")
    return host


async def _switch_collection(index: VectorIndex, collection: str) -> dict[str, Any]:
    former = await index.active()
    if not collection:
        others = [name for name in await index.collections() if name != former]
        if len(others) != 1:
            raise UsageError(
                f"there {'is no other collection' if not others else 'are several others: ' + ', '.join(others)}. "
                "Name one: riffle reindex --activate COLLECTION"
            )
        collection = others[0]
    await index.activate(collection)
    return {"searched": collection, "former": former}


async def _start_recomputer(stores: Stores, models: Models, stack: AsyncExitStack) -> Recomputer:
    stores.embedder, stores.chains = models.embedder, models.chains
    sandbox = drafting_pool("reindex")
    sandbox.start()
    stack.push_async_callback(sandbox.close)
    recomputer = Recomputer(stores, sandbox)
    stack.push_async_callback(recomputer.close)
    return recomputer


async def _fill_and_switch(
    stores: Stores,
    reindexer: Reindexer,
    collection: str,
    report: Report = unreported,
    *,
    switch: bool,
    as_json: bool,
    skip_failed: bool = False,
) -> int:
    former = await stores.vectors.active()
    try:
        outcome = await _until_complete(reindexer, collection, report)
        if reindexer.host and not outcome.pages:
            raise UsageError(
                f"The index has no page of {reindexer.host}. Give the host as it is in the pages' URLs: "
                "www.sqlite.org and sqlite.org are two hosts"
            )
        report(f"Verifying {collection}")
        verification = await reindexer.verify()
        failed = [*outcome.failed, *verification.failed]
        # The sample doesn't show that single pages are missing.
        faults = verification.faults
        if failed and not skip_failed:
            faults.append("failed-pages")
        switched = switch and not faults and former != collection
        if switched:
            await stores.vectors.activate(collection)
            # More passes, for the pages that were indexed into the former collection during the last pass, and before
            # the workers saw the switch.
            seen_at = time.monotonic() + SEEN_SECONDS
            await _one_pass(reindexer, collection, report, again=True)
            report("Waiting until workers and gateways see the switch")
            await asyncio.sleep(max(seen_at - time.monotonic(), 0))
            await _one_pass(reindexer, collection, report, again=True)
            failed += outcome.failed
    finally:
        await reindexer.close()
    answer: dict[str, Any] = {
        "collection": collection,
        "former": former,
        "searched": collection if switched else former,
        "switched": switched,
        "pages": outcome.pages,
        "statements": outcome.statements,
        "statements_in_collection": verification.statements,
        "written_pages": outcome.written,
        "written_statements": outcome.written_statements,
        "embedded_statements": outcome.embedded,
        "failed": list(dict.fromkeys(failed)),
        "verified_pages": verification.pages,
        "wrong_pages": list(verification.wrong),
        "recall": round(verification.recall, 4),
        "passed": not faults,
        "faults": list(faults),
    }
    if reindexer.mended:
        answer["recomputed"] = asdict(reindexer.mended)
    _print(answer, as_json)
    return EXIT_NO if faults else 0


async def _until_complete(reindexer: Reindexer, collection: str, report: Report) -> Outcome:
    await _one_pass(reindexer, collection, report, again=False)
    for _ in range(MAX_PASSES - 1):
        written = reindexer.outcome.written
        if not await _one_pass(reindexer, collection, report, again=True) - written:
            break
    return reindexer.outcome


async def _one_pass(reindexer: Reindexer, collection: str, report: Report, *, again: bool) -> int:
    """Read all pages once. Return the number of pages that all passes have written so far."""
    total = reindexer.outcome
    total.pages = total.statements = 0
    total.failed.clear()
    started = time.monotonic()
    with err.status(f"Filling {collection} ...") as status:
        async for so_far in reindexer.run(again=again):
            per_second = so_far.written_statements / max(time.monotonic() - started, 0.001)
            sentence = (
                f"{'Looking for changes' if again else 'Filling'} {collection}: {so_far.pages} pages, "
                f"{so_far.statements} statements; {so_far.written} pages written, {per_second:.0f} statements/s"
            )
            status.update(sentence)
            report(sentence, reindexer.share)
            await asyncio.sleep(0)
    return total.written


def _print(answer: dict[str, Any], as_json: bool) -> None:
    if as_json:
        print_json(answer)
        return
    if "batch" in answer:
        _print_batch(answer["batch"])
        return
    if "dropped" in answer:
        out.print(f"Removed {answer['dropped']}.")
        return
    if "collection" in answer:
        _print_filling(answer)
    if answer.get("faults"):
        complete = answer["searched"] != answer["collection"]
        out.print(
            f"{'Not switched: searches' if complete else 'Searches'} read {answer['searched']}"
            f"{'' if complete else ', which is not complete'}."
        )
        for fault in answer["faults"]:
            out.advise(_advice(fault, answer))
    elif answer["searched"] != answer["former"]:
        out.advise(
            f"Searches read {answer['searched']} from now on. "
            f"Back to {answer['former']}: riffle reindex --activate {answer['former']}"
        )
    else:
        out.print(f"Searches read {answer['searched']}.")


def _print_batch(batch: dict[str, Any]) -> None:
    if waiting := batch.get("waiting"):
        out.advise(f"No results of {', '.join(_first(waiting))}. Put them into the folder as .jsonl, and run it again.")
        return
    out.advise(
        f"{count_of(batch['texts'], 'text')} in {', '.join(_first(batch['written']))}. Give each file to the server's "
        "Batch API, put the results into the same folder as .jsonl, and run it again."
    )


def _print_filling(answer: dict[str, Any]) -> None:
    out.print(
        f"{answer['collection']}: {answer['pages']} pages with {answer['statements']} statements; "
        f"{answer['written_pages']} pages were written, {answer['embedded_statements']} statements embedded."
    )
    if "recomputed" in answer:
        _print_mended(answer["recomputed"])
    wrong = answer["wrong_pages"]
    all_right = ": all as recorded." if answer["verified_pages"] else "."
    out.print(
        f"Verified {count_of(answer['verified_pages'], 'page')}, recall {answer['recall']:.3f}"
        + (f". WRONG: {', '.join(_first(wrong))}" if wrong else all_right)
    )
    for line in _first(answer["failed"]):
        out.print(f"Could not be read: {line}")


def _print_mended(mended: dict[str, Any]) -> None:
    out.print(
        f"Compared {count_of(mended['compared'], 'page')} with the models' answers. Mended: links of "
        f"{len(mended['links'])}, vectors of {len(mended['blob_vectors'])}, "
        f"vectors in the index of {len(mended['index_vectors'])}."
    )
    for url in _first(sorted({*mended["links"], *mended["blob_vectors"], *mended["index_vectors"]})):
        out.print(f"Mended: {url}")
    if mended["other_release"]:
        out.advise(
            f"{count_of(mended['other_release'], 'page')} drafted by another release: their links were not compared. "
            "New links: riffle replay --from statements"
        )
    if mended["no_document"]:
        out.print(f"{count_of(mended['no_document'], 'page')} without a document: their links were not compared.")
    if mended["other_model"]:
        out.print(f"{count_of(mended['other_model'], 'page')} indexed with another model: not compared.")


def _first(lines: Sequence[str]) -> list[str]:
    """Return the first lines, and a line with the number of the other lines."""
    more = len(lines) - NAMED_PAGES
    return [*lines[:NAMED_PAGES], *([f"{more} more, which --json names"] if more > 0 else [])]


def _advice(fault: Fault, answer: dict[str, Any]) -> str:
    """Return a sentence with the fault and the advice."""
    if fault == "no-pages" and not answer["pages"]:
        return "Cassandra has no page of the index: crawl first, or restore a backup (riffle restore)."
    if fault == "no-pages":
        return "No page could be compared with its statements. Run it again, or restore a backup (riffle restore)."
    if fault == "failed-pages":
        return (
            f"{count_of(len(answer['failed']), 'page')} could not be read, see above. Make the statements again "
            "(riffle replay --from statements), or do without these pages (riffle reindex --skip-failed)."
        )
    if fault == "wrong-pages":
        return f"{count_of(len(answer['wrong_pages']), 'page')} of those compared: not as recorded. Run it again."
    return f"The recall is below {LEAST_RECALL}. Wait until Qdrant has optimised the collection, and run it again."
