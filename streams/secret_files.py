"""Passwords, which stand in files.

A file is read at each use, so the next connection signs in with a rotated password, without a restart. Kubernetes
replaces the files of a mounted secret within about a minute. Open connections stay open: servers check a password
only when a connection begins.
"""

from pathlib import Path

from streams.errors import UsageError

_last: dict[Path, str] = {}
"""The text that was read last from each file. It is used while a file is missing or empty, as while it is replaced."""


def current_secret(file: Path | None) -> str:
    """Return the secret in the file without the line break at its end, or without a file the value.

    Raises UsageError if the file can't be read and was never read before.
    """
    if file is None:
        return ""
    try:
        if found := file.read_text(encoding="utf-8").rstrip("\r\n"):
            _last[file] = found
        reason = "the file is empty"
    except (OSError, UnicodeDecodeError) as error:
        reason = getattr(error, "strerror", None) or str(error)
    if file not in _last:
        raise UsageError(
            f"the secret in {file} can't be used ({reason}). Check that it exists and that this user may read it"
        )
    return _last[file]


class FollowingSecret(str):
    """A secret for a client that takes a text once and signs in often: `renewed` is its present text."""

    __slots__ = ("_file",)

    _file: Path | None

    @classmethod
    def of(cls, file: Path | None) -> "FollowingSecret":
        """Return the present secret. Raises UsageError."""
        made = cls(current_secret(file))
        made._file = file
        return made

    def renewed(self) -> "FollowingSecret":
        """Return the secret as its file has it now."""
        return FollowingSecret.of(self._file)
