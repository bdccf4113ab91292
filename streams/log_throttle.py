"""A limit of what libraries log: the first line of each message, and few lines of one kind a minute.

While a server is away, clients log each try, hundreds of lines a second, and Faust explains a slow agent in a page of
advice about its own settings.
"""

import logging

WINDOW_SECONDS = 60.0
LINES_PER_KIND = 5
"""Maximum number of lines with one logger, level and template of the message, in a window."""
LINES_PER_LIBRARY = 60
"""Maximum number of lines of one library, in a window."""


class LogThrottle(logging.Filter):
    """Shortens and limits the records of some libraries, given by the names of their root loggers."""

    def __init__(self, libraries: tuple[str, ...]) -> None:
        super().__init__()
        self._libraries = frozenset(libraries)
        self._began = 0.0
        self._lines: dict[object, int] = {}
        self._left_out: dict[str, int] = {}

    def filter(self, record: logging.LogRecord) -> bool:
        """Return whether the record is logged."""
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
