"""Helpers that all commands share: settings, tables for people, JSON for programs, errors, exit statuses.

All printing goes through `out`, `err` and `print_json`. They clean every text, and read no markup in it: page titles,
URLs and headers are written by strangers. A style is added with `styled`.

`EXIT_STATUSES` lists the exit statuses of all commands.
"""

import asyncio
import functools
import os
import re
import shlex
import shutil
import signal
import socket
import sys
from collections.abc import Callable, Coroutine, Iterable
from contextlib import suppress
from pathlib import Path
from typing import Annotated, Any, ParamSpec, TypeVar

import orjson
import typer
from pydantic import ValidationError
from pydantic_settings import SettingsError
from rich.cells import cell_len
from rich.console import Console, ConsoleDimensions
from rich.markup import escape
from rich.table import Table
from rich.text import Text

from streams.errors import RiffleError, StoreUnavailable, TransientError, UsageError
from streams.logs import configure_logging
from streams.plain_text import clean_text, escape_unsafe
from streams.settings import Settings
from streams.topology import Stage, stage

EXIT_NO = 1
EXIT_USAGE = 2
EXIT_UNAVAILABLE = 3
EXIT_WAITS = 75
"""The status of sysexits.h for a failure that passes."""
EXIT_INTERRUPTED = 130
EXIT_STATUSES = {
    0: "done",
    EXIT_NO: "done, and the answer is no: nothing was found, something is not healthy, a check has warnings",
    EXIT_USAGE: "an argument or setting is wrong, and the message has advice; of `riffle doctor`: a check failed",
    EXIT_UNAVAILABLE: "a server doesn't answer",
    70: "a worker can't continue: start it again, and the same events are delivered again",
    78: "a worker can't continue with its configuration: change it as the message advises",
    EXIT_WAITS: "not done yet: hosts asked for a pause, and the workers go on after it",
    EXIT_INTERRUPTED: "interrupted",
}
"""The exit statuses of all commands. `docs/reference/commands.md` has this table."""
CONNECT_SECONDS = 5.0
UNBROKEN = ConsoleDimensions(100_000, 25)
"""The size of what is no terminal, in columns and rows: no line is broken there."""
NAME = "riffle"
_COMMAND = re.compile(rf"(?<![\w./-]){NAME}(?= [a-z])")
"""The program's name before a command, in a text."""
_WORD = re.compile(r"\S+\s?|\s")
"""A word, with the white space behind it."""


def program(typed: str | None = None, folder: Path | None = None) -> str:
    """Return the command by which a person starts this program again, such as `.venv/bin/riffle`.

    `typed`: how it was started (`sys.argv[0]`), `folder`: where. It is the bare name if the shell finds the same
    program by it, or if something else runs Riffle.
    """
    own = Path(sys.argv[0] if typed is None else typed)
    if own.name != NAME or not own.exists():
        return NAME
    found = shutil.which(NAME)
    if found and own.samefile(found):
        return NAME
    here = folder or Path.cwd()
    own = own if own.is_absolute() else here / own
    return shlex.quote(str(own.relative_to(here) if own.is_relative_to(here) else own))


def as_typed(text: str, name: str = "") -> str:
    """Return a text of Riffle's own with each command as a person can type it here. Not for strangers' texts.

    `name`: how the program is called. Default: as it was started.
    """
    own = name or program()
    return _COMMAND.sub(lambda _: own, text)


