"""`riffle-client` as programs get it: built, installed in an empty environment, imported, and asking a real gateway."""

import asyncio
import json
import subprocess
import sys
import tarfile
import tomllib
import zipfile
from importlib.metadata import metadata
from pathlib import Path

import pytest

from tests.stages.gateway_fakes import gateway
from tests.stages.test_gateway_content import URL, filled
from tests.stages.test_gateway_limits import Patient, serving
from tests.wheel.environment import ROOT, Installed, build_client, install

NAME = "riffle-client"
PROGRAM = """
import asyncio, sys
from riffle_client import ApiError, AsyncRiffle, Riffle, StreamEvent, page_line, verify

with Riffle(sys.argv[1]) as riffle:
    print(riffle.search("log", per_page=1)["results"][0]["url"])
    for each in riffle.suggest("lo", limit=3)["suggestions"]:
        print(each["text"])
    try:
        riffle.begin_crawl(["https://docs.example/"])
    except ApiError as error:
        print(error.kind)

async def main() -> list[str]:
    async with AsyncRiffle(sys.argv[1]) as riffle:
        return [result["url"] async for result in riffle.results("log", limit=5)]

print(*sorted(asyncio.run(main())))
print(*sorted({name.partition(".")[0] for name in sys.modules} & {"streams", "schemas", "pydantic", "riffle_client"}))
"""
WRONG = """
from riffle_client import Riffle

with Riffle() as riffle:
    riffle.search("log", per_page="ten")
    print(riffle.search("log")["result"])
    riffle.begin_crawl("https://docs.example/", dept=1)
"""


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return build_client(tmp_path_factory.mktemp("client"))


@pytest.fixture(scope="module")
def installed(built: Path, tmp_path_factory: pytest.TempPathFactory) -> Installed:
    return install(built, tmp_path_factory.mktemp("empty"), project=NAME)


async def test_a_program_in_an_empty_environment_asks_a_gateway(installed: Installed) -> None:
    app = gateway(await filled(), allowed_hosts=("127.0.0.1",))
    async with serving(app, protocol=Patient) as port:
        done = await asyncio.to_thread(
            installed.run, "python", "-c", PROGRAM, f"http://127.0.0.1:{port}", no_proxy="127.0.0.1"
        )
        await app.state.gateway.close()
    assert done.returncode == 0, done.stderr
    lines = done.stdout.splitlines()
    assert lines[0] in (URL, "https://other.example/")
    assert lines[-3:] == ["key-needed", f"{URL} https://other.example/", "riffle_client"]


@pytest.mark.parametrize(("code", "faults"), [(PROGRAM, 0), (WRONG, 3)])
def test_it_has_types(installed: Installed, tmp_path: Path, code: str, faults: int) -> None:
    (tmp_path / "program.py").write_text(code)
    python = installed.prefix / "bin" / "python"
    command = [sys.executable, "-m", "mypy", "--strict", "--python-executable", str(python), "program.py"]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, timeout=240)
    assert done.stdout.count("error:") == faults, done.stdout + done.stderr


def test_the_files_that_are_published(built: Path) -> None:
    with zipfile.ZipFile(built) as wheel, tarfile.open(next(built.parent.glob("*.tar.gz"))) as sources:
        in_wheel, in_sources = set(wheel.namelist()), {name.partition("/")[2] for name in sources.getnames()}
    modules = {path.name for path in (ROOT / "streams" / "client").glob("*.py")}
    assert {f"riffle_client/{name}" for name in (*modules, "py.typed")} <= in_wheel
    assert in_sources == {*modules, "py.typed", "README.md", "LICENSE", "pyproject.toml", "PKG-INFO", ".gitignore"}
    assert any(name.endswith("licenses/LICENSE") for name in in_wheel)
    assert not [name for name in in_wheel if not name.startswith(("riffle_client/", "riffle_client-"))]


def test_it_needs_httpx2_alone_and_has_the_version_of_the_product() -> None:
    project = tomllib.loads((ROOT / "streams" / "client" / "pyproject.toml").read_text())["project"]
    assert project["dependencies"] == ["httpx2>=2"]
    npm = json.loads((ROOT / "schemas" / "npm" / "package.json").read_text())
    assert project["version"] == npm["version"] == metadata("riffle-search")["Version"]
