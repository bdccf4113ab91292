"""What all commands share: tables for people, JSON for programs, errors that say what to do, exit statuses.

0  done
1  done, and the answer is no (nothing found, not healthy, a wrong answer in the demo)
2  what was asked can't be done as asked
3  a server doesn't answer
130  interrupted
"""

import asyncio
import functools
import socket
import sys
from collections.abc import Callable, Coroutine, Iterable
from typing import Any, ParamSpec, TypeVar

import orjson
import typer
from pydantic import ValidationError
from pydantic_settings import SettingsError
from rich.console import Console
from rich.markup import escape
from rich.table import Table

from streams.errors import RiffleError, StoreUnavailable, TransientError, UsageError
from streams.logs import configure_logging
from streams.settings import Settings

EXIT_NO = 1
EXIT_USAGE = 2
EXIT_UNAVAILABLE = 3
EXIT_INTERRUPTED = 130
CONNECT_SECONDS = 5.0

out = Console()
err = Console(stderr=True)

P = ParamSpec("P")
R = TypeVar("R")

JSON_OPTION = typer.Option("--json", help="Print JSON, for programs.")


def command_group(says: str) -> typer.Typer:
    """A group of commands, such as `riffle dead-letters`."""
    app = typer.Typer(
        no_args_is_help=True, add_completion=False, rich_markup_mode=None, pretty_exceptions_enable=False, help=says
    )

    # Without a callback, Typer makes a group that holds one command into that command.
    @app.callback()
    def group() -> None: ...

    return app


def table(*columns: str, whole: Iterable[str] = (), title: str | None = None, header: bool = True) -> Table:
    """A table whose cells are folded where the terminal is narrow: nothing of a name or an address is left out.

    The columns in `whole` are narrowed last: what is in them is read or copied in one piece.
    """
    made = Table(title=title, show_header=header)
    for name in columns:
        made.add_column(name, overflow="fold", no_wrap=name in whole)
    return made


def print_json(value: Any) -> None:
    """One JSON document on stdout."""
    sys.stdout.write(orjson.dumps(value, option=orjson.OPT_INDENT_2, default=str).decode() + "\n")


def load_settings(**overrides: Any) -> Settings:
    """The settings, with mistakes told as a person needs them; logging is set up."""
    try:
        settings = Settings.load(**overrides)
    except ValidationError as error:
        for problem in error.errors(include_url=False):
            name = "RIFFLE_" + "__".join(map(str, problem["loc"])).upper() if problem["loc"] else "Settings"
            said = problem["msg"].removeprefix("Value error, ")
            err.print(f"[red]{name}:[/] {escape(said)}", highlight=False, soft_wrap=True)
        raise typer.Exit(EXIT_USAGE) from None
    except SettingsError as error:
        raise UsageError(
            f'{error}. Tuples and mappings are written as JSON: RIFFLE_CASSANDRA__HOSTS=\'["a", "b"]\''
        ) from None
    configure_logging(settings)
    return settings


def need_kafka(settings: Settings) -> None:
    """Raises StoreUnavailable at once where nobody listens: Kafka's own client keeps trying for its whole timeout."""
    problem = None
    for address in settings.kafka.bootstrap.split(","):
        host, _, port = address.strip().rpartition(":")
        try:
            socket.create_connection((host, int(port)), CONNECT_SECONDS).close()
        except (OSError, ValueError) as error:
            problem = error
        else:
            return
    raise StoreUnavailable(
        f"Kafka at {settings.kafka.bootstrap} doesn't answer ({problem}). "
        "Start the local stack with `riffle up`, or set RIFFLE_KAFKA__BOOTSTRAP"
    )


def command(function: Callable[P, Coroutine[Any, Any, int | None] | int | None]) -> Callable[P, None]:
    """Run a command, sync or async: its result is the exit status, and its errors are told in a sentence."""

    @functools.wraps(function)
    def run(*args: P.args, **kwargs: P.kwargs) -> None:
        try:
            result = function(*args, **kwargs)
            status = asyncio.run(result) if isinstance(result, Coroutine) else result
        except RiffleError as error:
            # Escaped: messages quote logs and values, whose brackets are no markup.
            err.print(f"[red]Error:[/] {escape(str(error))}", highlight=False, soft_wrap=True)
            raise typer.Exit(EXIT_UNAVAILABLE if isinstance(error, TransientError) else EXIT_USAGE) from None
        except KeyboardInterrupt:
            raise typer.Exit(EXIT_INTERRUPTED) from None
        raise typer.Exit(status or 0)

    return run
