"""Passwords that stand in settings or in files, and keys that Riffle makes itself.

A file is read at each use, so the next connection signs in with a rotated password, without a restart. Kubernetes
replaces the files of a mounted secret within about a minute. Open connections stay open: servers check a password
only when a connection begins.
"""

import os
import secrets
from pathlib import Path
from uuid import uuid4

from pydantic import SecretStr

from streams.errors import UsageError

_KEY_BYTES = 32
_last: dict[Path, str] = {}
"""The text that was read last from each file. It is used while a file is missing or empty, as while it is replaced."""


def current_secret(value: SecretStr, file: Path | None) -> str:
    """Return the secret in the file without the line break at its end, or without a file the value.

    Raises UsageError if the file can't be read and was never read before.
    """
    if file is None:
        return value.get_secret_value()
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


def own_secret(file: Path) -> str:
    """Return the random key in a file that only this user may read. The first call makes it; it stays the same from
    then on, also if two processes call at the same moment."""
    if not file.exists():
        file.parent.mkdir(parents=True, exist_ok=True)
        draft = file.with_name(f"{file.name}.{uuid4().hex}")
        draft.touch(mode=0o600)
        try:
            draft.write_text(secrets.token_urlsafe(_KEY_BYTES), encoding="ascii")
            os.link(draft, file)
        except FileExistsError:
            pass  # another process was first
        finally:
            draft.unlink()
    return current_secret(SecretStr(""), file)


def one_source(name: str, value: SecretStr, file: Path | None) -> None:
    """Raise ValueError if a secret has both a value and a file."""
    if file and value.get_secret_value():
        raise ValueError(f"{name} and {name}_file are both set: set one of them")


class FollowingSecret(str):
    """A secret for a client that takes a text once and signs in often: `renewed` is its present text."""

    __slots__ = ("_file",)

    _file: Path | None

    @classmethod
    def of(cls, value: SecretStr, file: Path | None) -> "FollowingSecret":
        """Return the present secret. Raises UsageError."""
        made = cls(current_secret(value, file))
        made._file = file
        return made

    def renewed(self) -> "FollowingSecret":
        """Return the secret as its file has it now."""
        return FollowingSecret.of(SecretStr(str(self)), self._file)
