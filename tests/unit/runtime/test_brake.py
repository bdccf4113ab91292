"""A record that ends its process is set aside, and no other record is: tried with processes that really end."""

import asyncio
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import orjson
import pytest

from streams.runtime.brake import MAX_STRIKES, Brake, read_notes, read_suspects
from streams.runtime.records import Incoming

RECORDS, POISON = 12, 7
WORKER = f"""
import asyncio, os, sys
from pathlib import Path
from streams.resources import expect_imports
expect_imports()
from streams.runtime.brake import Brake
from streams.runtime.records import Incoming
RECORDS, POISON = {RECORDS}, {POISON}

def record(number):
    return Incoming("tests.asked", 0, number, b"key", b"{{}}", [], time=1.5)

async def work(brake, number, log):
    async with brake.watch(record(number)) as ends_worker:
        if ends_worker is None:
            await asyncio.sleep(0.01)
            if number == POISON:
                os._exit(9)
            await asyncio.sleep(0.02)
        with log.open("a") as file:
            file.write(f"{{number}} {{'aside' if ends_worker else 'handled'}}\\n")

async def main(path, log):
    brake = Brake(path)
    brake.begin()
    done = {{int(line.split()[0]) for line in log.read_text().splitlines()}} if log.exists() else set()
    await asyncio.gather(*(work(brake, n, log) for n in range(RECORDS) if n not in done))
    brake.end()

statuses = []
while statuses[-1:] != [0] and len(statuses) < 10:
    if not (worker := os.fork()):
        asyncio.run(main(Path(sys.argv[1]), Path(sys.argv[2])))
        os._exit(0)
    statuses.append(os.waitstatus_to_exitcode(os.waitpid(worker, 0)[1]))
print(*statuses)
"""
"""A program that starts one worker after the other, until one ends in order. All imports are made before."""


def record(number: int) -> Incoming:
    return Incoming("tests.asked", 0, number, b"key", b"{}", [], time=1.5)


def test_a_record_that_ends_its_process_is_set_aside_and_all_others_are_handled(tmp_path: Path) -> None:
    notes, log = tmp_path / "notes.jsonl", tmp_path / "log"
    printed = subprocess.run([sys.executable, "-c", WORKER, notes, log], check=True, stdout=-1).stdout
    statuses = printed.splitlines()[-1].split()  # behind the warnings of the workers
    assert statuses[-1] == b"0", "the record ends the worker again and again"
    results = dict(line.split() for line in log.read_text().splitlines())
    aside = [number for number, result in results.items() if result == "aside"]
    assert aside == [str(POISON)]
    assert len(results) == RECORDS
    assert len(statuses) == MAX_STRIKES + 3, "a mark, a suspicion, the strikes, and the end in order"
    assert not notes.exists()


async def run_one(brake: Brake, number: int) -> str:
    async with brake.watch(record(number)) as ends_worker:
        return "aside" if ends_worker else "handled"


async def test_ends_in_order_make_no_suspects_and_write_nothing_for_a_record(tmp_path: Path) -> None:
    for _ in range(5):
        brake = Brake(tmp_path / "notes")
        brake.begin()
        before = (tmp_path / "notes").read_bytes()
        assert await run_one(brake, 1) == "handled"
        assert (tmp_path / "notes").read_bytes() == before
        brake.end()
        assert not (tmp_path / "notes").exists()


