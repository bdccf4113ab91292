"""The processes that run until they are stopped: `riffle worker`, `gateway`, `admin` and `mcp`."""

import signal
import sys
from collections.abc import AsyncIterator, Coroutine
from contextlib import asynccontextmanager
from typing import Annotated, Any

import typer

from streams.commands.console import choose_stages, command, err, load_settings, need_kafka, styled
from streams.errors import UsageError
from streams.topology import STAGES


@command
def worker(
    stages: Annotated[list[str], typer.Argument(help=f"One or several of {', '.join(s.name for s in STAGES)}.")],
    instance: Annotated[str, typer.Option(help="This worker's name among the stage's workers (a pod's ordinal).")] = "",
    accept_loss: Annotated[
        bool, typer.Option("--accept-loss", help="Continue after events that Kafka deleted before they were handled.")
    ] = False,
    health_port: Annotated[int, typer.Option(help="Port of /healthz, /readyz and /metrics. 0: any free port.")] = 0,
) -> Coroutine[Any, Any, int]:
    """Run one or several stages until SIGTERM or Ctrl-C.

    Examples:

        riffle worker fetch
        riffle worker normalize dedup --health-port 9100
    """
    chosen = choose_stages(stages)
    runtime = {name: value for name, value in (("instance", instance), ("health_port", health_port)) if value}
    settings = load_settings(runtime=runtime)
    from streams.runtime.worker import run_worker, use_fast_loop

    use_fast_loop()
    return run_worker(chosen, settings, accept_loss=accept_loss)


@command
async def gateway(
    host: Annotated[str | None, typer.Option(help="Address to listen on.")] = None,
    port: Annotated[int | None, typer.Option(help="Port to listen on.")] = None,
) -> None:
    """Run the gateway: the search page, the API, and the page that shows why a page is (not) indexed.

    Example:  riffle gateway --port 8080
    """
    given = {name: value for name, value in (("host", host), ("port", port)) if value is not None}
    settings = load_settings(gateway=given)
    from streams.gateway.serve import GatewayEvents, serve

    events = GatewayEvents(settings)
    try:
        await serve(settings, events)
    finally:
        await events.stop()


@command
async def admin(
    host: Annotated[str, typer.Option(help="Address to listen on.")] = "127.0.0.1",
    port: Annotated[int, typer.Option(help="Port to listen on.")] = 8090,
) -> None:
    """Run the pages of operators: stages, dead letters, hosts, jobs, and the log of actions.

    The password is RIFFLE_ADMIN__KEY. Without one, a new password is made and printed. The name is for the audit log.

    Examples:

        riffle admin
        RIFFLE_ADMIN__KEY=... riffle admin --host 0.0.0.0 --port 8090
    """
    settings = load_settings()
    from streams.admin.app import key_of, serve_admin

    key, is_new = key_of(settings)
    need_kafka(settings)
    err.print(styled("The pages of operators: [bold]{}[/]", f"http://{host}:{port}/admin"))
    if is_new:
        err.print(styled("Sign in with any name and the password [bold]{}[/]", key))
    await serve_admin(settings, key, host, port)


@command
async def mcp(
    gateway: Annotated[str, typer.Option(help="Address of the gateway. Default: the local stack's.")] = "",
) -> None:
    """Serve tools for a language model over standard input and output (MCP): search, fetch, answer and others.

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
        err.print(f"Waiting for a client, to ask {address} for it. Ctrl-C ends this.")
    from streams.gateway.tools.server import make_server

    @asynccontextmanager
    async def open_client(_: Any) -> AsyncIterator[AsyncRiffle]:
        async with AsyncRiffle(address, key) as riffle:
            yield riffle

    # A thread waits for input, and an interrupt of Python would wait for that thread. Nothing here needs a clean end.
    signal.signal(signal.SIGINT, signal.SIG_DFL)
    await make_server(open_client).run_stdio_async()
