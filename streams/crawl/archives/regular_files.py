"""Opens regular files, and those below a folder without following links.

Somebody else may be able to write into a folder that is imported or followed. A name is looked up part by part from the
folder's descriptor on (openat(2) with O_NOFOLLOW). So a file or folder that is replaced by a link, between a look and
the reading, never leads to another file of this machine. Pipes, devices and sockets are opened without waiting
(O_NONBLOCK) and refused.

A hard link is a regular file. Linux lets only those make one who may read and write the file
(`fs.protected_hardlinks`), so it shows nothing that a copy would not.

The folder itself, and a file that an operator names, may be links.
"""

import errno
import os
from collections.abc import Generator, Iterator, Sequence
from contextlib import closing
from pathlib import Path
from stat import S_ISDIR, S_ISREG
from typing import BinaryIO

MAX_DEPTH = 100
"""Maximum number of folders inside each other that are looked at. Each one takes a descriptor."""
Stamp = tuple[int, int]
"""Time of the last change (nanoseconds since 1970 UTC), and size (bytes)."""
GONE = frozenset({errno.ENOENT, errno.ENOTDIR, errno.ELOOP})
"""Error numbers of a name that is no file or folder any more, or a link. All others say nothing about what is there."""
NO_FILE = GONE | {errno.EINVAL, errno.ENXIO, errno.ENODEV, errno.ENAMETOOLONG}
"""Error numbers of `open_below` for a path at which no regular file is, or can be."""
_FILE = os.O_RDONLY | os.O_NONBLOCK | os.O_NOCTTY | os.O_CLOEXEC
_FOLDER = os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC


def open_regular(path: Path) -> BinaryIO:
    """Open a file that an operator named. Raises OSError, also if it is no regular file."""
    return _opened(os.open(path, _FILE))


def open_below(folder: Path, parts: Sequence[str]) -> BinaryIO:
    """Open the file with this path below a folder. Raises OSError, also if a part is a link, or no regular file."""
    if not parts or any(part in ("", ".", "..") or "/" in part or "\0" in part for part in parts):
        raise OSError(errno.EINVAL, "no path below a folder")
    parent = os.open(folder, _FOLDER)
    try:
        for part in parts[:-1]:
            inner = os.open(part, _FOLDER | os.O_NOFOLLOW, dir_fd=parent)
            os.close(parent)
            parent = inner
        found = os.open(parts[-1], _FILE | os.O_NOFOLLOW, dir_fd=parent)
    finally:
        os.close(parent)
    return _opened(found)


def stamp_of(file: BinaryIO) -> Stamp:
    """Return the stamp of an open file as of now."""
    found = os.fstat(file.fileno())
    return found.st_mtime_ns, found.st_size


def files_below(folder: Path) -> Iterator[tuple[tuple[str, ...], Stamp]]:
    """Yield path and stamp of each regular file below a folder: first a folder's files, then its folders, by name.

    Raises OSError, with the path, if one of the folders can't be read: its files may still be there.
    """
    yield from _files_in(os.open(folder, _FOLDER), folder)


def _files_in(folder: int, path: Path, parts: tuple[str, ...] = ()) -> Generator[tuple[tuple[str, ...], Stamp]]:
    """Yield the files below an open folder, and close it. `path`: of the folder."""
    try:
        folders = []
        try:
            names = sorted(os.listdir(folder))
        except OSError as error:
            raise _at(path, error) from error
        for name in names:
            try:
                found = os.stat(name, dir_fd=folder, follow_symlinks=False)
            except OSError as error:
                if error.errno in GONE:
                    continue  # deleted meanwhile
                raise _at(path / name, error) from error
            if S_ISREG(found.st_mode):
                yield (*parts, name), (found.st_mtime_ns, found.st_size)
            elif S_ISDIR(found.st_mode) and len(parts) < MAX_DEPTH:
                folders.append(name)
        for name in folders:
            try:
                inner = os.open(name, _FOLDER | os.O_NOFOLLOW, dir_fd=folder)
            except OSError as error:
                if error.errno in GONE:
                    continue
                raise _at(path / name, error) from error
            with closing(_files_in(inner, path / name, (*parts, name))) as files:
                yield from files
    finally:
        os.close(folder)


def _at(path: Path, error: OSError) -> OSError:
    return OSError(error.errno, error.strerror, str(path))


def _opened(descriptor: int) -> BinaryIO:
    if not S_ISREG(os.fstat(descriptor).st_mode):
        os.close(descriptor)
        raise OSError(errno.EINVAL, "no regular file")
    return os.fdopen(descriptor, "rb")
