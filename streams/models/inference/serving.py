"""Starts Triton with all calls closed that Riffle does not need: `python -m streams.models.inference.serving OPTION...`

Triton has calls that write files and settings, load models from elsewhere and map shared memory, for everybody who
reaches its ports; known holes of its python backend begin there. Riffle asks for answers, descriptions and counters of
models, over gRPC. The other calls are closed: Triton answers them only to clients that show a secret, and the secret is
drawn at each start and noted nowhere. HTTP, on which mutual TLS has no effect, answers only for health.
"""

import os
import secrets
import sys

CLOSED = ("shared-memory", "model-repository", "trace", "logging")
"""Calls that are closed, as Triton names them."""
CLOSED_ON_HTTP = (*CLOSED, "metadata", "inference", "model-config", "statistics")
"""Calls that are closed on HTTP: all but those for health, which Kubernetes asks for."""
HEADER = "riffle-closed"
SERVER = "tritonserver"


def closed_calls() -> list[str]:
    """Return the options that close the calls, with a new secret."""
    secret = f"{HEADER}={secrets.token_hex(32)}"
    return [
        f"--http-restricted-api={','.join(CLOSED_ON_HTTP)}:{secret}",
        f"--grpc-restricted-protocol={','.join(CLOSED)}:{secret}",
    ]


if __name__ == "__main__":
    os.execvp(SERVER, [SERVER, *closed_calls(), *sys.argv[1:]])  # noqa: S606 - the image's server
