"""`python -m streams.local.qdrant_server --host 127.0.0.1 --port 6333 --data DIR`."""

import argparse
import ssl
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

import uvicorn

from streams.credentials import server_context
from streams.local.qdrant_server.app import build_app
from streams.local.qdrant_server.collection import SEAL_POINTS
from streams.rare_ticks import QuietServer

KEEP_ALIVE_SECONDS = 60
"""Time after which an idle connection is closed (seconds). Clients close it long before: a starved one, too, sends
nothing into a connection that closes."""


EXIT_NOT_STARTED = 3
"""Exit status of a server that could not start, as uvicorn's own."""


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m streams.local.qdrant_server", description=__doc__)
    parser.add_argument("--host", default="127.0.0.1", help="address to listen on")
    parser.add_argument("--port", type=int, default=6333, help="port to listen on")
    parser.add_argument("--data", type=Path, required=True, help="folder of the collections; made when missing")
    parser.add_argument("--cert", type=Path, help="the server's certificate (PEM); with it, only HTTPS is served")
    parser.add_argument("--key", type=Path, help="the certificate's key (PEM)")
    parser.add_argument("--client-ca", type=Path, help="the authority of client certificates, which are required then")
    parser.add_argument("--seal-points", type=int, default=SEAL_POINTS, help="new points from which a graph is built")
    options = parser.parse_args()
    if (options.cert is None) != (options.key is None):
        parser.error("--cert and --key belong together")
    config = uvicorn.Config(
        build_app(options.data, options.seal_points),
        host=options.host,
        port=options.port,
        log_level="warning",
        access_log=False,
        timeout_keep_alive=KEEP_ALIVE_SECONDS,
        ssl_context_factory=_make_tls(options) if options.cert else None,
    )
    server = QuietServer(config)
    with suppress(KeyboardInterrupt):  # at Ctrl-C it has stopped in order
        server.run()
    if not server.started:
        raise SystemExit(EXIT_NOT_STARTED)


def _make_tls(options: argparse.Namespace) -> Callable[[uvicorn.Config, object], ssl.SSLContext]:
    return lambda _config, _default: server_context(options.cert, options.key, options.client_ca)


if __name__ == "__main__":
    main()
