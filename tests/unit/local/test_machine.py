"""The search for what the machine has: free ports, a Java that fits, room on the disk."""

import socket
import subprocess
import sys
from pathlib import Path

import pytest

from streams.errors import StartError
from streams.local.ports import FIRST_PORT, LAST_PORT, free_ports, is_free, preferred_port
from streams.local.servers.java import find_java, major_version
from streams.local.supervisor import check_space


def test_free_ports_are_different_and_free() -> None:
    ports = free_ports(20)

    assert len(set(ports)) == 20
    assert all(FIRST_PORT <= port <= LAST_PORT and is_free(port) for port in ports)


def test_ports_are_reserved_until_the_process_ends(monkeypatch: pytest.MonkeyPatch) -> None:
    other = [
        sys.executable,
        "-c",
        "from streams.local.ports import free_ports; print(free_ports(1)[0], flush=True); input()",
    ]
    with subprocess.Popen(other, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdin is not None
        assert process.stdout is not None
        port = int(process.stdout.readline())
        monkeypatch.setattr("streams.local.ports._draw_candidates", lambda: iter([port, port]))

        with pytest.raises(StartError):
            free_ports(1)
        with pytest.raises(StartError):
            preferred_port(port)

        process.communicate("the end\n")
        assert free_ports(1) == [port]


def test_a_port_that_a_server_listens_on_is_not_free() -> None:
    with socket.create_server(("127.0.0.1", 0)) as server:
        assert not is_free(server.getsockname()[1])


def test_the_wanted_port_if_it_is_free() -> None:
    [port] = free_ports(1)

    assert preferred_port(port) == port


def test_another_port_if_the_wanted_one_is_taken() -> None:
    with socket.create_server(("127.0.0.1", 0)) as server:
        taken = server.getsockname()[1]

        assert preferred_port(taken) != taken


def test_too_many_ports_say_so() -> None:
    with pytest.raises(StartError, match=r"no 100000 free ports .*riffle down"):
        free_ports(100_000)


@pytest.mark.parametrize(
    ("output", "major"),
    [
        ('openjdk version "17.0.9" 2023-10-17', 17),
        ('java version "21" 2023-09-19', 21),
        ('openjdk version "1.8.0_392"', 1),
        ("no such thing", None),
    ],
)
def test_the_major_version_is_read_from_the_output(tmp_path: Path, output: str, major: int | None) -> None:
    assert major_version(fake_java(tmp_path, output)) == major


def test_a_java_that_can_not_be_run_has_no_version(tmp_path: Path) -> None:
    assert major_version(tmp_path / "java") is None


def test_java_17_of_the_path_is_taken(tmp_path: Path) -> None:
    java = fake_java(tmp_path, 'openjdk version "17.0.1"')

    assert find_java({"PATH": str(tmp_path)}) == java


def test_java_home_comes_first(tmp_path: Path) -> None:
    (tmp_path / "bin").mkdir()
    java = fake_java(tmp_path / "bin", 'openjdk version "17.0.1"')

    assert find_java({"JAVA_HOME": str(tmp_path), "PATH": ""}) == java


@pytest.mark.parametrize("place", ["java-17-openjdk-amd64/bin", "temurin-17.jdk/Contents/Home/bin"])
def test_the_system_s_java_comes_before_the_packaged_one(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, place: str
) -> None:
    """As on Debian with Java 21 as `java` and 17 beside it, and on macOS."""
    (tmp_path / place).mkdir(parents=True)
    java = fake_java(tmp_path / place, 'openjdk version "17.0.17"')
    monkeypatch.setattr("streams.local.servers.java.SYSTEM_FOLDERS", (tmp_path,))

    assert find_java({"PATH": ""}) == java


@pytest.mark.parametrize("version", ["11.0.2", "21.0.1"])
def test_another_java_is_passed_over_for_the_packaged_one(tmp_path: Path, version: str) -> None:
    fake_java(tmp_path, f'openjdk version "{version}"')

    found = find_java({"PATH": str(tmp_path)})

    assert not found.is_relative_to(tmp_path)
    assert major_version(found) == 17


def test_a_full_disk_is_noticed_before_the_start(tmp_path: Path) -> None:
    with pytest.raises(StartError, match=r"only .* MB are free on the disk of .*RIFFLE_HOME"):
        check_space(tmp_path, needed_bytes=10**18)


def fake_java(folder: Path, output: str) -> Path:
    java = folder / "java"
    java.write_text(f"#!/bin/sh\necho '{output}' >&2\n")
    java.chmod(0o755)
    return java
