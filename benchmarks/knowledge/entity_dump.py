"""The import of a generated dump: items a second, megabytes a second, and memory over the whole run.

    python -m benchmarks entity-dump --gigabytes 2
    python -m benchmarks entity-dump --gigabytes 2 --kind wikipedia --minutes 10
    python -m benchmarks entity-dump --gigabytes 2 --kind wikipedia --minutes 4 --stage

The dump is generated once into a folder (it is not committed): items with statements, qualifiers and references as
Wikidata's, or articles with templates, links and references as Wikipedia's, all with words of a fixed seed. The stores
throw everything away, so the figures are about reading, parsing and making events. `riffle import` on the running stack
is slower: Kafka and Cassandra answer for each event. With `--stage`, the stage `knowledge` handles each event in this
process, with the model in process and stores in memory: its CPU time for an event, and the rate of both together.
"""

import asyncio
import bz2
import gzip
import itertools
import random
import resource
import tempfile
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from typing import Annotated, Any
from uuid import uuid4

import orjson
import psutil
import typer

from benchmarks.machine import machine
from schemas import EntityChanged, Envelope
from streams.commands.console import AsJson, command, err, print_figures
from streams.commands.pages.entities import LIMITS, PROCESSES
from streams.knowledge.agent import KnowledgeAgent
from streams.knowledge.dumps.importer import DumpImport, Importing, source_of
from streams.knowledge.dumps.progress import Saved
from streams.knowledge.dumps.reading import Dump
from streams.knowledge.dumps.tasks import TASKS
from streams.models.opening import open_models
from streams.models.protocols import Models
from streams.runtime.agent import Delivery
from streams.sandbox.pool import SandboxPool
from streams.settings import Settings
from streams.settings.servers import IN_PROCESS
from streams.stores.blobs import blob_ref
from streams.stores.memory import MemoryBlobs, MemoryEntities
from streams.stores.opener import Stores, memory_stores

LOOK_SECONDS = 0.5
_WORDS = (  # noqa: SIM905 - it is shorter
    "river station music north council company history building season team film church university district "
    "government population railway century village county minister album opened designed founded located member "
    "national international including several after before between during against second early major small public "
    "school service player championship published produced award island coast mountain bridge museum library theatre "
    "engineer writer painter composer professor physicist established constructed renamed abandoned restored"
).split()
"""English words: a model cuts made-up ones into twice as many tokens."""
TEMPLATES = 501
"""Number of different items of a dump. Each comes again and again with another number: words cost more than reading."""
_NUMBER = b"1234567890"
"""The number in a template, which each item replaces by its own, as long a number (`numbered`)."""
_FORMER = b"1234567889"
"""The number of the item before, which a redirect leads to."""
_FIRST_NUMBER = 10**9
_PROPERTIES = ("P569", "P570", "P19", "P106", "P69", "P26", "P40", "P800", "P27", "P39", "P54", "P166", "P856", "P18")


def word(chance: random.Random) -> str:
    return chance.choice(_WORDS)


def words(chance: random.Random, count: int) -> str:
    return " ".join(word(chance) for _ in range(count))


def items(chance: random.Random) -> Iterator[bytes]:
    """Yield lines of a Wikidata dump: about 12 KB each, as the mean of the real one."""
    while True:
        texts = {
            language: {"language": language, "value": f"{words(chance, 2).title()} {_NUMBER.decode()}"}
            for language in ("en", "de", "fr", "es", "it", "ja", "ru", "nl", "pl", "sv", "pt", "zh")
        }
        claims = {
            one: [_statement(chance, one) for _ in range(chance.randint(1, 3))]
            for one in chance.sample(_PROPERTIES, chance.randint(4, len(_PROPERTIES)))
        }
        claims["P31"] = [_statement(chance, "P31", chance.choice((5, 515, 7397, 43229, 571)))]
        yield orjson.dumps(
            {
                "type": "item",
                "modified": "2024-05-01T12:00:00Z",
                "id": f"Q{_NUMBER.decode()}",
                "labels": texts,
                "descriptions": texts,
                "aliases": {
                    "en": [{"language": "en", "value": f"{words(chance, 2)} {_NUMBER.decode()}"} for _ in range(3)]
                },
                "claims": claims,
                "sitelinks": {
                    f"{site}wiki": {"site": f"{site}wiki", "title": f"{words(chance, 2)} {_NUMBER.decode()}"}
                    for site in texts
                },
            }
        )


