"""The block lists of the settings: loaded at the first search, and again when a file changes, without a restart.

All searches wait for the first load: none is answered without the rules. Later loads take place beside the searches,
under the former rules.
"""

import asyncio
from collections.abc import Iterator, Sequence
from pathlib import Path
from time import monotonic
from typing import BinaryIO

import structlog

from streams.lines.bounded import lines_of
from streams.search.ranking.rules import BlockList, merge_block_lists, read_block_list

CHECK_SECONDS = 5.0
"""Seconds between two looks at the files."""
MAX_LINE_BYTES = 64 * 1024
_NO_RULE = "\ufffd"
"""The text of a line that is too long: it is counted with what is left out."""

log = structlog.get_logger(__name__)


class BlockLists:
    """The block lists of some files. The former rules of a file stay in force while the file can't be read."""

    def __init__(self, paths: Sequence[Path], check_seconds: float = CHECK_SECONDS) -> None:
        self._paths = tuple(paths)
        self._check_seconds = check_seconds
        self._lists: dict[Path, BlockList] = {}
        self._versions: dict[Path, tuple[int, int]] = {}
        self._unreadable: set[Path] = set()
        self._all = BlockList()
        self._next_check = 0.0
        self._loading: asyncio.Task[None] | None = None
        self._is_loaded = False

    async def current(self) -> BlockList:
        """Return the rules of all files at the last look at the files."""
        if self._paths and self._loading is None and monotonic() >= self._next_check:
            self._loading = asyncio.create_task(asyncio.to_thread(self._load))
            self._loading.add_done_callback(self._note_loaded)
        if not self._is_loaded:
            await self.settle()
        return self._all

    async def settle(self) -> None:
        """Wait for the present load, if there is one. A cancelled caller does not end the load."""
        if self._loading is not None:
            await asyncio.shield(self._loading)

    def _note_loaded(self, loading: asyncio.Task[None]) -> None:
        self._loading, self._next_check = None, monotonic() + self._check_seconds
        if loading.cancelled():
            return
        if (error := loading.exception()) is not None:
            log.error("the block lists can't be read; their former rules stay", error=str(error))
        self._is_loaded = self._is_loaded or error is None

    def _load(self) -> None:
        changed = [path for path in self._paths if self._read(path)]
        if changed:
            self._all = merge_block_lists(self._lists.values())

    def _read(self, path: Path) -> bool:
        """Read the file if it has changed. Return True if there are new rules. The next load repeats a failed read."""
        try:
            stat = path.stat()
            version = (stat.st_mtime_ns, stat.st_size)
            if self._versions.get(path) == version:
                return False
            with path.open("rb") as file:
                found = self._lists[path] = read_block_list(_texts(file))
        except OSError as error:
            if self._versions.pop(path, None) or path not in self._unreadable:
                log.warning("a block list can't be read; its former rules stay", file=str(path), error=str(error))
            self._unreadable.add(path)
            return False
        self._versions[path] = version
        self._unreadable.discard(path)
        log.info("a block list was read", file=str(path), domains=len(found.blocked), left_out=found.left_out)
        return True


def _texts(file: BinaryIO) -> Iterator[str]:
    for _, line in lines_of(file, MAX_LINE_BYTES):
        yield _NO_RULE if line is None else line.decode("utf-8-sig", "replace")
