"""The examples of the docs for programs: each is run against a real gateway, those of the guides as they stand."""

import asyncio
import json
import os
import re
import shutil
import sys
from pathlib import Path
from typing import Any

import pytest

from schemas.ids import page_id
from streams.stores.page_record import Normalized
from tests.stages.gateway_fakes import gateway
from tests.stages.test_gateway_access import new_key
from tests.stages.test_gateway_content import PAGE, TEXTS, URL, filled
from tests.stages.test_gateway_limits import Patient, serving

DOCS = Path(__file__).parents[2] / "docs"
GUIDES = DOCS / "guide"
PAGES = (GUIDES / "programs.md").read_text() + (GUIDES / "assistants.md").read_text()
SHELL = re.findall(r"```sh\n(.*?)```", PAGES, re.DOTALL)
PYTHON = re.findall(r"```python\n(.*?)```", PAGES, re.DOTALL)
SUBSCRIBE = re.findall(r"```python\n(.*?)```", (GUIDES / "subscribe.md").read_text(), re.DOTALL)[1]
SESSIONS = [
    block
    for page in sorted(DOCS.rglob("*.md"))
    for block in re.findall(r"^```console\n(.*?)^```", page.read_text(), re.DOTALL | re.MULTILINE)
    if re.search(r"^\$ curl\b", block, re.MULTILINE)
]
"""Sessions of a shell (commands and what they print) that ask a gateway."""
SHOWN_PAGE = "https://sqlite.org/wal.html"
"""The page that the sessions ask for."""
SHELL_OF_SESSIONS = """
curl() { command curl -sS "$@"; }
riffle() { [ "$1 $2" = "keys add" ] && echo "$KEY"; }
"""
"""Functions that stand before the commands of a session. `riffle keys add` prints the key of the test."""
TOOLS = [tool for tool in ("bash", "curl", "jq") if shutil.which(tool) is None]


async def run(*command: str, packages: Path | str = "") -> str:
    """Run an example against a gateway with a page, with further packages of Python. Returns what it prints."""
    stores = await filled()
    await stores.pages.put(page_id(SHOWN_PAGE), Normalized.of_row({"url": SHOWN_PAGE, "generation": 1}), 1)
    header = await new_key(stores, per_minute=1_000)
    app = gateway(stores, allowed_hosts=("127.0.0.1",), deadline_seconds=60)
    async with serving(app, protocol=Patient) as port:
        environment = {
            **os.environ,
            "GATEWAY": f"http://127.0.0.1:{port}",
            "KEY": header["Authorization"].split()[1],
            "PAGE": URL,
            "PAGE_ID": str(PAGE),
            "no_proxy": "127.0.0.1",
            "PYTHONPATH": str(packages),
        }
        process = await asyncio.create_subprocess_exec(
            *command, env=environment, stdout=asyncio.subprocess.PIPE, stderr=asyncio.subprocess.STDOUT
        )
        output, _ = await process.communicate()
        await app.state.gateway.close()
    assert process.returncode == 0, output.decode()
    return output.decode()


@pytest.mark.skipif(bool(TOOLS), reason=f"the examples need {', '.join(TOOLS)}")
@pytest.mark.parametrize("code", SHELL, ids=[re.findall(r"/(?:api/v1/|mcp)[^\"$]*", code)[0] for code in SHELL])
async def test_an_example_of_curl(code: str) -> None:
    output = await run("bash", "-euo", "pipefail", "-c", code)
    assert "urn:riffle:problem" not in output
    assert any(word in output for word in ("log", URL, "indexed", "similar"))


def script_of(session: str) -> str:
    """Return the commands of a session. Its gateway and its key are those of the test."""
    commands = "\n".join(line[2:] for line in session.splitlines() if line.startswith("$ "))
    commands = re.sub(r"https?://(?:127\.0\.0\.1:8080|search\.example\.org)(?=/)", '"$GATEWAY"', commands)
    return SHELL_OF_SESSIONS + re.sub(r"\brfl_\w+\.\.\.", "$KEY", commands)


def answer_of(session: str) -> dict[str, Any]:
    """Return the JSON that a session shows, or nothing."""
    found = re.search(r"^\{.*\}$", session, re.DOTALL | re.MULTILINE)
    answer: dict[str, Any] = json.loads(found[0]) if found else {}
    return answer


@pytest.mark.skipif(bool(TOOLS), reason=f"the examples need {', '.join(TOOLS)}")
@pytest.mark.parametrize("session", SESSIONS, ids=[re.findall(r"/api/v1/[^ ]*", each)[0] for each in SESSIONS])
async def test_a_session_prints_what_it_shows(session: str) -> None:
    output, shown = await run("bash", "-euo", "pipefail", "-c", script_of(session)), answer_of(session)
    printed = json.loads(output[output.index("{") :])
    if "type" in shown:
        assert printed == shown
    else:
        assert "urn:riffle:problem" not in json.dumps(printed)
        assert set(shown) <= set(printed)


def test_each_session_of_curl_is_found() -> None:
    lines = [line for page in DOCS.rglob("*.md") for line in page.read_text().splitlines()]
    assert sum(line.lstrip().startswith("$ curl") for line in lines) == "".join(SESSIONS).count("$ curl") >= 7


@pytest.mark.parametrize("code", PYTHON, ids=["plain", "asyncio", "tools"])
async def test_an_example_of_python(code: str, client_packages: Path) -> None:
    output = await run(sys.executable, "-c", code, packages=client_packages)
    assert URL in output
    if "riffle.statements" in code:
        assert all(text in output for text in TEXTS)
        assert "unknown-page" in output


async def test_the_example_of_a_subscriber_gets_content(client_packages: Path) -> None:
    output = await run(sys.executable, "-c", SUBSCRIBE, packages=client_packages)
    assert output.splitlines() == [f"{number} {text} 4" for number, text in enumerate(TEXTS)]
