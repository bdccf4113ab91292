"""The quick checks of `riffle status` and `/admin`: whether each server and the gateway answers, all asked at once."""

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from functools import partial

from streams.allowed_hosts import LOCAL_NAMES
from streams.doctor.findings import Finding, Level
from streams.doctor.gateway import check_gateway
from streams.doctor.overview import Problem
from streams.doctor.running import Check, run_checks
from streams.servers import SERVERS, find
from streams.settings import Settings

DEADLINE_SECONDS = 4.0
"""Maximum time of all quick checks together (seconds)."""
GATEWAY = "gateway"


def find_away(settings: Settings, known: Collection[str] = ()) -> list[Problem]:
    """Return a problem for each server that does not answer. Those in `known` are not asked. It raises nothing."""
    titles = {server.name: server.title for server in SERVERS if server.quick_check} | {GATEWAY: "The gateway"}
    functions: Mapping[str, Callable[[Settings], Iterable[Finding]]] = {
        **{server.name: partial(_find_and_run, server.quick_check) for server in SERVERS if server.quick_check},
        GATEWAY: _check_gateway,
    }
    asked = [Check(name, partial(run, settings)) for name, run in functions.items() if name not in known]
    problems = []
    for check, findings in zip(asked, run_checks(asked, DEADLINE_SECONDS), strict=True):
        failures = [finding for finding in findings if finding.level is Level.FAILURE]
        problems += [_to_problem(check.name, titles[check.name], finding) for finding in failures[:1]]
    return problems


def _find_and_run(reference: str, settings: Settings) -> Iterator[Finding]:
    """Run the check. It is imported in its own thread: an import of gRPC delays no other check."""
    yield from find(reference)(settings)


def _check_gateway(settings: Settings) -> Iterator[Finding]:
    """Check the gateway, where its address is known: in production, `host` is often this machine's by default."""
    own = settings.gateway
    if settings.profile != "production" or own.public_url or own.host not in LOCAL_NAMES:
        yield from check_gateway(settings)


def _to_problem(name: str, title: str, finding: Finding) -> Problem:
    what = finding.says if title in finding.says else f"{title}: {finding.says}"
    if finding.details:
        what = f"{what} ({', '.join(finding.details)})"
    return Problem("failure", what, f"riffle doctor --only {name}")
