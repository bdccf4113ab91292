"""Logging to stderr: lines for people, or JSON for machines. Stdout is only for answers.

What libraries log is limited to the first line of each message, and few lines of one kind a minute. While a server is
away, clients log each try, hundreds of lines a second, and Faust explains a slow agent in a page of advice about its
own settings.
"""

import logging
import sys
from contextlib import suppress
from io import StringIO
from typing import Any, TextIO, cast

import structlog

from streams.plain_text import clean_text
from streams.settings import Settings

QUIET = ("aiokafka", "faust", "mode", "cassandra", "httpx", "httpx2", "kafka", "asyncio", "opentelemetry")
"""Libraries whose info messages are not logged, and whose other messages are limited."""
WINDOW_SECONDS = 60.0
LINES_PER_KIND = 5
"""Maximum number of lines with one logger, level and template of the message, in a window."""
LINES_PER_LIBRARY = 60
"""Maximum number of lines of one library, in a window."""
_processors: list[structlog.typing.Processor] = []
"""Structlog's processors. Loggers keep the list from their first line on, so it is filled anew, and not replaced."""


def clean_values(_: Any, __: str, event: structlog.typing.EventDict) -> structlog.typing.EventDict:
    """Clean the texts of a log line: a value may quote a page or a server, and the terminal would obey its controls."""
    return {name: clean_text(value) if isinstance(value, str) else value for name, value in event.items()}


def add_trace(_: Any, __: str, event: structlog.typing.EventDict) -> structlog.typing.EventDict:
    """Add the ids of the present span, by which a log line and its trace find each other."""
    # A process that has never imported it has no span, and need not load OpenTelemetry for its lines.
    tracing = sys.modules.get("streams.tracing")
    return event | tracing.trace_fields() if tracing else event


def _plain_traceback(stream: TextIO, error: structlog.typing.ExcInfo) -> None:
    """Write a traceback without the values of locals, which took seconds under load."""
    written = StringIO()
    structlog.dev.plain_traceback(written, error)
    stream.write(clean_text(written.getvalue()))


class _Stderr:
    """The current sys.stderr at the time of each write: tests replace it after the loggers were made.

    A line that can't be written, as on a full disk, is lost: it must not fail what it is about.
    """

    def write(self, text: str) -> int:
        with suppress(OSError):
            sys.stderr.write(text)
        return len(text)

    def flush(self) -> None:
        with suppress(OSError):
            sys.stderr.flush()


def configure_logging(settings: Settings) -> None:
    """Set up structlog and the standard library's logging, once per process."""
    level = logging.getLevelName(settings.log_level)
    renderer: structlog.typing.Processor = (
        structlog.processors.JSONRenderer()
        if settings.log_json
        else structlog.dev.ConsoleRenderer(colors=sys.stderr.isatty(), exception_formatter=_plain_traceback)
    )
    shared: list[structlog.typing.Processor] = [
        structlog.contextvars.merge_contextvars,
        structlog.processors.add_log_level,
        structlog.processors.TimeStamper(fmt="iso", utc=True),
    ]
    if settings.log_json:
        shared += [add_trace, structlog.processors.format_exc_info]
    else:
        shared.append(clean_values)
    _processors[:] = [*shared, renderer]
    structlog.configure(
        processors=_processors,
        wrapper_class=structlog.make_filtering_bound_logger(level),
        logger_factory=structlog.PrintLoggerFactory(cast(TextIO, _Stderr())),
        cache_logger_on_first_use=True,
    )
    handler = logging.StreamHandler(_Stderr())
    named = [structlog.stdlib.add_logger_name, *shared] if settings.log_json else shared
    handler.setFormatter(structlog.stdlib.ProcessorFormatter(processor=renderer, foreign_pre_chain=named))
    handler.addFilter(LogThrottle(QUIET))
    logging.basicConfig(handlers=[handler], level=level, force=True)
    for name in QUIET:
        logger = logging.getLogger(name)
        logger.setLevel(max(level, logging.WARNING, logger.level))  # the Cassandra driver's module sets a higher one


class LogThrottle(logging.Filter):
    """Shortens and limits the records of some libraries, given by the names of their root loggers."""

    def __init__(self, libraries: tuple[str, ...]) -> None:
        super().__init__()
        self._libraries = frozenset(libraries)
        self._began = 0.0
        self._lines: dict[object, int] = {}
        self._left_out: dict[str, int] = {}

    def filter(self, record: logging.LogRecord) -> bool:
        library = record.name.partition(".")[0]
        if library not in self._libraries:
            return True
        self._begin_window(record.created)
        kind = (record.name, record.levelno, str(record.msg)[:80])
        for counted, limit in ((kind, LINES_PER_KIND), (library, LINES_PER_LIBRARY)):
            self._lines[counted] = self._lines.get(counted, 0) + 1
            if self._lines[counted] > limit:
                self._left_out[library] = self._left_out.get(library, 0) + 1
                return False
        self._shorten(record, library)
        return True

    def _begin_window(self, now: float) -> None:
        if not 0 <= now - self._began < WINDOW_SECONDS:
            self._began = now
            self._lines.clear()

    def _shorten(self, record: logging.LogRecord, library: str) -> None:
        """Keep the first line of the message, and say how many lines were left out before it."""
        lines = record.getMessage().strip().splitlines()
        more = self._left_out.pop(library, 0)
        suffix = f" ({more} lines of {library} were left out before)" if more else ""
        record.msg, record.args = (lines[0] if lines else "") + suffix, ()
