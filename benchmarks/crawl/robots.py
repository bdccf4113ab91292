"""Measures how long reading and asking robots.txt files takes, beside other readers in the same run.

    python -m benchmarks robots FILE.tar.zst

Each file is read once, and asked for 20 URLs. The readers take turns, file by file. Hostile files of 500 KiB are read
as well, each of a kind that makes some reader slow; a reader gets 20 s for one.
"""

import io
import signal
import statistics
import tarfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from types import FrameType
from typing import Annotated, Any
from urllib.robotparser import RobotFileParser

import typer
import zstandard
from protego import Protego

from benchmarks.machine import machine
from streams.commands.console import AsJson, command, print_figures
from streams.crawl.robots import MAX_ROBOTS_BYTES, parse
from streams.robot_name import ROBOT

URLS = tuple(f"https://example.com/{path}" for path in ("", *(f"a/b{n}/page-{n}.html?id={n}" for n in range(19))))
LONG_URL = "https://example.com/" + "a" * 2_000
MAX_SECONDS = 20

Reader = Callable[[bytes], Callable[[str], bool]]


def _riffle(content: bytes) -> Callable[[str], bool]:
    return parse(content, ROBOT).allowed


def _protego(content: bytes) -> Callable[[str], bool]:
    rules = Protego.parse(content[:MAX_ROBOTS_BYTES].decode("utf-8", "replace"))
    return lambda url: bool(rules.can_fetch(url, ROBOT))


def _standard_library(content: bytes) -> Callable[[str], bool]:
    rules = RobotFileParser()
    rules.parse(content[:MAX_ROBOTS_BYTES].decode("utf-8", "replace").splitlines())
    return lambda url: rules.can_fetch(ROBOT, url)


READERS: dict[str, Reader] = {"riffle": _riffle, "protego": _protego, "standard library": _standard_library}

HOSTILE = {
    "agents x rules": "\n".join(f"User-agent: a{n}" for n in range(20_000)) + "\n" + "Disallow: /a\n" * 15_000,
    "many stars": "User-agent: *\n" + "Disallow: /*a*a*a*a*a*a*a*b$\n" * 15_000,
    "different stars": "User-agent: *\n" + "".join(f"Allow: *aab{n:x}\n" for n in range(30_000)),
    "one long rule": "User-agent: *\nDisallow: /" + "*a" * 240_000,
    "different rules": "User-agent: *\n" + "".join(f"Disallow: /b{n:x}\n" for n in range(28_000)),
}


@command
def run(
    archive: Annotated[Path, typer.Argument(exists=True, dir_okay=False, help="A .tar.zst of robots.txt files.")],
    as_json: AsJson = False,
) -> int:
    """Measure reading robots.txt files, real and hostile ones, beside other readers.

    Example:  python -m benchmarks robots real_robots.tar.zst
    """
    print_figures("robots.txt", measure(archive), as_json)
    return 0


def measure(archive: Path) -> dict[str, Any]:
    """All figures (milliseconds of one core)."""
    files = [file[:MAX_ROBOTS_BYTES] for file in _files(archive)]
    taken: dict[str, list[float]] = {name: [] for name in READERS}
    for file in files:
        for name, reader in READERS.items():
            taken[name].append(_milliseconds(reader, file, URLS))
    return {
        "machine": machine(),
        "files": len(files),
        "ms_of_a_file": {
            name: {"median": round(statistics.median(ms), 3), "mean": round(statistics.mean(ms), 3), "max": max(ms)}
            for name, ms in taken.items()
        },
        "ms_of_hostile_files": {
            kind: {name: _bounded(reader, text.encode()) for name, reader in READERS.items()}
            for kind, text in HOSTILE.items()
        },
    }


def _milliseconds(reader: Reader, content: bytes, urls: tuple[str, ...]) -> float:
    begin = time.process_time()
    allowed = reader(content)
    for url in urls:
        allowed(url)
    return round((time.process_time() - begin) * 1_000, 3)


def _bounded(reader: Reader, content: bytes) -> float | str:
    """Return the milliseconds, or what happened instead."""

    def stop(_signal: int, _frame: FrameType | None) -> None:
        raise TimeoutError

    signal.signal(signal.SIGALRM, stop)
    signal.alarm(MAX_SECONDS)
    try:
        return _milliseconds(reader, content, (LONG_URL,))
    except TimeoutError:
        return f"more than {MAX_SECONDS} s"
    except (RecursionError, MemoryError) as error:
        return type(error).__name__
    finally:
        signal.alarm(0)


def _files(archive: Path) -> Iterator[bytes]:
    with archive.open("rb") as packed:
        plain = zstandard.ZstdDecompressor(max_window_size=2**27).stream_reader(packed).read()
    with tarfile.open(fileobj=io.BytesIO(plain)) as members:
        for member in members:
            if file := members.extractfile(member):
                yield file.read()
