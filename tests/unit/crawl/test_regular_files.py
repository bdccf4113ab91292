"""Files below a folder into which somebody else writes: which are opened, and that nothing leads out of the folder."""

import errno
import os
import socket
from collections.abc import Callable, Sequence
from pathlib import Path

import pytest

from streams.crawl.archives.regular_files import MAX_DEPTH, files_below, open_below, open_regular, stamp_of

OPEN = Path("/proc/self/fd")
SECRET = "of another folder"
Make = Callable[[Path, Path], object]


def listen(path: Path) -> None:
    with socket.socket(socket.AF_UNIX) as server:
        server.bind(os.path.relpath(path))


def make_circle(folder: Path, _: Path) -> None:
    (folder / "a").symlink_to("b")
    (folder / "b").symlink_to("a")


REFUSED: list[tuple[str, Make, Sequence[str]]] = [
    # why, what somebody makes in the folder (beside it is a secret), path that is opened
    ("a link to a file", lambda folder, secret: (folder / "a").symlink_to(secret), ["a"]),
    ("a link to a file of the folder", lambda folder, _: (folder / "a").symlink_to("own.md"), ["a"]),
    ("a folder is a link", lambda folder, secret: (folder / "b").symlink_to(secret.parent), ["b", "key"]),
    ("a folder in between is a link", lambda f, secret: (f / "sub/b").symlink_to(secret.parent), ["sub", "b", "key"]),
    ("a link to itself", lambda folder, _: (folder / "a").symlink_to("a"), ["a"]),
    ("two links in a circle", make_circle, ["a", "own.md"]),
    ("a link into /proc", lambda folder, _: (folder / "a").symlink_to("/proc/self/environ"), ["a"]),
    ("a link to an open file", lambda folder, _: (folder / "a").symlink_to("/proc/self/fd/0"), ["a"]),
    ("a link to the root of the process", lambda f, _: (f / "a").symlink_to("/proc/self/root"), ["a", "etc", "passwd"]),
    ("a link to nothing", lambda folder, _: (folder / "a").symlink_to("missing"), ["a"]),
    ("a pipe without a writer", lambda folder, _: os.mkfifo(folder / "a"), ["a"]),
    ("a socket", lambda folder, _: listen(folder / "a"), ["a"]),
    ("a folder in place of a file", lambda folder, _: (folder / "a").mkdir(), ["a"]),
    ("a file in place of a folder", lambda folder, _: (folder / "a").touch(), ["a", "own.md"]),
    ("a way up", lambda _, __: None, ["..", "key"]),
    ("a way up from within", lambda _, __: None, ["sub", "..", "..", "key"]),
    ("a path in a part", lambda _, __: None, ["sub/../../key"]),
    ("a path from the root", lambda _, secret: None, ["/etc/passwd"]),
    ("a byte that ends names", lambda _, __: None, ["own.md\0.md"]),
    ("no path", lambda _, __: None, []),
    ("the folder itself", lambda _, __: None, ["."]),
]


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "key").write_text(SECRET)
    (tmp_path / "docs" / "sub").mkdir(parents=True)
    (tmp_path / "docs" / "own.md").write_text("own")
    return tmp_path / "docs"


@pytest.mark.parametrize(("_why", "make", "parts"), REFUSED, ids=[case[0] for case in REFUSED])
def test_no_link_is_followed_and_only_regular_files_are_opened(
    _why: str, make: Make, parts: Sequence[str], folder: Path
) -> None:
    make(folder, folder.parent / "key")
    with pytest.raises(OSError, match="Errno"):
        open_below(folder, parts)
    assert ("own.md",) in {path for path, _ in files_below(folder)}


@pytest.mark.parametrize("device", ["null", "zero", "tty"])
def test_devices_are_refused(device: str) -> None:
    with pytest.raises(OSError, match="Errno"):
        open_below(Path("/dev"), [device])
    with pytest.raises(OSError, match="Errno"):
        open_regular(Path("/dev") / device)


