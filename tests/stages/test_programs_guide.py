"""The guides for programs and assistants: each example is run as it stands, against a real gateway."""

import asyncio
import os
import re
import shutil
import sys
from pathlib import Path

import pytest

from tests.stages.gateway_fakes import gateway
from tests.stages.test_gateway_access import new_key
from tests.stages.test_gateway_content import PAGE, TEXTS, URL, filled
from tests.stages.test_gateway_limits import Patient, serving

GUIDES = Path(__file__).parents[2] / "docs" / "guide"
PAGES = (GUIDES / "programs.md").read_text() + (GUIDES / "assistants.md").read_text()
SHELL = re.findall(r"```sh\n(.*?)```", PAGES, re.DOTALL)
PYTHON = re.findall(r"```python\n(.*?)```", PAGES, re.DOTALL)
SUBSCRIBE = re.findall(r"```python\n(.*?)```", (GUIDES / "subscribe.md").read_text(), re.DOTALL)[1]
TOOLS = [tool for tool in ("bash", "curl", "jq") if shutil.which(tool) is None]


async def run(*command: str) -> str:
    """Run an example against a gateway with a page. Returns what it prints."""
    stores = await filled()
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


@pytest.mark.parametrize("code", PYTHON, ids=["plain", "asyncio", "tools"])
async def test_an_example_of_python(code: str) -> None:
    output = await run(sys.executable, "-c", code)
    assert URL in output
    if "riffle.statements" in code:
        assert all(text in output for text in TEXTS)
        assert "unknown-page" in output


async def test_the_example_of_a_subscriber_gets_content() -> None:
    output = await run(sys.executable, "-c", SUBSCRIBE)
    assert output.splitlines() == [f"{number} {text} 4" for number, text in enumerate(TEXTS)]
