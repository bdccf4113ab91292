"""Jars: what the lock says is what is run, or nothing is."""

import hashlib
from pathlib import Path

import pytest

from streams.errors import StartError
from streams.local.servers.java import LOCK_FILE, ROOTS, Jar, fetch_jars, read_lock

CONTENT = b"a jar"
JAR = Jar("org.example:thing:1.0", hashlib.sha256(CONTENT).hexdigest())


class Source:
    """The source of jars: it puts `content` where the jar belongs."""

    def __init__(self, cache: Path, content: bytes = CONTENT) -> None:
        self.cache, self.content, self.asked = cache, content, 0

    def __call__(self, jar: Jar) -> Path:
        self.asked += 1
        path = self.cache / jar.path
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(self.content)
        return path


@pytest.mark.parametrize(
    ("coordinate", "path"),
    [
        ("org.example:thing:1.0", "org/example/thing/1.0/thing-1.0.jar"),
        ("io.netty:epoll:4.1:linux-x86_64", "io/netty/epoll/4.1/epoll-4.1-linux-x86_64.jar"),  # with a classifier
    ],
)
def test_a_jar_lies_where_maven_puts_it(coordinate: str, path: str) -> None:
    assert Jar(coordinate, "").path == path


def test_it_is_downloaded_once(tmp_path: Path) -> None:
    source = Source(tmp_path)

    assert fetch_jars([JAR], tmp_path, source) == fetch_jars([JAR], tmp_path, source) == [tmp_path / JAR.path]
    assert source.asked == 1


def test_half_a_file_is_downloaded_again(tmp_path: Path) -> None:
    Source(tmp_path, CONTENT[:2])(JAR)
    source = Source(tmp_path)

    [path] = fetch_jars([JAR], tmp_path, source)

    assert path.read_bytes() == CONTENT


def test_another_content_than_the_locks_is_refused_and_deleted(tmp_path: Path) -> None:
    with pytest.raises(StartError, match=r"org\.example:thing:1\.0 was downloaded with SHA-256 .* deleted"):
        fetch_jars([JAR], tmp_path, Source(tmp_path, b"another jar"))

    assert not (tmp_path / JAR.path).exists()


def test_without_network_it_says_so(tmp_path: Path) -> None:
    def fetch(_: Jar) -> Path:
        raise ConnectionError("no route to host")

    with pytest.raises(StartError, match=r"can't be downloaded \(no route to host\).*needs the network"):
        fetch_jars([JAR], tmp_path, fetch, waits=())


def test_a_lost_connection_costs_a_wait_and_a_third_one_the_start(tmp_path: Path) -> None:
    source, lost = Source(tmp_path), [ConnectionResetError("reset"), TimeoutError("timeout")]

    def fetch(jar: Jar) -> Path:
        if lost:
            raise lost.pop()
        return source(jar)

    assert fetch_jars([JAR], tmp_path, fetch, waits=(0, 0)) == [tmp_path / JAR.path]

    (tmp_path / JAR.path).unlink()
    lost += [ConnectionResetError("reset")] * 3
    with pytest.raises(StartError, match="can't be downloaded"):
        fetch_jars([JAR], tmp_path, fetch, waits=(0, 0))


def test_without_the_package_that_downloads_it_names_the_extra(tmp_path: Path) -> None:
    def fetch(_: Jar) -> Path:
        raise ModuleNotFoundError("No module named 'jgo'", name="jgo")

    with pytest.raises(StartError, match=r"package jgo, .*pip install 'PATH_OF_THE_CLONE\[local\]'"):
        fetch_jars([JAR], tmp_path, fetch)


@pytest.mark.parametrize("server", ROOTS)
def test_the_lock_holds_what_was_asked_for(server: str) -> None:
    """After a change of ROOTS: `python -m streams.local.servers.java`."""
    jars = read_lock(server)

    assert set(ROOTS[server]) <= {jar.coordinate for jar in jars}
    assert all(len(jar.sha256) == 64 for jar in jars)


def test_the_lock_holds_no_address() -> None:
    assert "://" not in LOCK_FILE.read_text()


def test_a_missing_lock_says_so(tmp_path: Path) -> None:
    with pytest.raises(StartError, match=r"lock\.toml can't be read"):
        read_lock("kafka", tmp_path / "lock.toml")
