"""`python -m streams.local.qdrant_server --host 127.0.0.1 --port 6333 --data DIR`."""

import argparse
from pathlib import Path

import uvicorn

from streams.local.qdrant_server.app import build_app


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m streams.local.qdrant_server", description=__doc__)
    parser.add_argument("--host", default="127.0.0.1", help="address to listen on")
    parser.add_argument("--port", type=int, default=6333, help="port to listen on")
    parser.add_argument("--data", type=Path, required=True, help="folder of the collections; made when missing")
    options = parser.parse_args()
    uvicorn.run(build_app(options.data), host=options.host, port=options.port, log_level="warning", access_log=False)


if __name__ == "__main__":
    main()
