"""`riffle mcp`: the tools for language models, over stdio."""

import signal
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Annotated, Any

import typer

from streams.commands.console import command, err, load_settings
from streams.errors import UsageError


@command
async def mcp(
    gateway: Annotated[str, typer.Option(help="Address of the gateway. Default: the local stack's.")] = "",
) -> None:
    """Serve tools for a language model over standard input and output (MCP): search, page, similar, answer, extract.

    Programs for language models start it themselves, and its output is for them: docs/guide/assistants.md has their
    configurations. A gateway serves the same tools at /mcp.

    Example:  riffle mcp --gateway https://search.example.org
    """
    settings = load_settings()
    address, key = gateway or settings.gateway.address, settings.access.key.get_secret_value()
    from streams.client import AsyncRiffle, requests

    try:
        requests.base_of(address)
        requests.headers_of(key)
    except ValueError as error:
        raise UsageError(str(error)) from None
    if sys.stdin.isatty():
        err.print(f"Waiting for a client, to ask {address} for it. Ctrl-C ends this.", highlight=False)
    from streams.gateway.tools.server import make_server

    @asynccontextmanager
    async def open_client(_: Any) -> AsyncIterator[AsyncRiffle]:
        async with AsyncRiffle(address, key) as riffle:
            yield riffle

    # A thread waits for input, and an interrupt of Python would wait for that thread. Nothing here needs a clean end.
    signal.signal(signal.SIGINT, signal.SIG_DFL)
    await make_server(open_client).run_stdio_async()
