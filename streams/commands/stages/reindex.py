"""`riffle reindex`: fill a model's collection from the statements in Cassandra, and choose the one that is searched."""

import asyncio
import time
from typing import Annotated, Any

import typer

from streams.commands.console import EXIT_NO, JSON_OPTION, command, err, load_settings, out, print_json
from streams.errors import UsageError
from streams.settings import Settings
from streams.stores.opener import Stores, open_stores
from streams.stores.triton import open_models
from streams.vectors.reindexing import Outcome, Reindexer, Verification

MAX_PASSES = 5
"""Maximum passes over all pages. Each writes what was indexed elsewhere during the one before."""


@command
async def reindex(
    model: Annotated[str, typer.Option(help="Model of the model repository. Default: the one of the settings.")] = "",
    host: Annotated[str, typer.Option(help="Only pages of this host. The collection that is searched stays.")] = "",
    rate: Annotated[float, typer.Option(min=0, help="Maximum statements per second. 0: no limit.")] = 0.0,
    switch: Annotated[bool, typer.Option(help="Search the collection once it is complete and verified.")] = True,
    activate: Annotated[str, typer.Option(help="Only switch: search this collection from now on.")] = "",
    back: Annotated[bool, typer.Option("--back", help="Only switch: search the other collection again.")] = False,
    drop: Annotated[str, typer.Option(help="Only remove this collection, which no search reads.")] = "",
    as_json: Annotated[bool, JSON_OPTION] = False,
) -> int:
    """Fill a model's collection from the statements in Cassandra, verify it, and search it from then on.

    For a new model, and after a loss of the vector index. Searches read the former collection meanwhile. A run that was
    stopped goes on where it was. Nothing is fetched, and vectors that are kept are not computed again.

    Examples:

        riffle reindex --model sbert_mpnet --rate 200
        riffle reindex --model sbert_mpnet --host www.sqlite.org --no-switch
        riffle reindex --back
        riffle reindex --drop statements-all-minilm-l6-v2-int8-1
    """
    if sum(map(bool, (model or host, activate, back, drop))) > 1:
        raise UsageError("--activate, --back and --drop stand alone: each only changes which collections there are")
    settings = load_settings()
    if activate or back or drop:
        async with open_stores(settings, ["qdrant"]) as stores:
            answer = await _dropped(stores, drop) if drop else await _switched(stores, activate)
        _print(answer, as_json)
        return 0
    return await _fill(settings, model or settings.triton.model, host, rate, switch=switch, as_json=as_json)


async def _dropped(stores: Stores, collection: str) -> dict[str, Any]:
    await stores.vectors.drop(collection)
    return {"dropped": collection}


async def _switched(stores: Stores, collection: str) -> dict[str, Any]:
    former = await stores.vectors.active()
    if not collection:
        others = [name for name in await stores.vectors.collections() if name != former]
        if len(others) != 1:
            raise UsageError(
                f"there {'is no other collection' if not others else 'are several others: ' + ', '.join(others)}. "
                "Name one: riffle reindex --activate COLLECTION"
            )
        collection = others[0]
    await stores.vectors.activate(collection)
    return {"searched": collection, "former": former}


async def _fill(settings: Settings, model: str, host: str, rate: float, *, switch: bool, as_json: bool) -> int:
    chosen = settings.triton.model_copy(update={"model": model, "query_model": "", "query_url": ""})
    async with open_stores(settings, ["cassandra", "qdrant"]) as stores:
        models = await open_models(settings.model_copy(update={"triton": chosen}))
        try:
            return await _fill_and_switch(stores, Reindexer(stores, models.embedder, host=host, per_second=rate),
                                          await stores.vectors.ensure(await models.embedder.info()),
                                          switch=switch and not host, as_json=as_json)  # fmt: skip
        finally:
            await models.close()


async def _fill_and_switch(
    stores: Stores, reindexer: Reindexer, collection: str, *, switch: bool, as_json: bool
) -> int:
    former = await stores.vectors.active()
    try:
        outcome = await _until_complete(reindexer, collection)
        verification = await reindexer.verify()
        switched = switch and verification.passed and former != collection
        if switched:
            await stores.vectors.activate(collection)
            # Pages that were indexed into the former collection during the last pass.
            await _one_pass(reindexer, collection, again=True)
    finally:
        await reindexer.close()
    answer = _answer(collection, former, outcome, verification, switched=switched)
    _print(answer, as_json)
    return 0 if verification.passed and not outcome.failed else EXIT_NO


async def _until_complete(reindexer: Reindexer, collection: str) -> Outcome:
    await _one_pass(reindexer, collection, again=False)
    for _ in range(MAX_PASSES - 1):
        written = reindexer.outcome.written
        if not await _one_pass(reindexer, collection, again=True) - written:
            break
    return reindexer.outcome


async def _one_pass(reindexer: Reindexer, collection: str, *, again: bool) -> int:
    """Returns the number of pages written by all passes so far."""
    total = reindexer.outcome
    total.pages = total.statements = 0
    total.failed.clear()
    started = time.monotonic()
    with err.status(f"Filling {collection} ...") as status:
        async for so_far in reindexer.run(again=again):
            per_second = so_far.written_statements / max(time.monotonic() - started, 0.001)
            status.update(
                f"{'Looking for changes' if again else 'Filling'} {collection}: {so_far.pages} pages, "
                f"{so_far.statements} statements; {so_far.written} pages written, {per_second:.0f} statements/s"
            )
            await asyncio.sleep(0)
    return total.written


def _answer(
    collection: str, former: str | None, outcome: Outcome, verification: Verification, *, switched: bool
) -> dict[str, Any]:
    return {
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
        "failed": outcome.failed,
        "verified_pages": verification.pages,
        "wrong_pages": list(verification.wrong),
        "recall": round(verification.recall, 4),
        "passed": verification.passed,
    }


def _print(answer: dict[str, Any], as_json: bool) -> None:
    if as_json:
        print_json(answer)
        return
    if "dropped" in answer:
        out.print(f"Removed {answer['dropped']}.")
        return
    if "collection" in answer:
        out.print(
            f"{answer['collection']}: {answer['pages']} pages with {answer['statements']} statements; "
            f"{answer['written_pages']} pages were written, {answer['embedded_statements']} statements embedded."
        )
        out.print(
            f"Verified {answer['verified_pages']} pages, recall {answer['recall']:.3f}"
            + (f". WRONG: {', '.join(answer['wrong_pages'])}" if answer["wrong_pages"] else ": all as recorded.")
        )
        for line in answer["failed"]:
            out.print(f"Could not be written: {line}")
    if answer.get("passed") is False:
        out.print(f"Not switched: searches read {answer['searched']}. Run it again, or look at the pages above.")
    elif answer["searched"] != answer["former"]:
        out.print(
            f"Searches read {answer['searched']} from now on. "
            f"Back to {answer['former']}: riffle reindex --activate {answer['former']}"
        )
    else:
        out.print(f"Searches read {answer['searched']}.")
