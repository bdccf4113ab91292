"""The frames between a pool and its processes.

A frame is a length (4 bytes, big endian) and a MessagePack list.

- The first frame from a process: [list of confinements in force] (`confinement.confine`).
- Request: [task, payload].
- Answer: [ends, short_of_memory, "ok", result], [..., "refused", rule, detail] or [..., "failed", message]. `ends`: the
  process ends after this answer. `short_of_memory`: the task was refused for memory, which may be the fault of the
  tasks before it in the same process.
"""

import asyncio
import struct
from typing import Any, BinaryIO, NamedTuple

import msgpack

LENGTH = struct.Struct(">I")


class Answer(NamedTuple):
    """The answer of a process to one request."""

    ends: bool
    short_of_memory: bool
    kind: str
    values: list[Any]


def pack_frame(value: list[Any]) -> bytes:
    packed: bytes = msgpack.packb(value, use_bin_type=True)
    return LENGTH.pack(len(packed)) + packed


def read_frame(source: BinaryIO) -> list[Any] | None:
    """Read the next frame; None at the end of the input."""
    head = source.read(LENGTH.size)
    if len(head) < LENGTH.size:
        return None
    (length,) = LENGTH.unpack(head)
    frame: list[Any] = msgpack.unpackb(source.read(length), raw=False)
    return frame


async def receive_frame(stream: asyncio.StreamReader) -> list[Any]:
    """Read the next frame. Raises IncompleteReadError at the end of the stream."""
    (length,) = LENGTH.unpack(await stream.readexactly(LENGTH.size))
    frame: list[Any] = msgpack.unpackb(await stream.readexactly(length), raw=False)
    return frame


async def receive_answer(stream: asyncio.StreamReader) -> Answer:
    ends, short_of_memory, kind, *values = await receive_frame(stream)
    return Answer(ends, short_of_memory, kind, values)
