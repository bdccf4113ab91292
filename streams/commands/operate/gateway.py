"""`riffle gateway`: the process that answers people and programs."""

from typing import Annotated

import typer

from streams.commands.console import command, load_settings


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
    from streams.gateway.query_publisher import QueryPublisher
    from streams.gateway.serve import serve

    publisher = QueryPublisher(settings)
    try:
        await serve(settings, publisher)
    finally:
        await publisher.stop()
