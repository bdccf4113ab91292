"""`riffle status`: the first look of an operator: what runs, what waits, what is wrong, and what to do."""

import os
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any
from urllib.parse import urljoin

import psutil
import typer
from rich.table import Table
from rich.text import Text

from streams.commands.console import (
    EXIT_NO,
    AsJson,
    as_typed,
    command,
    load_settings,
    local_home,
    need_kafka,
    out,
    print_json,
    styled,
)
from streams.commands.stack.topics import show_topics
from streams.credentials import TlsFiles, client_context
from streams.doctor.overview import WELL, Figures, Problem, find_away
from streams.errors import RiffleError
from streams.local.home import PAUSED, ProcessState, StackState, is_alive, running_state
from streams.local.probing import answers, cassandra_answers, kafka_answers, listens, read_json, triton_answers
from streams.runtime.dead_letters import DeadLetters
from streams.runtime.lags.backpressure import describe_shortage
from streams.runtime.lags.stage_lags import Lag, stage_lags
from streams.sandbox.confinement import missing
from streams.sandbox.trial import layers_in_force
from streams.servers import NAMES
from streams.settings import Settings


@dataclass(frozen=True, slots=True)
class Row:
    """The present state of one process of the stack."""

    name: str
    title: str
    pid: int
    port: int
    memory_bytes: int
    """Memory of the process and its child processes (`proportional_memory`)."""
    cpu_seconds: float
    restarts: int
    health: str
    log: str
    waits_for: str = ""
    """Reason why a worker waits, as its `/readyz` says. Its stages handle nothing meanwhile."""


@command
def status(
    topics: Annotated[
        bool, typer.Option("--topics", help="List Kafka's topics, and how far behind each stage is.")
    ] = False,
    as_json: AsJson = False,
) -> int:
    """Show what runs and what waits, what is wrong, and what to do about it.

    On one machine it lists the processes of the stack. Elsewhere it shows what the settings lead to.

    Examples:

        riffle status
        riffle status --topics
    """
    if topics:
        return show_topics(load_settings(), as_json)
    is_local = os.environ.get("RIFFLE_PROFILE") != "production"
    home = local_home() if is_local else None
    state = running_state(home) if home else None
    settings = load_settings(home=home) if home else load_settings()
    rows = [_row(process, settings, state) for process in state.processes] if state else []
    figures = read_figures(settings, rows) if state or not is_local else Figures()
    problems = figures.problems()
    healthy = (bool(rows) or not is_local) and not any(problem.level == "failure" for problem in problems)
    layers = layers_in_force()
    if as_json:
        print_json(
            {
                "running": state is not None,
                "well": healthy,
                **(_stack_fields(state) if state else {}),
                "processes": rows,
                "waiting": figures.waiting(),
                "problems": problems,
                "crawling_paused_for": describe_shortage(settings),
                "sandbox": {"in_force": layers, "missing": missing(layers)},
            }
        )
    elif home and state is None:
        out.advise(f"No stack runs in {home.resolve()}. Start it with `riffle up`.")
    else:
        if state:
            _show(state, rows)
        _show_figures(figures, problems, settings)
        if missing(layers):
            out.print(confinement_line(layers))
    return 0 if healthy else EXIT_NO


def read_figures(settings: Settings, rows: Sequence[Row]) -> Figures:
    """Ask Kafka for what waits and what failed, and meanwhile each server whether it answers.

    A server that doesn't answer is one of the figures. Processes of the local stack were asked for their rows.
    """
    lags: list[Lag] = []
    letters: Mapping[tuple[str, str], int] = {}
    with ThreadPoolExecutor(1) as beside:
        asked = beside.submit(find_away, settings, {row.name for row in rows})
        away = []
        try:
            need_kafka(settings)
            lags, letters = stage_lags(settings), DeadLetters(settings).kinds()
        except RiffleError as error:
            away.append(Problem("failure", str(error), "riffle doctor --only kafka"))
        away += asked.result()
    return Figures(rows, lags, letters, describe_shortage(settings), away)


def _show_figures(figures: Figures, problems: Sequence[Problem], settings: Settings) -> None:
    waiting = ", ".join(f"{stage} {events:,}" for stage, events in figures.waiting().items())
    out.print(f"Waiting events: {waiting or 'none'}.")
    out.print(f"Search page: {settings.gateway.address}")
    if not problems and waiting:  # one look does not show a trend
        out.print(
            styled("[green]Nothing is wrong so far.[/] Whether the waiting events become fewer, a later look shows.")
        )
    elif not problems:
        out.print(styled("[green]All is well.[/]"))
    for problem in problems:
        mark = styled("[bold red]FAIL[/]") if problem.level == "failure" else styled("[bold yellow]WARN[/]")
        out.print(mark, styled("{}\n     {}", problem.what, as_typed(problem.advice)))


