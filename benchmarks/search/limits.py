"""The sharing of a budget by several gateways: three ways through Cassandra, in the same run.

    rows      one row for each gateway, exchanged each second in the background (what the gateway does)
    counter   a counter column: each request adds to it and reads it
    lock      a lightweight transaction for each request: read, then write if nobody wrote between

Clients ask all gateways at once, as fast as they are answered, for some seconds. Measured are the time that a request
waits for its permission, and how much more than the budget was given.
"""

import asyncio
import time
from collections.abc import Awaitable, Callable
from statistics import median, quantiles
from typing import Annotated, Any
from uuid import uuid4

import typer

from streams.commands.console import AsJson, command, load_settings, print_figures
from streams.errors import RiffleError
from streams.gateway.access.bucket import Allowance
from streams.gateway.access.limiter import Limiter
from streams.stores.cassandra import CassandraSession, connect
from streams.stores.opener import open_stores

TABLES = (
    "CREATE TABLE IF NOT EXISTS bench_counter (client text PRIMARY KEY, spent counter)",
    "CREATE TABLE IF NOT EXISTS bench_lock (client text PRIMARY KEY, tokens double, at double)",
)
Ask = Callable[[int, str], Awaitable[bool]]
"""Ask a gateway for permission for a client."""


@command
async def run(
    seconds: Annotated[float, typer.Option(min=1, help="Time for each way.")] = 20,
    gateways: Annotated[int, typer.Option(min=1, help="Number of gateways.")] = 4,
    per_minute: Annotated[int, typer.Option(min=1, help="Budget of the client (work units a minute).")] = 600,
    as_json: AsJson = False,
) -> None:
    """Measure how gateways share a budget through the running Cassandra: by rows, by a counter, by a lock.

    Example:  riffle up --servers-only && python -m benchmarks limits
    """
    settings = load_settings()
    session = await connect(settings.cassandra)
    try:
        for table in TABLES:
            await session.execute(table)
        async with open_stores(settings, ["records"]) as stores:
            limiters = [Limiter(stores, time.time) for _ in range(gateways)]
            allowance = Allowance(per_window=per_minute)

            async def rows(gateway: int, client: str) -> bool:
                return (await limiters[gateway].admit(client, allowance)).allowed

            ways: dict[str, Ask] = {
                "rows": rows,
                "counter": _counter(session, per_minute),
                "lock": _lock(session, per_minute),
            }
            for name, ask in ways.items():
                figures = await _measure(ask, seconds, gateways, per_minute)
                print_figures(name, figures, as_json)
    finally:
        await session.close()


async def _measure(ask: Ask, seconds: float, gateways: int, per_minute: int) -> dict[str, Any]:
    client, waited, given, failed = uuid4().hex, list[float](), 0, 0
    started = time.perf_counter()

    async def one(gateway: int) -> None:
        nonlocal given, failed
        while time.perf_counter() - started < seconds:
            before = time.perf_counter()
            try:
                allowed = await ask(gateway, client)
            except RiffleError:
                allowed, failed = False, failed + 1
            waited.append((time.perf_counter() - before) * 1_000)
            given += allowed
            await asyncio.sleep(0.02)

    await asyncio.gather(*(one(gateway) for gateway in range(gateways) for _ in range(2)))
    budget = per_minute + per_minute * seconds / 60
    return {
        "requests": len(waited),
        "failed": failed,
        "waited_p50_ms": round(median(waited), 3),
        "waited_p95_ms": round(quantiles(waited, n=20)[-1], 3),
        "given": given,
        "budget": round(budget),
        "given_share_of_budget": round(given / budget, 3),
    }


def _counter(session: CassandraSession, per_minute: int) -> Ask:
    started = time.time()

    async def ask(_: int, client: str) -> bool:
        rows = await session.execute("SELECT spent FROM bench_counter WHERE client = :client", {"client": client})
        spent = rows[0][0] if rows else 0
        if spent >= per_minute + per_minute * (time.time() - started) / 60:
            return False
        await session.execute("UPDATE bench_counter SET spent = spent + 1 WHERE client = :client", {"client": client})
        return True

    return ask


def _lock(session: CassandraSession, per_minute: int) -> Ask:
    rate = per_minute / 60

    async def ask(_: int, client: str) -> bool:
        own = {"client": client}
        while True:
            rows = await session.execute("SELECT tokens, at FROM bench_lock WHERE client = :client", own)
            now = time.time()
            if not rows:
                values = {**own, "tokens": per_minute - 1.0, "at": now}
                done = await session.execute(
                    "INSERT INTO bench_lock (client, tokens, at) VALUES (:client, :tokens, :at) IF NOT EXISTS", values
                )
            else:
                tokens, at = rows[0]
                filled = min(float(per_minute), tokens + max(0.0, now - at) * rate)
                if filled < 1:
                    return False
                values = {**own, "tokens": filled - 1, "now": max(now, at), "before": at, "had": tokens}
                done = await session.execute(
                    "UPDATE bench_lock SET tokens = :tokens, at = :now WHERE client = :client "
                    "IF at = :before AND tokens = :had",
                    values,
                )
            if done[0][0]:
                return True

    return ask
