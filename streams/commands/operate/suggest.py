"""`riffle suggest`: the suggestions that people see while they type. `build` computes them."""

import asyncio
from collections.abc import Awaitable, Callable, Iterator, Sequence
from concurrent.futures import Executor, ProcessPoolExecutor
from contextlib import contextmanager
from datetime import UTC, datetime
from functools import partial
from multiprocessing import get_context
from typing import Annotated, Any

import typer

from streams.commands.cluster import dask_client, keep_stores, run_with_stores
from streams.commands.console import AsJson, command, command_group, err, load_settings, out, print_json
from streams.commands.job_reports import Report, reported
from streams.queries.suggestions.block_words import read_block_words
from streams.queries.suggestions.build import MAP_NUMBERS, Job, finish, run_map, run_reduce
from streams.queries.suggestions.build_notes import count_statements, has_grown, note_statements, private_now
from streams.queries.suggestions.sums import SHARDS
from streams.settings import Settings
from streams.stores.opener import Stores, open_stores

Task = Callable[[Stores, Job, int], Awaitable[Any]]
_AT_ONCE = 4
"""Tasks that run at once in one process, over one session: they wait for Cassandra most of the time."""

UNCHANGED = "The index has hardly changed since the last build: nothing was built."

suggest_app = command_group("Suggestions while people type: build them.")


@suggest_app.command("build")
@command
async def build(
    processes: Annotated[int, typer.Option(min=1, help="Number of processes on this machine.")] = 1,
    cluster: Annotated[
        str, typer.Option(metavar="ADDRESS", help="Run the tasks on a Dask cluster, by its scheduler.")
    ] = "",
    if_grown: Annotated[
        bool,
        typer.Option(
            "--if-grown",
            help="Only if the index has grown by a twentieth, has shrunk, or other sites are private.",
        ),
    ] = False,
    as_json: AsJson = False,
) -> None:
    """Build all suggestions anew: from the index, entities and counted queries.

    Words that enough sites have (`RIFFLE_QUERIES__WORD_SITES`) are kept beside them: misspelt queries are corrected to
    these, too.
    The work is tasks of map and reduce over Cassandra. They run in this process, in several, or on the workers of a
    Dask cluster (`pip install 'PATH_OF_THE_CLONE[cluster]'`), each of which needs Riffle and its settings. People see
    the former suggestions until all is built. Run it each day, beside the workers; a local stack runs it by itself.

    Examples:

        riffle suggest build
        riffle suggest build --processes 4
        riffle suggest build --cluster tcp://dask:8786
    """
    settings = load_settings()
    now = datetime.now(UTC)
    job = Job(
        name=now.isoformat(),
        now=now,
        blocked=read_block_words(settings.queries.blocked_words),
        word_sites=settings.queries.word_sites,
    )
    async with open_stores(settings, ["records", "vectors"] if if_grown else ["records"]) as stores:
        statements, private = await count_statements(stores) if if_grown else None, await private_now(stores)
        if statements is not None and not await has_grown(stores.suggestions, statements, private):
            print_json({"build": "", "read": 0, "suggestions": 0, "seconds": 0.0}) if as_json else out.print(UNCHANGED)
            return
        async with reported(stores.notes, "suggest build") as report:
            with _executor(processes, cluster) as executor:
                run = partial(_run, settings, job, stores, executor, report)
                read = sum(await run("Reading pages and queries", run_map, MAP_NUMBERS))
                reduced = await run("Writing suggestions", run_reduce, range(SHARDS))
        count = await finish(stores, job, reduced)
        if statements is not None:
            await note_statements(stores.suggestions, statements, private)
    seconds = (datetime.now(UTC) - now).total_seconds()
    if as_json:
        print_json({"build": job.name, "read": read, "suggestions": count, "seconds": round(seconds, 1)})
        return
    out.print(f"{count:,} suggestions from {read:,} pages and counted queries, in {seconds:,.1f} s.")
    if not count:
        out.advise("Nothing is indexed yet, or no text is frequent enough: `riffle status` shows what was crawled.")


async def _run(
    settings: Settings,
    job: Job,
    stores: Stores,
    executor: Executor | None,
    report: Report,
    title: str,
    task: Task,
    numbers: Sequence[int],
) -> list[Any]:
    """Run a task for each number, and show how many are done."""
    groups = [numbers[start : start + _AT_ONCE] for start in range(0, len(numbers), _AT_ONCE)]
    slots = asyncio.Semaphore(len(groups) if executor else 1)
    loop = asyncio.get_running_loop()
    done = 0

    async def one(group: Sequence[int]) -> list[Any]:
        nonlocal done
        async with slots:
            if executor is None:
                found = await run_group(task, stores, job, group)
            else:
                found = await loop.run_in_executor(executor, run_alone, task, settings, job, group)
        done += len(group)
        sentence = f"{title}: {done} of {len(numbers)} tasks"
        status.update(sentence)
        report(sentence, done / len(numbers))
        return found

    with err.status(f"{title} ...") as status:
        return [each for found in await asyncio.gather(*map(one, groups)) for each in found]


async def run_group(task: Task, stores: Stores, job: Job, numbers: Sequence[int]) -> list[Any]:
    """Run the tasks of these numbers at once."""
    return list(await asyncio.gather(*(task(stores, job, number) for number in numbers)))


def run_alone(task: Task, settings: Settings, job: Job, numbers: Sequence[int]) -> list[Any]:
    """Run tasks in this process, with stores of its own. Another process, or another machine, calls it."""
    found: list[Any] = run_with_stores(lambda stores: run_group(task, stores, job, numbers), settings, ["records"])
    return found


@contextmanager
def _executor(processes: int, cluster: str) -> Iterator[Executor | None]:
    """Provide what runs the tasks; None: this process. Raises UsageError if Dask is not installed."""
    if cluster:
        with dask_client(cluster) as client:
            yield client.get_executor(pure=False)
    elif processes > 1:
        # Each process begins afresh, instead of as a copy with the threads of a driver. A limit of tasks would do that,
        # too, but Python 3.11 doesn't always replace a process that has reached it, and the build would never end.
        with ProcessPoolExecutor(processes, mp_context=get_context("spawn"), initializer=keep_stores) as pool:
            yield pool
    else:
        yield None
