"""A process for each shard, and the calls to it.

The engine keeps Python's global lock while it works, for seconds where it opens or builds a large shard. In a process
of its own it keeps nobody else waiting, two shards answer at the same time, and its fault is no fault of the server.
The process ends with the server: nothing in it is worth keeping.
"""

import ctypes
import multiprocessing
import os
import signal
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from streams.local.die_with_parent import PR_SET_PDEATHSIG
from streams.local.qdrant_server.errors import ApiError, BadRequest, from_engine

CONTEXT = multiprocessing.get_context("forkserver")
CONTEXT.set_forkserver_preload(["streams.local.qdrant_server.shard", "streams.local.qdrant_server.build"])
"""Processes are forked from one that has imported the engine, and has no threads and no connections."""


class ShardProcess:
    """A shard in a process: its folder, the number of points that its run was built of, and of those removed since.

    Its methods block; one thread at a time may call them. They raise ApiError, and EOFError or OSError if the process
    ended.
    """

    def __init__(self, folder: Path, description: Mapping[str, Any], indexes: Mapping[str, Any], *, new: bool) -> None:
        self.folder = folder
        self.indexes = set(indexes)
        self.points, self.removed = 0, 0
        self._is_ready = False
        self._connection, theirs = CONTEXT.Pipe()
        arguments = (theirs, folder, dict(description), dict(indexes), new)
        self.process = CONTEXT.Process(target=_serve, args=arguments, daemon=True)
        self.process.start()
        theirs.close()

    def wait_ready(self) -> None:
        """Wait until the shard is open."""
        if not self._is_ready:
            self.points, self.removed = self.receive()
            self._is_ready = True

    def call(self, name: str, *arguments: Any) -> Any:
        self.send(name, *arguments)
        return self.receive()

    def send(self, name: str, *arguments: Any) -> None:
        self._connection.send((name, arguments))

    def receive(self) -> Any:
        is_error, value = self._connection.recv()
        if is_error:
            raise value
        return value

    def end(self) -> None:
        """End the process, whatever it does."""
        self._connection.close()
        self.process.kill()
        self.process.join()


def ask(shards: Sequence[ShardProcess], name: str, *arguments: Any) -> list[Any]:
    """Call all of the shards at once, and return their answers. Raises the first error when all have answered."""
    return ask_each([(shard, arguments) for shard in shards], name)


def ask_each(calls: Sequence[tuple[ShardProcess, tuple[Any, ...]]], name: str) -> list[Any]:
    """Call each of the shards with arguments of its own."""
    for shard, arguments in calls:
        shard.send(name, *arguments)
    answers: list[Any] = []
    errors: list[ApiError] = []
    for shard, _ in calls:
        try:
            answers.append(shard.receive())
        except ApiError as error:
            errors.append(error)
    if errors:
        raise errors[0]
    return answers


def die_with_parent() -> None:
    """End this process when the one that it was forked from ends, which does so with the server. On systems other than
    Linux, it ends when its work is done."""
    if sys.platform == "linux":
        ctypes.CDLL(None, use_errno=True).prctl(PR_SET_PDEATHSIG, signal.SIGKILL, 0, 0, 0)


def _serve(
    connection: Any, folder: Path, description: Mapping[str, Any], indexes: Mapping[str, Any], new: bool
) -> None:
    from streams.local.qdrant_server.shard import Shard  # the server itself needs no engine

    die_with_parent()
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C is for the server, which ends this process
    opened: list[Any] = []

    def open_shard() -> tuple[int, int]:
        shard = (Shard.create if new else Shard.open)(folder, description, indexes)
        opened.append(shard)
        return shard.size()

    connection.send(_answer(open_shard))
    while opened:
        try:
            name, arguments = connection.recv()
        except EOFError:
            break
        connection.send(_answer(getattr(opened[0], name), *arguments))
    os._exit(0)  # without the engine's flush: the log has all


def _answer(call: Any, *arguments: Any) -> tuple[bool, Any]:
    """Return whether the call failed, and its error or its result."""
    try:
        return False, call(*arguments)
    except ApiError as error:
        return True, error
    except KeyError as error:
        return True, BadRequest(f"Format error in JSON body: missing field {error}")
    except (TypeError, ValueError, AttributeError) as error:
        return True, BadRequest(f"Format error in JSON body: {error}")
    except Exception as error:  # the engine's errors have no type of their own
        return True, from_engine(error)
    except BaseException as error:  # a panic of the engine, which is written in Rust, is no Exception
        return True, ApiError(f"Service internal error: {error!r}")
