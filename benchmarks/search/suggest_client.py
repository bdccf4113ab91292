"""The client of the benchmark of suggestions: a process of its own, so that its CPU time is not the gateway's.

    python -m benchmarks.search.suggest_client PORT RATE SECONDS < PREFIXES

It sends requests at a fixed rate over CONNECTIONS connections, whatever the answers do, and prints the number of
answers, and the median and the 99th percentile of the time from when a request was due to its answer (milliseconds).
"""

import asyncio
import sys
import time
from urllib.parse import quote

from benchmarks.machine import percentile

CONNECTIONS = 32


async def ask(port: int, rate: float, seconds: float, typed: list[str]) -> list[float]:
    """Return the time of each answer (seconds)."""
    started = time.perf_counter() + 0.5
    times: list[float] = []

    async def work(first: int) -> None:
        reader, writer = await asyncio.open_connection("127.0.0.1", port)
        number = first
        while (due := started + number / rate) < started + seconds:
            await asyncio.sleep(max(due - time.perf_counter(), 0))
            path = f"/api/v1/suggest?q={quote(typed[number % len(typed)])}"
            writer.write(f"GET {path} HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n".encode())
            head = await reader.readuntil(b"\r\n\r\n")
            assert head.startswith(b"HTTP/1.1 200"), head
            size = head.lower().partition(b"content-length:")[2].partition(b"\r\n")[0]
            await reader.readexactly(int(size))
            times.append(time.perf_counter() - due)
            number += CONNECTIONS
        writer.close()

    await asyncio.gather(*map(work, range(CONNECTIONS)))
    return times


if __name__ == "__main__":
    port, rate, seconds = int(sys.argv[1]), float(sys.argv[2]), float(sys.argv[3])
    found = asyncio.run(ask(port, rate, seconds, sys.stdin.read().splitlines()))
    print(len(found), 1e3 * percentile(found, 0.5), 1e3 * percentile(found, 0.99))