async def test_the_notes_stay_small_although_a_suspect_never_comes_back(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("streams.runtime.brake.WATCHED_RECORDS", 5)
    notes = tmp_path / "notes"
    notes.write_bytes(orjson.dumps(["suspect", f"tests.asked/0/{POISON}/1.5", MAX_STRIKES]) + b"\n")
    brake = Brake(notes)
    brake.begin()
    for number in range(100, 105):
        await run_one(brake, number)
    watched = notes.read_bytes()
    assert watched.count(b'["begin"') == watched.count(b'["end"') == 5
    for number in range(200, 220):
        assert await run_one(brake, number) == "handled"
    assert notes.read_bytes() == watched
    assert await run_one(brake, POISON) == "aside", "it may come later"
    assert notes.read_bytes().startswith(watched + b'["suspect begins"')
    brake.end()


async def test_a_failure_that_is_caught_is_no_sudden_end(tmp_path: Path) -> None:
    notes = tmp_path / "notes"
    notes.write_bytes(b'["runs","1"]\n')
    brake = Brake(notes)
    brake.begin()
    for error in (ValueError, asyncio.CancelledError):
        with pytest.raises(error):
            async with brake.watch(record(1)):
                raise error
    assert read_notes(notes.read_bytes().splitlines()).strikes == {}
    brake.end()


@pytest.mark.parametrize(
    ("lines", "strikes"),
    [
        pytest.param([], {}, id="no earlier process"),
        pytest.param([b'["runs","1"]', b'["begin","a"]', b'["begin","b"]', b'["end","a"]'], {"b": 0}, id="in progress"),
        pytest.param([b'["suspect","a",1]'], {"a": 1}, id="a suspect that did not run is still one"),
        pytest.param([b'["suspect","a",1]', b'["suspect begins","a"]'], {"a": 2}, id="a strike"),
        pytest.param([b'["suspect","a",2]', b'["suspect begins","a"]', b'["end","a"]'], {}, id="it ended well"),
        pytest.param([b'["suspect","a",1]', b'["begin","b"'], {"a": 1}, id="a line cut short"),
        pytest.param([b'["begin","a"]', b"\x00\x00", b"7", b"{}"], {"a": 0}, id="lines of nonsense"),
    ],
)
def test_notes_tell_suspects_from_records_that_ended(lines: list[bytes], strikes: dict[str, int]) -> None:
    notes = read_notes(lines)
    assert (notes.strikes, notes.was_sudden) == (strikes, bool(lines))


async def test_without_a_place_for_notes_every_record_is_handled(tmp_path: Path) -> None:
    (tmp_path / "file").write_bytes(b"")
    brake = Brake(tmp_path / "file" / "notes")
    brake.begin()
    assert await run_one(brake, POISON) == "handled"
    brake.end()


BESIDE = """
import sys
from pathlib import Path
from streams.resources import expect_imports
expect_imports()
from streams.runtime.brake import Brake

brake = Brake(Path(sys.argv[1]))
brake.begin()
print("ready", flush=True)
sys.stdin.readline()
"""


def test_workers_beside_each_other_have_notes_of_their_own_and_know_the_suspects_of_all(tmp_path: Path) -> None:
    notes, second = tmp_path / "fetch.jsonl", tmp_path / "fetch.2.jsonl"
    suspect = f"tests.asked/0/{POISON}/1.5"
    notes.write_bytes(orjson.dumps(["suspect", suspect, MAX_STRIKES]) + b"\n")
    with subprocess.Popen([sys.executable, "-c", BESIDE, notes], stdin=-1, stdout=-1, text=True) as other:
        assert other.stdout
        assert "ready\n" in iter(other.stdout.readline, "")
        brake = Brake(notes)
        brake.begin()
        assert second.exists()
        assert asyncio.run(run_one(brake, POISON)) == "aside", "it is known from the other worker"
        assert asyncio.run(run_one(brake, 1)) == "handled"
        brake.end()
        assert not second.exists()
        assert read_notes(notes.read_bytes().splitlines()).strikes == {suspect: MAX_STRIKES}, "as they were"
        other.kill()
    brake = Brake(notes)
    brake.begin()
    assert (notes.exists(), second.exists()) == (True, False), "the notes of the ended worker have a new one"
    assert asyncio.run(run_one(brake, POISON)) == "aside"
    brake.end()


@pytest.mark.parametrize("together", [False, True])
def test_workers_that_ended_together_know_what_ended_each_of_them(tmp_path: Path, together: bool) -> None:
    notes, second = tmp_path / "fetch.jsonl", tmp_path / "fetch.2.jsonl"
    notes.write_bytes(b'["runs","1"]\n["begin","a"]\n["begin","c"]\n["end","c"]\n')
    second.write_bytes(b'["runs","2"]\n["suspect","b",1]\n["suspect begins","b"]\n')
    workers = []
    for _ in range(2):
        workers.append(subprocess.Popen([sys.executable, "-c", BESIDE, notes], stdin=-1, stdout=-1, text=True))
        if not together:
            wait_until_ready(workers[-1])
    if together:
        for worker in workers:
            wait_until_ready(worker)
    found = [read_suspects(path.read_bytes().splitlines()) for path in (notes, second)]
    for worker in workers:
        worker.kill()
        worker.communicate()
    assert found == [{"a": 0, "b": 2}] * 2


def wait_until_ready(worker: "subprocess.Popen[str]") -> None:
    assert worker.stdout
    assert "ready\n" in iter(worker.stdout.readline, "")


def test_what_runs_in_another_worker_is_no_suspect(tmp_path: Path) -> None:
    lines = [b'["suspect","a",1]', b'["suspect","b",2]', b'["begin","c"]', b'["suspect begins","a"]', b'["end","b"]']
    assert read_suspects(lines) == {"a": 1}


def test_another_worker_finds_the_suspects_at_any_moment_of_a_start(tmp_path: Path) -> None:
    """Two workers that were killed together start together."""
    notes = tmp_path / "fetch.jsonl"
    ended = [line for n in range(50) for line in (["begin", f"{n}"], ["end", f"{n}"])]
    former = [["runs", "1"], ["suspect", "a", 1], ["suspect", "b", 1], ["suspect begins", "a"], ["end", "b"], *ended]
    notes.write_bytes(b"".join(orjson.dumps(line) + b"\n" for line in former))
    found: list[dict[str, int]] = []

    def look(_frame: Any, event: str, _argument: Any) -> None:
        if event == "c_return":
            found.append(read_suspects(notes.read_bytes().splitlines()))

    brake, profile = Brake(notes), sys.getprofile()
    sys.setprofile(look)
    try:
        brake.begin()
    finally:
        sys.setprofile(profile)
    assert {"a": 1} in found
    assert all(suspects in ({"a": 1}, {"a": 2}) for suspects in found)
    assert found[-1] == {"a": 2}
    assert notes.read_bytes() == orjson.dumps(["runs", str(os.getpid())]) + b'\n["suspect","a",2]\n'
    brake.end()


def test_an_older_count_behind_the_present_one_is_not_taken() -> None:
    assert read_suspects([b'["suspect","a",2]', b'ect","b",1]', b'["suspect","a",1]']) == {"a": 2}


def test_the_notes_of_a_dead_worker_come_before_a_free_place(tmp_path: Path) -> None:
    (tmp_path / "fetch.2.jsonl").write_bytes(b'["runs","1"]\n["suspect begins","tests.asked/0/7/1.5"]\n')
    brake = Brake(tmp_path / "fetch.jsonl")
    brake.begin()
    assert not (tmp_path / "fetch.jsonl").exists()
    assert b'["suspect","tests.asked/0/7/1.5",1]' in (tmp_path / "fetch.2.jsonl").read_bytes()
    brake.end()
    assert list(tmp_path.iterdir()) == []


COMING = """
import os, sys
from pathlib import Path
from streams.runtime.brake import Brake

folder = Path(sys.argv[1])
for _ in range(40):
    brake = Brake(folder / "fetch.jsonl")
    brake.begin()
    opened = {}
    for descriptor in os.listdir("/proc/self/fd"):  # read by its descriptor: to open it again would end the lock
        try:
            opened[os.readlink(f"/proc/self/fd/{descriptor}")] = int(descriptor)
        except FileNotFoundError:
            pass
    (own,) = [path for path in opened if path.startswith(str(folder))]
    assert os.path.exists(own), own
    assert os.pread(opened[own], 1_000, 0).startswith(f'["runs","{os.getpid()}"]'.encode())
    brake.end()
"""


def test_workers_that_come_and_go_at_once_each_keep_their_notes(tmp_path: Path) -> None:
    workers = [subprocess.Popen([sys.executable, "-c", COMING, tmp_path], stderr=subprocess.PIPE) for _ in range(2)]
    ended = [(worker.communicate()[1].decode(), worker.returncode) for worker in workers]
    assert [status for _, status in ended] == [0, 0], ended
    assert list(tmp_path.iterdir()) == []
