"""Logging to stderr: lines for people, or JSON for machines. Stdout is only for answers."""

import logging
import sys
from typing import TextIO, cast

import structlog

from streams.settings import Settings

QUIET = ("aiokafka", "faust", "mode", "cassandra", "httpx", "kafka", "asyncio", "opentelemetry")
"""Libraries whose info messages are not logged."""


class _Stderr:
    """The current sys.stderr at the time of each write: tests replace it after the loggers were made."""

    def write(self, text: str) -> int:
        return sys.stderr.write(text)

    def flush(self) -> None:
        sys.stderr.flush()


def configure_logging(settings: Settings) -> None:
    """Set up structlog and the standard library's logging, once per process."""
    level = logging.getLevelName(settings.log_level)
    renderer: structlog.typing.Processor = (
        structlog.processors.JSONRenderer()
        if settings.log_json
        # Plain tracebacks: rich ones, with the values of locals, took seconds each under load.
        else structlog.dev.ConsoleRenderer(
            colors=sys.stderr.isatty(), exception_formatter=structlog.dev.plain_traceback
        )
    )
    shared: list[structlog.typing.Processor] = [
        structlog.contextvars.merge_contextvars,
        structlog.processors.add_log_level,
        structlog.processors.TimeStamper(fmt="iso", utc=True),
    ]
    if settings.log_json:
        shared.append(structlog.processors.format_exc_info)
    structlog.configure(
        processors=[*shared, renderer],
        wrapper_class=structlog.make_filtering_bound_logger(level),
        logger_factory=structlog.PrintLoggerFactory(cast(TextIO, _Stderr())),
        cache_logger_on_first_use=True,
    )
    handler = logging.StreamHandler(_Stderr())
    handler.setFormatter(structlog.stdlib.ProcessorFormatter(processor=renderer, foreign_pre_chain=shared))
    logging.basicConfig(handlers=[handler], level=level, force=True)
    for name in QUIET:
        logging.getLogger(name).setLevel(max(level, logging.WARNING))
