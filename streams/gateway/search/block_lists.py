"""The block lists of the settings: loaded at the first search, and again when a file changes, without a restart."""

import asyncio
from collections.abc import Sequence
from pathlib import Path
from time import monotonic

import structlog

from streams.ranking.block_list import BlockList, joined, read_block_list

CHECK_SECONDS = 5.0
"""Seconds between two looks at the files."""

log = structlog.get_logger(__name__)


class BlockLists:
    """The lists in some files. A file that can't be read leaves its former rules in force."""

    def __init__(self, paths: Sequence[Path], check_seconds: float = CHECK_SECONDS) -> None:
        self._paths = tuple(paths)
        self._check_seconds = check_seconds
        self._lists: dict[Path, BlockList] = {}
        self._versions: dict[Path, tuple[int, int]] = {}
        self._all = BlockList()
        self._next_check = 0.0

    async def current(self) -> BlockList:
        """The rules of all files as they are now."""
        if self._paths and monotonic() >= self._next_check:
            self._next_check = monotonic() + self._check_seconds
            await asyncio.to_thread(self._load)
        return self._all

    def _load(self) -> None:
        changed = [path for path in self._paths if self._is_changed(path)]
        for path in changed:
            try:
                with path.open(encoding="utf-8", errors="replace") as lines:
                    self._lists[path] = read_block_list(lines)
            except OSError as error:
                log.warning("a block list can't be read; its former rules stay", file=str(path), error=str(error))
                continue
            found = self._lists[path]
            log.info("a block list was read", file=str(path), domains=len(found.blocked), left_out=found.left_out)
        if changed:
            self._all = joined(self._lists.values())

    def _is_changed(self, path: Path) -> bool:
        try:
            stat = path.stat()
        except OSError as error:
            if self._versions.pop(path, None) or path not in self._lists:
                log.warning("a block list can't be read", file=str(path), error=str(error))
            return False
        version = (stat.st_mtime_ns, stat.st_size)
        changed = self._versions.get(path) != version
        self._versions[path] = version
        return changed
