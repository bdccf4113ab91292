"""The producer of events outside stages: a caller that gives up while the producer connects leaves nothing open."""

import asyncio
import gc
import warnings

import pytest

from streams.runtime.producer import EventProducer
from streams.settings import Settings


async def test_a_start_that_is_cancelled_closes_what_it_opened() -> None:
    """A request whose time is over ends like this: the broker takes the connection, and never answers."""
    reached = asyncio.Event()

    async def be_silent(_reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        reached.set()
        await asyncio.sleep(30)
        writer.close()

    server = await asyncio.start_server(be_silent, "127.0.0.1", 0)
    port = server.sockets[0].getsockname()[1]
    settings = Settings.model_validate({"kafka": {"bootstrap": f"127.0.0.1:{port}"}})
    starting = asyncio.create_task(EventProducer(settings, "test").start())
    await reached.wait()
    starting.cancel()
    with pytest.raises(asyncio.CancelledError):
        await starting
    server.close()
    del starting
    with warnings.catch_warnings(record=True) as unclosed:
        warnings.simplefilter("always")
        gc.collect()
    assert not [str(w.message) for w in unclosed if issubclass(w.category, ResourceWarning)]
