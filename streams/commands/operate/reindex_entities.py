"""`riffle reindex --entities`: the points of entities in the collection of another model, and the switch to it."""

from contextlib import AsyncExitStack
from typing import Any

from streams.commands.console import EXIT_NO, err, out, print_json
from streams.commands.job_reports import reported
from streams.knowledge.reindexing import EntityReindexer, Reindexed
from streams.models.opening import open_models
from streams.models.protocols import Embedder
from streams.settings import Settings
from streams.stores.opener import Stores, open_stores


async def reindex_entities(settings: Settings, model: str, *, switch: bool, as_json: bool) -> int:
    """Fill the model's collection, search it from then on, and print the outcome."""
    chosen = settings.triton.model_copy(update={"model": model, "query_model": "", "query_url": ""})
    async with open_stores(settings, ["records", "vectors"]) as stores, AsyncExitStack() as stack:
        models = await open_models(settings.model_copy(update={"triton": chosen}))
        stack.push_async_callback(models.close)
        report = await stack.enter_async_context(reported(stores.notes, "reindex --entities"))
        with err.status("Reading entities ...") as status:

            def progress(counts: Reindexed) -> None:
                sentence = f"{counts.entities:,} entities, {counts.written:,} written"
                status.update(sentence)
                report(sentence)

            answer = await fill_and_switch(stores, models.embedder, switch=switch, progress=progress)
    if as_json:
        print_json(answer)
    else:
        _print(answer)
    return 0 if answer["entities"] else EXIT_NO


async def fill_and_switch(stores: Stores, embedder: Embedder, *, switch: bool, progress: Any) -> dict[str, Any]:
    """Fill the collection, switch, and fill it once more: with the entities that changed meanwhile."""
    former = await stores.entity_vectors.active()
    collection = await stores.entity_vectors.ensure(await embedder.info())
    reindexer = EntityReindexer(stores, embedder, collection)
    written = 0
    counts = Reindexed()
    for is_last in (False, True):
        async for counts in reindexer.run():
            progress(counts)
        written += counts.written
        if switch and not is_last and counts.entities and former != collection:
            await stores.entity_vectors.activate(collection)
    return {
        "collection": collection,
        "former": former,
        "searched": await stores.entity_vectors.active(),
        "entities": counts.entities,
        "written": written,
    }


def _print(answer: dict[str, Any]) -> None:
    if not answer["entities"]:
        out.advise("There are no entities: import some first, see `riffle import --help`.")
        return
    out.print(f"{answer['collection']}: {answer['entities']:,} entities, {answer['written']:,} points were written.")
    out.print(f"Panels are found in {answer['searched']}.")
    if answer["former"] not in (None, answer["searched"]):
        out.advise(f"Back to the former one: riffle reindex --entities --activate {answer['former']}")