def _statement(chance: random.Random, one: str, target: int = 0) -> dict[str, Any]:
    def snak(name: str, value: Any, kind: str) -> dict[str, Any]:
        return {"snaktype": "value", "property": name, "datavalue": {"value": value, "type": kind}}

    when = {"time": f"+{chance.randint(1200, 2020)}-03-11T00:00:00Z", "precision": chance.choice((7, 9, 11))}
    value: Any = {"entity-type": "item", "id": f"Q{target or chance.randint(1, 10**6)}"}
    kind = "wikibase-entityid"
    if one in ("P569", "P570"):
        value, kind = when, "time"
    if one in ("P856", "P18"):
        value, kind = f"https://{word(chance)}.example/{word(chance)}", "string"
    source = snak("P854", f"https://{word(chance)}.example/{words(chance, 3).replace(' ', '/')}", "string")
    return {
        "mainsnak": snak(one, value, kind),
        "rank": chance.choice(("normal", "normal", "preferred")),
        "qualifiers": {"P580": [snak("P580", when, "time")]},
        "references": [{"snaks": {"P854": [source]}} for _ in range(chance.randint(0, 2))],
    }


def pages(chance: random.Random) -> Iterator[bytes]:
    """Yield `<page>` elements: articles of about 8 KB, and after two of them a redirect to the second one."""
    name = ""
    for number in itertools.count(1):
        former, name = name, words(chance, 2).title()
        title = f"{name} {_NUMBER.decode()}"
        head = f"<page><title>{title}</title><ns>0</ns><id>{_NUMBER.decode()}</id>"
        if number % 3 == 0:
            yield f'{head}<redirect title="{former} {_FORMER.decode()}"/></page>'.encode()
            continue
        lead = " ".join(
            f"{words(chance, 5)} [[{words(chance, 2)}|{word(chance)}]] {{{{lang|fr|{word(chance)}}}}}"
            f"&lt;ref&gt;{{{{cite web|title={words(chance, 4)}}}}}&lt;/ref&gt; {words(chance, 6)}."
            for _ in range(12)
        )
        body = "\n".join(f"== {word(chance)} ==\n{words(chance, 120)}" for _ in range(8))
        box = "{{Infobox\n" + "\n".join(f"|{word(chance)} = {words(chance, 3)}" for _ in range(15)) + "\n}}"
        yield f"{head}<revision><text>{box}\n'''{title}''' is a {lead}\n{body}</text></revision></page>".encode()


def templates_of(kind: str, seed: int = 1) -> list[bytes]:
    """Return the different items of a dump."""
    chance = random.Random(seed)
    return list(itertools.islice(items(chance) if kind == "wikidata" else pages(chance), TEMPLATES))


def numbered(template: bytes, number: int) -> bytes:
    """Return a template, or what was made of it, as it is for the item with this number, from 1 on."""
    ours, former = (b"%d" % (_FIRST_NUMBER + number - before) for before in (0, 1))
    return template.replace(_NUMBER, ours).replace(_FORMER, former)


def generate(path: Path, kind: str, size_bytes: int = 0, *, count: int = 0, seed: int = 1) -> int:
    """Write a dump of this size unpacked or with this many items, with one compressed member for each 4 MB. Returns the
    number of items."""
    templates = templates_of(kind, seed)
    head, separator, end = _FRAMES[kind]
    pack = partial(gzip.compress, compresslevel=1) if kind == "wikidata" else partial(bz2.compress, compresslevel=1)
    written, made, part = 0, 0, bytearray(head)
    with path.open("wb") as file:
        while made < count if count else written < size_bytes:
            made += 1
            item = numbered(templates[(made - 1) % TEMPLATES], made)
            part += (separator if made > 1 else b"") + item
            if len(part) >= 4 << 20:
                file.write(pack(bytes(part)))
                written += len(part)
                part.clear()
        file.write(pack(bytes(part) + end))
    return made


_FRAMES = {
    "wikidata": (b"[\n", b",\n", b"\n]\n"),
    "wikipedia": (b"<mediawiki>\n", b"\n", b"\n</mediawiki>\n"),
}
"""Beginning, separator and end of each kind of dump."""


class DiscardedBlobs(MemoryBlobs):
    """Blobs of which only the reference is made."""

    async def put(self, content: bytes) -> str:
        return blob_ref(content)


