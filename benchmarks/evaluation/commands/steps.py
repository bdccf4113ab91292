"""The progress of a long measurement."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager

from rich.progress import TaskID

from streams.commands.console import err
from streams.commands.watching import Bars


@contextmanager
def steps() -> Iterator[Callable[[str, int, int], None]]:
    """Provide a function that shows progress on stderr: bars on a terminal, lines elsewhere."""
    with Bars(err) as bars:
        tasks: dict[str, TaskID] = {}

        def show(step: str, done: int, total: int) -> None:
            if step not in tasks:
                tasks[step] = bars.add_task(step, total=total or None)
                if not err.is_terminal:
                    err.print(f"{step} ...", highlight=False)
            bars.update(tasks[step], completed=done, total=total or None)

        yield show
