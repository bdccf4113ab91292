"""The servers beside the cluster: Kafka, Cassandra and Qdrant at the node's address, and a web site of two pages."""

import http.server
import sys
from datetime import UTC, datetime
from functools import partial
from pathlib import Path

from streams.local.servers.cassandra import Cassandra
from streams.local.servers.kafka import Kafka
from streams.local.tls.certificates import open_authority
from tests.chart.one_node.node import NODE, SITE, SITE_HOST, Node
from tests.chart.rendering import ROOT

KAFKA_PORT, CASSANDRA_PORT, QDRANT_PORT = 9092, 9042, 6333
API_KEY = "key-of-this-cluster"
PAGES = {
    "index.html": """<!doctype html><html lang="en"><head><title>Example domain</title></head><body><main>
        <h1>Example domain</h1><p>This domain is for use in documents, and nobody needs a permission for it.</p>
        <p>See <a href="/reserved.html">more about reserved names</a>.</p></main></body></html>""",
    "reserved.html": """<!doctype html><html lang="en"><head><title>Reserved names</title></head><body><main>
        <h1>Reserved names</h1><p>Some names are kept for tests and for manuals. They will never lead to a real
        company, so a reader who types one by mistake meets nobody.</p></main></body></html>""",
}


def start(node: Node, qdrant: Path) -> None:
    """Start all servers. They are as on the local stack, but for the address."""
    kafka, cassandra = Kafka(node.folder / "kafka"), Cassandra(node.folder / "cassandra")
    kafka.port, cassandra.port = KAFKA_PORT, CASSANDRA_PORT
    for server, file in ((kafka, "server.properties"), (cassandra, "cassandra.yaml")):
        launch = server.prepare()
        configuration = server.data / file
        configuration.write_text(configuration.read_text().replace("127.0.0.1", NODE))
        node.start(server.name, *launch.command, environment=launch.environment)
    (node.folder / "qdrant").mkdir()
    settings = {
        "QDRANT__SERVICE__HOST": NODE,
        "QDRANT__SERVICE__API_KEY": API_KEY,
        "QDRANT__TELEMETRY_DISABLED": "true",
        "QDRANT__STORAGE__STORAGE_PATH": str(node.folder / "qdrant"),
        "QDRANT__STORAGE__SNAPSHOTS_PATH": str(node.folder / "qdrant" / "snapshots"),
    }
    node.start("qdrant", qdrant, environment=settings)
    node.start("site", sys.executable, "-m", __name__, node.folder, environment={"PYTHONPATH": str(ROOT)})


def serve_site(folder: Path) -> None:
    """Serve the pages over HTTPS until the process ends."""
    pages = folder / "site"
    pages.mkdir()
    for name, text in PAGES.items():
        (pages / name).write_text(text)
    handler = partial(http.server.SimpleHTTPRequestHandler, directory=str(pages))
    server = http.server.ThreadingHTTPServer((SITE, 443), handler)
    context = open_authority(folder / "authority", datetime.now(UTC)).context(SITE_HOST, datetime.now(UTC))
    server.socket = context.wrap_socket(server.socket, server_side=True)
    server.serve_forever()


if __name__ == "__main__":
    serve_site(Path(sys.argv[1]))