def test_descriptors_are_closed_whatever_happens(folder: Path) -> None:
    os.mkfifo(folder / "pipe")
    before = len(list(OPEN.iterdir()))
    for parts in (["own.md"], ["pipe"], ["sub", "missing"], ["missing", "a"]):
        try:
            open_below(folder, parts).close()
        except OSError:
            continue
    next(files_below(folder))
    assert len(list(OPEN.iterdir())) == before


def test_what_an_operator_named_may_be_a_link(folder: Path) -> None:
    (folder.parent / "other").symlink_to(folder)
    (folder.parent / "file").symlink_to(folder / "own.md")
    with open_below(folder.parent / "other", ["own.md"]) as below, open_regular(folder.parent / "file") as file:
        assert (below.read(), file.read()) == (b"own", b"own")


def test_a_hard_link_is_a_regular_file(folder: Path) -> None:
    """Who may make one may read the file, and could as well have copied it."""
    (folder / "a").hardlink_to(folder / "own.md")
    with open_below(folder, ["a"]) as file:
        assert file.read() == b"own"


def test_files_are_found_in_an_order_with_the_stamp_that_an_open_file_has(folder: Path) -> None:
    (folder / "sub" / "caf\udce9.md").write_text("x")
    (folder / "link").symlink_to(folder.parent)
    os.mkfifo(folder / "pipe")
    found = dict(files_below(folder))
    assert list(found) == [("own.md",), ("sub", "caf\udce9.md")]
    for parts, stamp in found.items():
        with open_below(folder, parts) as file:
            assert stamp_of(file) == stamp


def test_folders_have_a_depth(tmp_path: Path) -> None:
    (deep := tmp_path.joinpath(*["d"] * (MAX_DEPTH + 5))).mkdir(parents=True)
    for place in (deep, *deep.parents):
        if place.is_relative_to(tmp_path):
            (place / "a").touch()
    assert len(list(files_below(tmp_path))) == MAX_DEPTH + 1


LOOKS = [
    # what the system call says of sub/own.md or sub; whether the file counts as gone
    ("stat", errno.ENOENT, True),  # deleted after the folder was listed
    ("open", errno.ENOENT, True),
    ("open", errno.ENOTDIR, True),  # a file or a link stands there now
    ("open", errno.ELOOP, True),
    ("open", errno.EACCES, False),  # an owner or a mode that is about to be changed
    ("open", errno.EMFILE, False),  # too many files are open at this moment
    ("open", errno.ESTALE, False),  # a server of files that started anew
    ("stat", errno.EACCES, False),
    ("stat", errno.EIO, False),
    ("listdir", errno.EIO, False),
    ("listdir", errno.ESTALE, False),
]


@pytest.mark.parametrize(("call", "number", "is_gone"), LOOKS)
def test_what_cannot_be_read_is_not_gone(
    call: str, number: int, is_gone: bool, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (folder / "sub" / "deep.md").touch()
    real = getattr(os, call)
    inode = {"stat": "deep.md", "open": "sub"}.get(call)

    def fail(path: str | int, *args: int, **options: int) -> object:
        fails = path == inode if inode else Path(f"/proc/self/fd/{path}").resolve() == folder / "sub"
        if fails:
            raise OSError(number, os.strerror(number), path)
        return real(path, *args, **options)

    monkeypatch.setattr(os, call, fail)
    if is_gone:
        assert [path for path, _ in files_below(folder)] == [("own.md",)]
    else:
        with pytest.raises(OSError, match=os.strerror(number)) as caught:
            list(files_below(folder))
        assert caught.value.filename == str(folder / "sub" / "deep.md" if call == "stat" else folder / "sub")


def test_a_folder_that_is_none_is_an_error(folder: Path) -> None:
    for path in (folder / "own.md", folder / "missing"):
        with pytest.raises(OSError, match="Errno"):
            list(files_below(path))