class Memory:
    """The memory of this process and its children, looked at twice a second."""

    def __init__(self) -> None:
        self._process = psutil.Process()
        self.peak_bytes = self.parsers_bytes = 0
        self.by_tenth: list[int] = []

    def look(self) -> None:
        """Note the memory now. Memory of files (the bits of seen entities) counts, too."""
        own = self._process.memory_info().rss
        self.peak_bytes = max(self.peak_bytes, own)
        children = 0
        for child in self._process.children(recursive=True):
            try:
                children += child.memory_info().rss
            except psutil.NoSuchProcess:
                continue
        self.parsers_bytes = max(self.parsers_bytes, children)
        self.by_tenth.append(own)

    def course(self) -> list[int]:
        """Return the memory (MB) at ten places of the run, from its beginning to its end."""
        step = max(1, len(self.by_tenth) // 10)
        return [value >> 20 for value in self.by_tenth[::step]][:11]


@command
async def run(
    gigabytes: Annotated[float, typer.Option(min=0.01, help="Size of the generated dump, unpacked.")] = 2.0,
    kind: Annotated[str, typer.Option(help="wikidata or wikipedia.")] = "wikidata",
    minutes: Annotated[float, typer.Option(min=0, help="Stop after this time. 0: at the end of the dump.")] = 0,
    folder: Annotated[Path | None, typer.Option(file_okay=False, help="Where the dump is kept.")] = None,
    with_stage: Annotated[bool, typer.Option("--stage", help="Handle each event, with the model in process.")] = False,
    as_json: AsJson = False,
) -> int:
    """Measure the import of a generated dump: items a second, and memory over the whole run.

    Example:  python -m benchmarks entity-dump --gigabytes 2 --kind wikipedia
    """
    place = folder or Path(tempfile.gettempdir())
    path = place / f"{kind}-{gigabytes:g}-gb"
    if not await asyncio.to_thread(path.exists):
        err.print(f"Generating {path} ...")
        await asyncio.to_thread(generate, path, kind, int(gigabytes * 1e9))
    memory, stores = Memory(), Stores(blobs=DiscardedBlobs(), entities=MemoryEntities())
    stage = await Stage.start() if with_stage else None
    if stage:
        stores = stage.stores
    started, last = time.monotonic(), [0]
    made = 0

    async def send(events: Sequence[EntityChanged], cause: str) -> None:
        nonlocal made
        made += len([event.to_json() for event in events])
        if stage:
            await stage.handle(events)

    def progress(saved: Saved, dump: Dump) -> None:
        last[0] = saved.items
        if minutes and time.monotonic() - started > minutes * 60:
            raise TimeoutError

    async with SandboxPool(TASKS, processes=PROCESSES, limits=LIMITS, name="bench") as sandbox:
        own = Importing(
            stores, sandbox, send, time.monotonic, place / f"imports-{kind}", remove_missing=False, progress=progress
        )
        job = DumpImport(path, source_of(kind, "en"), own, "bench")
        looking = asyncio.create_task(_look(memory))
        try:
            await job.run()
        except TimeoutError:
            err.print(f"Stopped after {minutes:g} minutes.")
        finally:
            looking.cancel()
            if stage:
                await stage.models.close()
    seconds, cpu = time.monotonic() - started, resource.getrusage(resource.RUSAGE_SELF)
    dump = job._dump
    unpacked = gigabytes * 1e3 * dump.read_bytes / dump.size_bytes
    figures = {
        "machine": machine(),
        "kind": kind,
        "megabytes_unpacked": round(unpacked),
        "items": last[0],
        "events": made,
        "seconds": round(seconds),
        "items_per_second": round(last[0] / seconds),
        "megabytes_per_second": round(unpacked / seconds, 1),
        "peak_memory_of_the_import_mb": memory.peak_bytes >> 20,
        "peak_memory_of_all_parsers_mb": memory.parsers_bytes >> 20,
        "memory_in_the_course_mb": memory.course(),
        "cpu_seconds_of_the_import": round(cpu.ru_utime + cpu.ru_stime),
        "cpu_ms_of_this_process_for_an_event": round(1e3 * (cpu.ru_utime + cpu.ru_stime) / max(made, 1), 2),
    }
    print_figures("Import of a generated dump", figures, as_json)
    return 0


@dataclass(slots=True)
class Stage:
    """The stage `knowledge` in this process."""

    stores: Stores
    models: Models
    agent: KnowledgeAgent

    @classmethod
    async def start(cls) -> "Stage":
        settings = Settings.load()
        triton = settings.triton.model_copy(update={"url": IN_PROCESS})
        models = await open_models(settings.model_copy(update={"triton": triton}))
        stores = memory_stores()
        stores.embedder = models.embedder
        return cls(stores, models, KnowledgeAgent(stores))

    async def handle(self, events: Sequence[EntityChanged]) -> None:
        await asyncio.gather(*(self.agent.handle(_delivery(one)) for one in events))


def _delivery(event: EntityChanged) -> Delivery:
    envelope = Envelope(id=uuid4(), type=event.event_type(), source="/riffle/bench", time=datetime.now(UTC))
    return Delivery(event, envelope, event.topic, 0, 0)


async def _look(memory: Memory) -> None:
    while True:
        memory.look()
        await asyncio.sleep(LOOK_SECONDS)
