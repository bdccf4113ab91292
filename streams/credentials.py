"""Passwords and certificates in files, which are read again after a rotation, without a restart.

A file with a password is read at each use. Before each new TLS connection the times of the certificates' files are
compared, and changed files are read again. Kubernetes replaces the files of a mounted secret within about a minute, and
cert-manager renews certificates every few weeks.

Open connections stay open: servers check a password only when a connection begins, and a connection keeps the
certificate that it began with. An authority that was added to its file is trusted from then on. An authority that was
removed is trusted until the process is restarted.
"""

import os
import ssl
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Self

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


Stamp = tuple[tuple[int, int, int], ...]


@dataclass(frozen=True, slots=True)
class TlsFiles:
    """The PEM files of one side of a connection."""

    ca: Path | None = None
    """The authority of the other side's certificates. None: the authorities of the system."""
    cert: Path | None = None
    key: Path | None = None

    @classmethod
    def of(cls, group: Any) -> Self:
        """Return the files of a group of settings with `ca_file`, `cert_file` and `key_file`."""
        return cls(group.ca_file, group.cert_file, group.key_file)

    @property
    def stamp(self) -> Stamp:
        """A value that differs after a file was replaced. Raises UsageError."""
        return stamp_of(path for path in (self.ca, self.cert, self.key) if path)


class FollowingContext(ssl.SSLContext):
    """A context that reads its files again before a connection if they changed. See `client_context`."""

    files: TlsFiles
    read_at: Stamp

    def follow(self, files: TlsFiles) -> Self:
        """Read the files now, and again after each change. Raises UsageError."""
        self.files, self.read_at = files, files.stamp
        self._read()
        return self

    def wrap_socket(self, *args: Any, **options: Any) -> ssl.SSLSocket:
        self._read_if_changed()
        return super().wrap_socket(*args, **options)

    def wrap_bio(self, *args: Any, **options: Any) -> ssl.SSLObject:
        self._read_if_changed()
        return super().wrap_bio(*args, **options)

    def _read_if_changed(self) -> None:
        """Read changed files. While a file is being written, the former certificates are used until the next try."""
        try:
            stamp = self.files.stamp
            if stamp == self.read_at:
                return
            _load(ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT), self.files)  # a key that doesn't fit must not be half loaded
            self._read()
        except UsageError:
            return
        self.read_at = stamp

    def _read(self) -> None:
        _load(self, self.files)


def client_context(files: TlsFiles, *, check_hostname: bool = True) -> FollowingContext:
    """Return the context of a client. The server's certificate must be signed by `files.ca`. Raises UsageError."""
    context = FollowingContext(ssl.PROTOCOL_TLS_CLIENT)
    context.minimum_version = ssl.TLSVersion.TLSv1_2
    context.check_hostname = check_hostname
    if files.ca is None:
        context.load_default_certs(ssl.Purpose.SERVER_AUTH)
    return context.follow(files)


def server_context(cert: Path, key: Path, client_ca: Path | None = None) -> FollowingContext:
    """Return the context of a server. With `client_ca`, each client must have a certificate of that authority.

    Raises UsageError.
    """
    context = FollowingContext(ssl.PROTOCOL_TLS_SERVER)
    context.minimum_version = ssl.TLSVersion.TLSv1_2
    context.verify_mode = ssl.CERT_REQUIRED if client_ca else ssl.CERT_NONE
    return context.follow(TlsFiles(client_ca, cert, key))


def stamp_of(paths: Iterable[Path]) -> Stamp:
    """Return the time of change, size and inode of each file. Raises UsageError."""
    stamps = []
    for path in paths:
        try:
            state = os.stat(path)  # noqa: PTH116 - follows the links by which Kubernetes swaps a mounted secret
        except OSError as error:
            raise unreadable(path, error) from error
        stamps.append((state.st_mtime_ns, state.st_size, state.st_ino))
    return tuple(stamps)


def unreadable(path: Path | None, error: Exception) -> UsageError:
    """Return the error for a file that can't be used, with its path."""
    reason = getattr(error, "strerror", None) or getattr(error, "reason", None) or error
    return UsageError(
        f"the certificate file {path} can't be used ({reason}). Check that it exists, that this user may read it, "
        "that it is PEM, and that certificate and key belong together"
    )


def _load(context: ssl.SSLContext, files: TlsFiles) -> None:
    try:
        if files.ca:
            context.load_verify_locations(files.ca)
    except OSError as error:  # an SSLError is one, too
        raise unreadable(files.ca, error) from error
    try:
        if files.cert:
            context.load_cert_chain(files.cert, files.key)
    except OSError as error:
        raise unreadable(files.cert, error) from error