def _stack_fields(state: StackState) -> dict[str, Any]:
    return {"pid": state.pid, "started": state.started, "state": state.state, "settings": state.settings}


def _row(process: ProcessState, settings: Settings, state: StackState) -> Row:
    _, cpu_seconds = usage(process.pid)
    return Row(
        name=process.name,
        title=process.title,
        pid=process.pid,
        port=process.port,
        memory_bytes=proportional_memory(process.pid),
        cpu_seconds=round(cpu_seconds, 1),
        restarts=process.restarts,
        health=health_of(process, settings, is_paused=state.state == PAUSED),
        log=process.log,
        waits_for=waits_for(process),
    )


def usage(pid: int) -> tuple[int, float]:
    """Return resident memory (bytes) and CPU time (seconds) of a process and its children; zeros if it has ended."""
    memory_bytes, cpu_seconds = 0, 0.0
    for part in _family_of(pid):
        with suppress(psutil.NoSuchProcess), part.oneshot():  # what ended meanwhile is not counted, the others are
            memory_bytes += part.memory_info().rss
            times = part.cpu_times()
            cpu_seconds += times.user + times.system
    return memory_bytes, cpu_seconds


def proportional_memory(pid: int) -> int:
    """Return the memory of a process and its children (bytes); zero if it has ended.

    Pages that processes share, as the interpreter's code, are divided among them, so that sums count each page once.
    Where the system does not tell that (a process that may not be dumped, asked by another user than root), all that is
    resident counts. A look takes some 20 ms of CPU time a process.
    """
    memory_bytes = 0
    for part in _family_of(pid):
        with suppress(psutil.NoSuchProcess):
            try:
                memory_bytes += part.memory_full_info().pss
            except (psutil.AccessDenied, AttributeError):  # no such figure on other systems than Linux
                memory_bytes += part.memory_info().rss
    return memory_bytes


def _family_of(pid: int) -> list[psutil.Process]:
    """Return a process and its children; none if it has ended."""
    try:
        process = psutil.Process(pid)
        return [process, *process.children(recursive=True)]
    except psutil.NoSuchProcess:
        return []


def health_of(process: ProcessState, settings: Settings, *, is_paused: bool = False) -> str:
    """Return "ok", "paused", "ended" or "no answer". `settings`: the running stack's.

    `is_paused`: a backup or a restore of the stack has stopped its workers, until it ends.
    """
    if not is_alive(process.pid, process.create_time):
        return "paused" if is_paused and process.name.startswith("worker") else "ended"
    return "ok" if _answers(process, settings) else "no answer"


def waits_for(process: ProcessState) -> str:
    """Return what a worker waits for: a store that is away, or the end of a restore. Empty if it waits for nothing."""
    if not process.name.startswith("worker"):
        return ""
    answer = read_json(urljoin(process.health, "/readyz"))
    waiting = answer.get("waiting_for", {}) if isinstance(answer, dict) else {}
    return "; ".join(dict.fromkeys(map(str, waiting.values())))  # all stages often wait for the same


def _answers(process: ProcessState, settings: Settings) -> bool:
    match process.name:
        case "kafka":
            return kafka_answers(settings.kafka)
        case "cassandra":
            files = TlsFiles.of(settings.cassandra)
            return cassandra_answers(process.port, client_context(files) if files.ca else None)
        case "triton":
            return triton_answers(settings.triton)
        case "web":
            return listens(process.port)
        case name if name in NAMES and process.health.startswith("https:"):
            return answers(process.health, client_context(TlsFiles.of(getattr(settings, name))))
        case _:
            return answers(process.health)


def _show(state: StackState, rows: list[Row]) -> None:
    table = Table(box=None, pad_edge=False, header_style="bold")
    for heading in ("process", "pid", "port", "memory", "CPU", "restarts", "health"):
        table.add_column(heading, justify="left" if heading in ("process", "health") else "right")
    for row in rows:
        colour = "green" if row.health in WELL else "red"
        memory, cpu = f"{row.memory_bytes / 1e6:,.0f} MB", f"{row.cpu_seconds:,.1f} s"
        health = styled("[" + colour + "]{}[/]", row.health)
        table.add_row(row.title, str(row.pid), str(row.port), memory, cpu, str(row.restarts), health)
    out.print(table)
    total = sum(row.memory_bytes for row in rows)
    out.print(
        f"\n{state.state}, since {state.started}; {total / 1e9:.2f} GB in all; logs in {Path(rows[0].log).parent}"
    )


def confinement_line(layers: Sequence[str]) -> Text:
    """Return what confines the processes that read pages, in red if a layer is not in force."""
    if not (lacks := missing(layers)):
        return styled("The processes that read pages are confined: {}", ", ".join(layers))
    return styled(
        "[bold red]The processes that read pages are NOT fully confined.[/] Not in force: {}; in force: {}. See "
        "`riffle doctor`",
        ", ".join(lacks),
        ", ".join(layers) or "nothing",
    )