class PlainConsole(Console):
    """A console for strangers' text: without markup, emoji or highlights, and with U+FFFD in place of controls.

    Lines are broken only on a terminal, at its width, and there no word is: an address can be selected whole.
    """

    def __init__(self, *, stderr: bool = False) -> None:
        super().__init__(stderr=stderr, markup=False, emoji=False, highlight=False)

    @property
    def size(self) -> ConsoleDimensions:
        """The columns and rows of the terminal, or `UNBROKEN`."""
        return super().size if self.is_terminal else UNBROKEN

    @size.setter
    def size(self, new: tuple[int, int]) -> None:
        self._width, self._height = new

    def print(self, *objects: Any, **options: Any) -> None:
        """Print objects. A text is broken between its words, unless `soft_wrap` leaves that to the terminal."""
        if not options.get("soft_wrap"):
            objects = tuple(self._broken(each, 0) if isinstance(each, str | Text) else each for each in objects)
        super().print(*objects, **{"no_wrap": True, "overflow": "ignore", "crop": False, **options})

    def print_indented(self, text: str | Text, columns: int) -> None:
        """Print a text whose lines all begin in this column, also those that the terminal's width makes."""
        lines = self._broken(text, columns).split("\n", allow_blank=True)
        self.print(Text("\n").join(Text(" " * columns).append_text(line) for line in lines), soft_wrap=True)

    def _broken(self, text: str | Text, indent: int) -> Text:
        """Return a text with line breaks where the terminal ends, none of them inside a word."""
        whole = self.render_str(text) if isinstance(text, str) else text
        breaks: list[int] = []
        column = indent
        for word in _WORD.finditer(whole.plain):
            width = cell_len(word[0].rstrip())
            if column + width > self.width and column > indent:
                breaks.append(word.start())
                column = indent
            column = indent if word[0].endswith("\n") else column + cell_len(word[0])
        return Text("\n").join(line for line in whole.divide(breaks)) if breaks else whole

    def advise(self, text: str, **options: Any) -> None:
        """Print a text of Riffle's own that names commands."""
        self.print(as_typed(text), **options)

    def render_str(self, text: str, **options: Any) -> Text:
        """Clean a string. Rich calls this for every string, also in the cells of tables."""
        return super().render_str(clean_text(text), **options)


out = PlainConsole()
err = PlainConsole(stderr=True)

P = ParamSpec("P")
R = TypeVar("R")

AsJson = Annotated[bool, typer.Option("--json", help="Print JSON, for programs.")]
"""The option `--json` of a command."""


def command_group(summary: str) -> typer.Typer:
    """Return a group of commands, such as `riffle dead-letters`."""
    app = typer.Typer(
        no_args_is_help=True, add_completion=False, rich_markup_mode=None, pretty_exceptions_enable=False, help=summary
    )

    # Without a callback, Typer replaces a group of one command by that command.
    @app.callback()
    def group() -> None: ...

    return app


def table(*columns: str, whole: Iterable[str] = (), title: str | None = None, header: bool = True) -> Table:
    """Return a table whose cells are folded where the terminal is narrow, so that no name or address is cut off.

    The columns in `whole` are folded last: people read or copy their cells in one piece.
    """
    made = Table(title=title, show_header=header)
    for name in columns:
        made.add_column(name, overflow="fold", no_wrap=name in whole)
    return made


def styled(template: str, *values: object) -> Text:
    """Return text with styles. The template is markup, such as `[bold]{}[/]`; the values are plain text."""
    shown = [escape(clean_text(str(value))) for value in values]
    own = escape(program()).replace("{", "{{").replace("}", "}}")
    return Text.from_markup(as_typed(template, own).format(*shown), emoji=False)


def print_json(value: Any) -> None:
    """Print a JSON document on stdout."""
    document = orjson.dumps(value, option=orjson.OPT_INDENT_2, default=str).decode()
    sys.stdout.write(escape_unsafe(document) + "\n")


def print_script(text: str) -> None:
    """Print a program's text on stdout as it is, for another program. It must be Riffle's own."""
    sys.stdout.write(text + "\n")


def print_json_list(values: Iterable[Any]) -> None:
    """Print a JSON array on stdout, value by value."""
    separator = "[\n"
    for value in values:
        document = orjson.dumps(value, option=orjson.OPT_INDENT_2, default=str).decode()
        sys.stdout.write(separator + escape_unsafe(document))
        separator = ",\n"
    sys.stdout.write("[]\n" if separator == "[\n" else "\n]\n")


