"""`riffle web`: serve a folder of pages as a small web."""

from pathlib import Path
from typing import Annotated

import typer

from streams.commands.console import command, load_settings, out
from streams.local.web import WebServer, serve


@command
async def web_serve(
    folder: Annotated[Path, typer.Argument(metavar="DIR", help="A folder that holds a folder for each host.")],
    port: Annotated[int, typer.Option(help="Port to listen on. 0: any free port.")] = 0,
) -> None:
    """Serve DIR/HOST/path over HTTPS until Ctrl-C, with its own certificate authority.

    Missing robots.txt and sitemap.xml are generated. Redirects, 404s, ETags and 304s are as on a real server.

    Examples:

        riffle web mirror/
        riffle web mirror/ --port 8443
    """
    settings = load_settings()
    await serve(folder, port, settings.home / "web", _print_addresses)


def _print_addresses(server: WebServer) -> None:
    for host, address in server.hosts.items():
        out.print(f"https://{host}/  at  {address}")
    out.print(f"Its certificate authority is {server.ca_file.resolve()}. Try:")
    host = next(iter(server.hosts))
    example = f"curl --cacert {server.ca_file} --connect-to ::127.0.0.1:{server.port} https://{host}/"
    out.print(f"  {example}")
    out.advise("To crawl it: riffle up --web DIR. Ctrl-C stops this server.")
