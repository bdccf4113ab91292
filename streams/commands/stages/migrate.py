"""`riffle migrate`: prepare a cluster before the first worker starts, and after each upgrade."""

import asyncio

from streams.commands.console import command, load_settings, out
from streams.runtime.topics import create_topics


@command
async def migrate() -> None:
    """Create the topics, tables and search collection that this version needs. Safe to repeat.

    A deployment runs it before its workers. `riffle up` runs it by itself.

    Example:  RIFFLE_PROFILE=production riffle migrate
    """
    from streams.stores import cassandra
    from streams.stores.opener import open_stores

    settings = load_settings()
    topics = await asyncio.to_thread(create_topics, settings)
    out.print(f"Topics: {len(topics)} created." if topics else "Topics: all exist.", highlight=False)
    applied = await cassandra.migrate(settings.cassandra)
    out.print(f"Tables: {', '.join(applied)} applied." if applied else "Tables: up to date.", highlight=False)
    async with open_stores(settings, ["qdrant", "triton"]) as stores:
        collection = await stores.vectors.ensure(await stores.embedder.info())
    out.print(f"Collection: {collection}.", highlight=False)
