"""Make a snapshot of every collection on every node of Qdrant, and delete those that are older than the last KEEP.

In a cluster a snapshot holds the shards of the node that made it, so each node is asked. The nodes store their
snapshots as they are configured to (values.yaml: in an object store). The script needs Python alone. It fails if any
node fails, after it has asked the others.

    QDRANT_URL      address with `{node}` in place of the node's number, such as https://qdrant-{node}.qdrant-headless:6333
    QDRANT_NODES    number of nodes
    QDRANT_TLS      folder with tls.crt, tls.key and ca.crt (not used if it is empty)
    QDRANT_API_KEY  API key (not sent if it is empty)
    KEEP            number of snapshots of a collection to keep on a node (default 7)
"""

import json
import os
import ssl
import sys
import urllib.request
from typing import Any

TIMEOUT_SECONDS = 3 * 3600
"""Maximum duration of one request: Qdrant answers when the snapshot is complete."""


def main() -> int:
    keep = int(os.environ.get("KEEP", "7"))
    failures = 0
    for node in range(int(os.environ["QDRANT_NODES"])):
        url = os.environ["QDRANT_URL"].replace("{node}", str(node))
        try:
            for collection in names(ask("GET", f"{url}/collections")["collections"]):
                made = ask("POST", f"{url}/collections/{collection}/snapshots")
                print(f"node {node}: {collection}: made {made['name']}, {made['size']} bytes", flush=True)
                for old in outdated(ask("GET", f"{url}/collections/{collection}/snapshots"), keep):
                    ask("DELETE", f"{url}/collections/{collection}/snapshots/{old}")
                    print(f"node {node}: {collection}: deleted {old}", flush=True)
        except (OSError, KeyError, ValueError) as error:
            failures += 1
            print(f"node {node} ({url}): {error}", file=sys.stderr, flush=True)
    return 1 if failures else 0


def outdated(snapshots: list[dict[str, Any]], keep: int) -> list[str]:
    """The names of all but the last `keep`, by the time at which they were made."""
    newest_first = sorted(snapshots, key=lambda snapshot: snapshot.get("creation_time") or "", reverse=True)
    return names(newest_first[keep:])


def names(items: list[dict[str, Any]]) -> list[str]:
    return [item["name"] for item in items]


def ask(method: str, url: str) -> Any:
    """The `result` of one request. Raises OSError."""
    headers = {"api-key": key} if (key := os.environ.get("QDRANT_API_KEY")) else {}
    request = urllib.request.Request(url, method=method, headers=headers)
    with urllib.request.urlopen(request, timeout=TIMEOUT_SECONDS, context=tls()) as response:
        return json.load(response)["result"]


def tls() -> ssl.SSLContext | None:
    if not (folder := os.environ.get("QDRANT_TLS")):
        return None
    context = ssl.create_default_context(cafile=f"{folder}/ca.crt")
    context.load_cert_chain(f"{folder}/tls.crt", f"{folder}/tls.key")
    return context


if __name__ == "__main__":
    sys.exit(main())
