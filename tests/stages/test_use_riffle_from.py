"""The guide for programs that people have: each example is run as it stands, by the program itself, against a gateway.

`make programs` sets the programs up, in an environment of their own. tests/integration/test_programs.py runs the same
examples against the real stack.
"""

import asyncio
import os
import re
import shutil
import subprocess
from pathlib import Path

import pytest

from tests.stages.gateway_fakes import gateway
from tests.stages.test_gateway_access import new_key
from tests.stages.test_gateway_content import URL, filled
from tests.stages.test_gateway_limits import Patient, serving
from tests.stages.test_programs_guide import TOOLS

ROOT = Path(__file__).parents[2]
GUIDE = (ROOT / "docs" / "guide" / "use-riffle-from.md").read_text()
SET_UP = ROOT / ".tools" / "programs"
PYTHON = SET_UP / "bin" / "python"
HEADINGS = dict(re.findall(r"^## (.+?)\n(.*?)(?=^## |\Z)", GUIDE, re.DOTALL | re.MULTILINE))


def blocks(language: str) -> dict[str, str]:
    """The examples in a language, by the heading above them."""
    found = {
        name: re.findall(rf"^```{language}\n(.*?)^```", text, re.DOTALL | re.MULTILINE)
        for name, text in HEADINGS.items()
    }
    return {name: texts[0] for name, texts in found.items() if texts}


needs_programs = pytest.mark.skipif(
    not (SET_UP / ".ready").exists(), reason="the programs are not here: make programs (needs a package index)"
)
needs_node = pytest.mark.skipif(
    not (SET_UP / ".node").exists() or shutil.which("node") is None,
    reason="the programs for node are not here: make programs (needs node and npm)",
)
EXAMPLES = [
    *(pytest.param("python", code, id=name, marks=needs_programs) for name, code in blocks("python").items()),
    *(pytest.param("js", code, id=f"{name}, node", marks=needs_node) for name, code in blocks("js").items()),
    *(
        pytest.param("sh", code, id=name, marks=pytest.mark.skipif(bool(TOOLS), reason=f"needs {', '.join(TOOLS)}"))
        for name, code in blocks("sh").items()
    ),
]


def command_of(language: str, code: str, folder: Path) -> list[str]:
    """Return the command that runs an example."""
    match language:
        case "python":
            return [str(PYTHON), "-c", code]
        case "js":
            (folder / "node_modules").symlink_to(SET_UP / "node_modules")
            (folder / "example.mjs").write_text(code)
            return ["node", "example.mjs"]
    return ["bash", "-euo", "pipefail", "-c", code]


async def run_example(language: str, code: str, folder: Path, address: str, key: str) -> str:
    """Run an example with this gateway. Returns what it prints."""
    environment = {
        **os.environ,
        "GATEWAY": address,
        "KEY": key,
        "NO_PROXY": "*",
        "LITELLM_LOCAL_MODEL_COST_MAP": "True",
    }
    for name in ("PYTHONPATH", "PYTHONHOME"):  # the programs have packages of their own
        environment.pop(name, None)
    done = await asyncio.to_thread(
        subprocess.run, command_of(language, code, folder), cwd=folder, env=environment, capture_output=True, text=True,
        timeout=300, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


@pytest.mark.parametrize(("language", "code"), EXAMPLES)
async def test_an_example_of_the_guide(language: str, code: str, tmp_path: Path) -> None:
    stores = await filled()
    header = await new_key(stores, per_minute=1_000)
    app = gateway(stores, allowed_hosts=("127.0.0.1",), deadline_seconds=60)
    async with serving(app, protocol=Patient) as port:
        key = header["Authorization"].split()[1]
        printed = await run_example(language, code, tmp_path, f"http://127.0.0.1:{port}", key)
        await app.state.gateway.close()
    lines = [line for line in printed.splitlines() if line]
    if "tavily" in code or "searxng" in code:
        assert URL in printed
    if "embed" in code:
        dimensions = (await stores.embedder.info()).dimensions
        assert lines[-1] == str(dimensions), printed
