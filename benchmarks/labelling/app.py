"""`python -m benchmarks label`: a gateway with the pages on which people label statements.

The pages of the gateway are there, too. Labels are files of a folder, which several such gateways may share.
"""

from datetime import UTC, datetime
from pathlib import Path
from typing import Annotated

import typer
import uvicorn
from fastapi import FastAPI
from jinja2 import FileSystemLoader

from benchmarks.labelling.label_routes import label_routes
from streams.commands.console import command, load_settings, out
from streams.gateway.access.guard import Guard
from streams.gateway.app import create_app
from streams.gateway.context import GatewayContext
from streams.gateway.http.metrics import Metrics
from streams.gateway.http.templates import Views, templates
from streams.gateway.labs.routes import LabsCapacity
from streams.gateway.lazy_stores import open_lazily
from streams.gateway.serve import listen, server_config
from streams.seen.stores import SeenStores

TEMPLATES = Path(__file__).with_name("templates")


def add_labelling(app: FastAPI, context: GatewayContext, folder: Path) -> None:
    """Add the pages to a gateway. `folder`: where the labels are."""
    loader = templates().loader
    assert isinstance(loader, FileSystemLoader)
    if str(TEMPLATES) not in loader.searchpath:
        loader.searchpath.append(str(TEMPLATES))
    app.include_router(label_routes(context, Views(), LabsCapacity(), Guard(context).visible_to_people, folder))


@command
async def run(
    labels: Annotated[
        Path | None, typer.Option(file_okay=False, help="Folder of the labels. Default: labels in RIFFLE_HOME.")
    ] = None,
    port: Annotated[int, typer.Option(help="Port to listen on.")] = 8081,
) -> None:
    """Label statements at /labs/label, over the stack that runs.

    Example:  python -m benchmarks label --labels labels/
    """
    settings = load_settings(gateway={"port": port})
    listening = listen(settings.gateway)
    async with open_lazily(settings) as stores:
        context = GatewayContext(settings, SeenStores(stores), Metrics(), lambda: datetime.now(UTC))
        app = create_app(settings, stores, publish=None, clock=context.clock)
        add_labelling(app, context, labels or settings.home / "labels")
        out.print(f"http://{settings.gateway.host}:{listening.getsockname()[1]}/labs/label", highlight=False)
        try:
            await uvicorn.Server(server_config(app, settings.gateway)).serve(sockets=[listening])
        finally:
            await app.state.gateway.close()
