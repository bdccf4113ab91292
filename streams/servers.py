"""The table of servers: what Riffle asks of other programs, and which program does it.

Code asks for a role: a stage declares `stores=("records", "vectors")`, and what a running Riffle reports (`/readyz`,
the metrics' label `store`, the log's field `store`) names the role, too. What concerns one product has the product's
name: its settings (`RIFFLE_QDRANT__URL`), its process and data folder in the local stack, its certificate, its checks
in `riffle doctor`, its values in the Helm chart. This table is where both meet.

Each package keeps its own code about a server. The table refers to that code as `module:object`, as the topology refers
to agents. The code is imported when it is used: so the table is below all packages, and a process that needs no model
doesn't pay for gRPC's memory. docs/guide/servers.md says what another server needs.
"""

import pkgutil
from dataclasses import dataclass
from typing import Any, Literal, get_args

Store = Literal["records", "vectors", "models"]
"""The role of a server that stages, the gateway and commands open by `open_stores`."""
Role = Literal["events", "records", "vectors", "models"]
STORES: tuple[Store, ...] = get_args(Store)


@dataclass(frozen=True, slots=True)
class Server:
    """A server, and the places of the code about it. `find` resolves a place, a text `module:object`."""

    role: Role
    name: str
    """Name of the server's settings, process, certificate and checks, and of its values in the chart."""
    title: str
    """Name for people."""
    open: str
    """The function that opens the fields of `Stores` with this role: settings -> an object with these fields and
    `close`. Empty for events: the runtime consumes and produces them."""
    start: str
    """The class that starts the server in the local stack (`streams.local.servers.server.StoreServer`)."""
    check: str
    """The check of `riffle doctor`: settings -> findings."""
    quick_check: str
    """The check of `riffle status` and `/admin`: settings -> findings, none if the server answers. Empty for events:
    both ask it for the lags anyway."""
    endpoint: str
    """The function that returns the server's address with TLS, for the check of certificates: settings -> `Endpoint`,
    or None without TLS."""
    oldest: tuple[int, int]
    """The oldest version that works."""
    because: str
    """The reason for the oldest version."""
    replicas: int | None = None
    """Minimum number of replicas in production. None: the server keeps nothing that could be lost."""
    is_client: bool = False
    """True if the server is also a client of other servers of its kind. Its certificate is then a client's, too."""


def find(reference: str) -> Any:
    """Return the object that a text `module:object` refers to."""
    return pkgutil.resolve_name(reference)


SERVERS: tuple[Server, ...] = (
    Server(
        role="events",
        name="kafka",
        title="Kafka",
        open="",
        start="streams.local.servers.kafka:Kafka",
        check="streams.doctor.kafka:check_brokers",
        quick_check="",
        endpoint="streams.doctor.kafka:endpoint",
        oldest=(2, 8),
        because="idempotent producers need no permission of their own from 2.8 on",
        replicas=3,
        is_client=True,
    ),
    Server(
        role="records",
        name="cassandra",
        title="Cassandra",
        open="streams.stores.cassandra.opening:open_records",
        start="streams.local.servers.cassandra:Cassandra",
        check="streams.doctor.cassandra:check_cassandra",
        quick_check="streams.doctor.cassandra:check_answer",
        endpoint="streams.doctor.cassandra:endpoint",
        oldest=(4, 1),
        because="the migrations use ALTER TABLE ... ADD IF NOT EXISTS",
        replicas=3,
    ),
    Server(
        role="vectors",
        name="qdrant",
        title="Qdrant",
        open="streams.stores.qdrant.opening:open_vectors",
        start="streams.local.servers.qdrant:Qdrant",
        check="streams.doctor.qdrant:check_qdrant",
        quick_check="streams.doctor.qdrant:check_answer",
        endpoint="streams.doctor.qdrant:endpoint",
        oldest=(1, 17),
        because="searches use the query API",
        replicas=2,
    ),
    Server(
        role="models",
        name="triton",
        title="Triton",
        open="streams.models.opening:open_models",
        start="streams.local.servers.triton:Triton",
        check="streams.doctor.triton:check_triton",
        quick_check="streams.doctor.triton:check_answer",
        endpoint="streams.doctor.triton:endpoint",
        oldest=(2, 30),
        because="requests carry priorities",
    ),
)

NAMES: tuple[str, ...] = tuple(server.name for server in SERVERS)
_BY_ROLE: dict[Role, Server] = {server.role: server for server in SERVERS}


def server_of(role: Role) -> Server:
    return _BY_ROLE[role]


def named(name: str) -> Server:
    """Return the server with this name. Raises KeyError with the names of all servers."""
    for server in SERVERS:
        if server.name == name:
            return server
    raise KeyError(f"no server {name!r}; the servers are {', '.join(NAMES)}")
