"""The parsing process: reads pages from its standard input, writes what they became to its standard output.

It may be killed at any moment, and kills itself by the kernel's hand: a page that takes more than CPU_SECONDS of
processor time, or the process more than MEMORY_BYTES beyond what it started with, ends it. The parent sees which page
it was, and refuses that page. CPU time is meant, not the clock: a busy machine must not change what becomes of a
page. Nor must the pages before it: a process that got no more memory, or keeps much of what it got, ends after its
answer, and says so in it.

Frames are a length (4 bytes, big endian) and MessagePack. Request: [job, url, headers, body]; the job
is "normalize" or "explain". Answer:
[whether the process ends, "ok", fields], [.., "refused", rule, detail] or [.., "failed", message]. The fields are those
of a `PageOutcome`, or of an `Explanation`.
"""

import contextlib
import ctypes
import gc
import os
import resource
import signal
import struct
import sys
from pathlib import Path
from typing import Any, BinaryIO

import msgpack

CPU_SECONDS = 6.0
MEMORY_BYTES = 200 * 1024 * 1024
KEPT_BYTES = MEMORY_BYTES * 3 // 4
"""What a process may keep of it after a page. Of half of it, one page in a thousand left more: a start costs as much as
hundreds of pages."""
LARGE_BYTES = 1024 * 1024
"""A buffer of so many goes back to the system when it is freed: the allocator would raise that limit with every buffer,
and keep a large page's."""
SHORT_OF_MEMORY = frozenset({"memory", "parser"})
"""Rules that refuse a page for the memory that its process did not get: the parser has no other reason to give up."""
COLLECTED_OBJECTS = 20_000
TOO_MUCH = ["refused", "memory", f"more than {MEMORY_BYTES >> 20} MiB"]
LENGTH = struct.Struct(">I")
START_PAGE = b"""<title>All models and libraries are loaded by this first page, before the limits</title>
<script type="application/ld+json">{"@type": "Thing", "name": "a thing"}</script><p>Text.
<div itemscope itemtype="https://schema.org/Thing"><p itemprop=name>a thing</div>
<div vocab="https://schema.org/" typeof=Thing><p property=name>a thing</div>"""
_PR_SET_PDEATHSIG = 1
_M_MMAP_THRESHOLD = -3


def answer_to(
    job: str,
    url: str,
    headers: dict[str, str],
    body: bytes,
) -> list[Any]:
    """One page, understood or explained, as an answer."""
    from streams.errors import Refused
    from streams.pages.sandbox.explanation import explanation
    from streams.pages.sandbox.worker_messages import page_outcome

    try:
        if job == "explain":
            return ["ok", explanation(body, url=url, headers=headers).to_fields()]
        outcome = page_outcome(body, url=url, headers=headers)
        return ["ok", outcome.to_fields()]
    except Refused as refusal:
        return ["refused", refusal.rule, refusal.detail]
    except MemoryError:
        return TOO_MUCH
    except RecursionError:
        return ["refused", "nesting", "structures nest deeper than the interpreter's stack"]
    except Exception as error:
        return ["failed", f"{type(error).__name__}: {error}"]


def serve(source: BinaryIO, sink: BinaryIO, started_with: int = 0) -> None:
    """Answer until the input ends, which it also does when the parent dies, or until the memory is used up: of
    `started_with` bytes of data, if they are known."""
    ends = False
    while not ends and (request := read_frame(source)) is not None:
        signal.setitimer(signal.ITIMER_PROF, CPU_SECONDS)
        answer = answer_to(*request)
        signal.setitimer(signal.ITIMER_PROF, 0)
        del request  # the body is not kept while the next one is read
        ends = is_short_of_memory(answer) or (started_with > 0 and data_bytes() > started_with + KEPT_BYTES)
        try:
            write_frame(sink, [ends, *answer])
        except MemoryError:
            ends = True
            write_frame(sink, [ends, *TOO_MUCH])


def is_short_of_memory(answer: list[Any]) -> bool:
    """Whether a page was refused for memory alone."""
    return answer[0] == "refused" and answer[1] in SHORT_OF_MEMORY


def data_bytes() -> int:
    """What the kernel counts as this process's data; 0 where it doesn't say."""
    try:
        return int(Path("/proc/self/statm").read_text(encoding="ascii").split()[5]) * resource.getpagesize()
    except (OSError, ValueError):
        return 0


def read_frame(source: BinaryIO) -> Any:
    head = source.read(LENGTH.size)
    if len(head) < LENGTH.size:
        return None
    (length,) = LENGTH.unpack(head)
    return msgpack.unpackb(source.read(length), raw=False)


def write_frame(sink: BinaryIO, value: Any) -> None:
    packed = msgpack.packb(value, use_bin_type=True)
    sink.write(LENGTH.pack(len(packed)) + packed)
    sink.flush()


def _confine() -> int:
    """The limits of this process, and how much data it has. Called after the imports, so that what they take is not
    counted."""
    with contextlib.suppress(OSError, AttributeError):
        ctypes.CDLL(None).mallopt(_M_MMAP_THRESHOLD, LARGE_BYTES)
    with contextlib.suppress(OSError, AttributeError):
        ctypes.CDLL(None, use_errno=True).prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)
        if os.getppid() == 1:  # the parent died before that call
            sys.exit(1)
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    signal.signal(signal.SIGPROF, signal.SIG_DFL)
    data = data_bytes()
    with contextlib.suppress(OSError, ValueError):
        if data:
            resource.setrlimit(resource.RLIMIT_DATA, (data + MEMORY_BYTES, data + MEMORY_BYTES))
        resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    return data


def settle() -> None:
    """What is loaded stays, and the collector need not look at it. It comes seldom: a page makes some ten thousand
    objects, hardly any of them in circles, and by default it would look at them fifteen times."""
    gc.freeze()
    gc.set_threshold(COLLECTED_OBJECTS)


def main() -> None:
    sink = os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)  # what a library prints must not end up between the frames
    said, *rest = answer_to("normalize", "https://start.example/", {}, START_PAGE)
    if said != "ok":
        sys.exit(f"the first page was not understood: {rest}")
    data = _confine()
    settle()
    write_frame(sink, ["ready"])
    serve(sys.stdin.buffer, sink, data)


if __name__ == "__main__":
    main()