def print_figures(title: str, figures: dict[str, Any], as_json: bool) -> None:
    """Print figures as a table of names and values, or as JSON."""
    if as_json:
        print_json(figures)
        return
    rows = Table(title=title, title_justify="left", box=None, pad_edge=False, show_header=False)
    for name, value in figures.items():
        shown = ", ".join(f"{k} {v}" for k, v in value.items()) if isinstance(value, dict) else str(value)
        rows.add_row(name.replace("_", " "), shown)
    out.print(rows)


def print_result(sentence: str, figures: dict[str, Any], as_json: bool) -> None:
    """Print what a command has done: a sentence for people, or its figures as JSON."""
    if as_json:
        print_json(figures)
    else:
        out.advise(sentence)


def load_settings(**overrides: Any) -> Settings:
    """Read the settings and set up logging. Print a mistake with the name of its environment variable."""
    try:
        settings = Settings.load(**overrides)
    except ValidationError as error:
        for problem in error.errors(include_url=False):
            name = "RIFFLE_" + "__".join(map(str, problem["loc"])).upper() if problem["loc"] else "Settings"
            message = problem["msg"].removeprefix("Value error, ")
            err.print(styled("[red]{}:[/] {}", name, message))
        raise typer.Exit(EXIT_USAGE) from None
    except SettingsError as error:
        raise UsageError(
            f'{error}. Tuples and mappings are written as JSON: RIFFLE_CASSANDRA__HOSTS=\'["a", "b"]\''
        ) from None
    configure_logging(settings)
    return settings


def load_kafka_settings() -> Settings:
    """Return the settings, after a check that something listens at Kafka's address. Raises StoreUnavailable."""
    settings = load_settings()
    need_kafka(settings)
    return settings


def choose_stages(names: Iterable[str]) -> tuple[Stage, ...]:
    """Return the stages with these names, each once. Raises UsageError."""
    try:
        return tuple(stage(name) for name in dict.fromkeys(names))
    except KeyError as error:
        raise UsageError(error.args[0]) from None


def local_home() -> Path:
    """Return the home of the local stack without reading the settings, which could hold addresses of a stale file."""
    if os.environ.get("RIFFLE_PROFILE") == "production":
        raise UsageError("RIFFLE_PROFILE is production, and the local stack is for the local profile. Unset it")
    return Path(os.environ.get("RIFFLE_HOME", ".riffle"))


def need_kafka(settings: Settings) -> None:
    """Raise StoreUnavailable at once if nothing listens: Kafka's client would try until its timeout."""
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


async def _woken_by_signals(result: Coroutine[Any, Any, int | None]) -> int | None:
    """Await a command whose event loop wakes for each signal.

    Python writes signals only to loops with a signal handler of their own. In any other one, a Ctrl-C that arrives
    right before the loop begins to wait is noticed with its next event, which may never come.
    """
    with suppress(RuntimeError):  # only a main thread gets signals
        asyncio.get_running_loop().add_signal_handler(signal.SIGCONT, lambda: None)
    return await result


def command(function: Callable[P, Coroutine[Any, Any, int | None] | int | None]) -> Callable[P, None]:
    """Run a command, sync or async. Its result is the exit status, and an error is printed as one sentence."""

    @functools.wraps(function)
    def run(*args: P.args, **kwargs: P.kwargs) -> None:
        try:
            result = function(*args, **kwargs)
            status = asyncio.run(_woken_by_signals(result)) if isinstance(result, Coroutine) else result
        except RiffleError as error:
            err.print(styled("[red]Error:[/] {}", as_typed(str(error))))
            raise typer.Exit(EXIT_UNAVAILABLE if isinstance(error, TransientError) else EXIT_USAGE) from None
        except KeyboardInterrupt:
            raise typer.Exit(EXIT_INTERRUPTED) from None
        raise typer.Exit(status or 0)

    return run
