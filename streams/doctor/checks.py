"""The table of all checks."""

from collections.abc import Callable, Iterable, Sequence
from functools import partial

from streams.doctor import cassandra, certificates, gateway, kafka, machine
from streams.doctor.findings import Check, Finding
from streams.errors import UsageError
from streams.servers import SERVERS, find
from streams.settings import Settings


def all_checks(settings: Settings, *, gateway_address: str = "", only: Sequence[str] = ()) -> list[Check]:
    """Return the checks, or those whose names are in `only`. Raises UsageError for an unknown name."""
    functions: dict[str, Callable[[Settings], Iterable[Finding]]] = {
        "settings": machine.check_settings,
        **{server.name: find(server.check) for server in SERVERS if server.role == "events"},
        "topics": kafka.check_topics,
        "lag": partial(kafka.check_lag, is_restoring=cassandra.is_restoring),
        "dead-letters": kafka.check_dead_letters,
        **{server.name: find(server.check) for server in SERVERS if server.role != "events"},
        "gateway": partial(gateway.check_gateway, address=gateway_address),
        "certificates": certificates.check_certificates,
        "disk": machine.check_disk,
        "sandbox": machine.check_sandbox,
    }
    if unknown := sorted(set(only) - functions.keys()):
        raise UsageError(f"no check {', '.join(unknown)}; the checks are {', '.join(functions)}")
    return [Check(name, partial(run, settings)) for name, run in functions.items() if not only or name in only]
