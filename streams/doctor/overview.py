"""The first look of an operator: an installation in a few figures, what is wrong with it, and which servers are away.

`riffle status` and the page `/admin` show it. `riffle doctor` looks deeper: versions, certificates, rights, settings.
"""

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Literal, Protocol

from streams.allowed_hosts import LOCAL_NAMES
from streams.doctor.findings import Check, Finding, Level, run_checks
from streams.doctor.gateway import check_gateway
from streams.runtime.lags.stage_lags import Lag, waiting_by_stage
from streams.servers import SERVERS, find
from streams.settings import Settings

WELL = ("ok", "paused")
"""Health of processes with which nothing is wrong. A backup pauses the workers of one machine."""
SHOWN_ERRORS = 2
"""Number of kinds of dead letters that a problem names."""


class Process(Protocol):
    """A process of the local stack."""

    @property
    def title(self) -> str: ...
    @property
    def health(self) -> str: ...
    @property
    def waits_for(self) -> str: ...
    @property
    def restarts(self) -> int: ...
    @property
    def log(self) -> str: ...


@dataclass(frozen=True, slots=True)
class Problem:
    """A thing that is wrong, and what to do about it."""

    level: Literal["failure", "warning"]
    what: str
    advice: str


@dataclass(frozen=True, slots=True)
class Figures:
    """The figures of an installation."""

    processes: Sequence[Process] = ()
    lags: Sequence[Lag] = ()
    letters: Mapping[tuple[str, str], int] = field(default_factory=dict)
    """Dead letters by stage and type of error."""
    crawling_paused_for: str | None = None
    away: Sequence[Problem] = ()
    """The servers that don't answer."""

    def waiting(self) -> dict[str, int]:
        """Return the number of waiting events of each stage that has some."""
        return {stage: events for stage, events in waiting_by_stage(self.lags).items() if events}

    def problems(self) -> list[Problem]:
        """Return what is wrong, the worst first."""
        found = [
            *self.away,
            *_problems_of_processes(self.processes),
            *_problems_of_lags(self.lags),
            *_problems_of_letters(self.letters),
        ]
        if self.crawling_paused_for:
            what = f"Crawling pauses: {self.crawling_paused_for}"
            found.append(Problem("failure", what, "Make room on the disk, for example with `riffle blobs sweep`"))
        return sorted(found, key=lambda problem: problem.level != "failure")


def _problems_of_processes(processes: Iterable[Process]) -> Iterable[Problem]:
    for process in processes:
        if process.health not in WELL:
            yield Problem("failure", f"{process.title}: {process.health}", f"Read its log: {process.log}")
        elif process.waits_for:
            yield Problem("failure", f"{process.title} waits: {process.waits_for}", "riffle doctor")
        elif process.restarts:
            times = "once" if process.restarts == 1 else f"{process.restarts} times"
            yield Problem("warning", f"{process.title} was restarted {times}", f"Read its log: {process.log}")


def _problems_of_lags(lags: Iterable[Lag]) -> Iterable[Problem]:
    lost: dict[str, int] = {}
    for lag in lags:
        lost[lag.stage] = lost.get(lag.stage, 0) + lag.lost
    for stage, events in lost.items():
        if events:
            what = f"Kafka deleted {events:,} events before {stage} handled them"
            yield Problem("failure", what, f"Replay the stage before it, and run more workers of {stage}")


def _problems_of_letters(letters: Mapping[tuple[str, str], int]) -> Iterable[Problem]:
    by_stage: dict[str, dict[str, int]] = {}
    for (stage, error), count in letters.items():
        by_stage.setdefault(stage, {})[error] = count
    for stage, errors in by_stage.items():
        most = sorted(errors.items(), key=lambda kind: -kind[1])[:SHOWN_ERRORS]
        kinds = ", ".join(f"{error} {count:,}" for error, count in most)
        total = sum(errors.values())
        what = f"{total:,} {'event' if total == 1 else 'events'} of {stage} failed for good ({kinds})"
        yield Problem("warning", what, f"riffle dead-letters list --stage {stage}")


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
