"""Stores in memory in place of the stores that a command opens."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from types import ModuleType

import pytest

from streams.stores.opener import Stores, memory_stores


def open_in_memory(monkeypatch: pytest.MonkeyPatch, command: ModuleType) -> Stores:
    """Return new stores in memory, which the commands of this module open from now on."""
    made = memory_stores()

    @asynccontextmanager
    async def open_stores(*_: object, **__: object) -> AsyncIterator[Stores]:
        yield made

    monkeypatch.setattr(command, "open_stores", open_stores)
    return made
