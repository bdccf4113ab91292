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
GATEWAY = "http://127.0.0.1:8080"
"""The address of the gateway in the guide."""
HEADINGS = dict(re.findall(r"^## (.+?)\n(.*?)(?=^## |\Z)", GUIDE, re.DOTALL | re.MULTILINE))


def blocks(language: str) -> dict[str, str]:
    """The examples in a language, by the heading above them."""
    found = {
        name: re.findall(rf"^```{language}\n(.*?)^```", text, re.DOTALL | re.MULTILINE)
        for name, text in HEADINGS.items()
    }
    return {name: texts[0] for name, texts in found.items() if texts}


OPEN_WEBUI = """
import asyncio
import os

import requests
from open_webui.config import DEFAULT_CONFIG as config
from open_webui.retrieval.loaders.external_web import ExternalWebLoader
from open_webui.retrieval.loaders.tavily import TavilyLoader
from open_webui.retrieval.utils import generate_openai_batch_embeddings
from open_webui.retrieval.web.external import search_external
from open_webui.retrieval.web.searxng import search_searxng
from open_webui.retrieval.web.tavily import search_tavily
from open_webui.utils.session_pool import close_session
from starlette.requests import Request

gateway, key, question = os.environ["GATEWAY"], os.environ["KEY"], "what is the log for?"
assert config["web.search.enable"]
assert config["web.search.engine"] == config["web.loader.engine"] == "external"
where, request = config["web.search.external_web_search_url"], Request({"type": "http"})
limits = config["web.search.result_count"], config["web.search.domain.filter_list"]
found = search_external(request, where, config["web.search.external_web_search_api_key"], question, *limits)
assert 0 < len(found) <= limits[0] and all(result.title and result.snippet for result in found), found
assert search_external(request, where, "rfl_wrong", question, *limits) == []

links = [result.link for result in found]
unknown = [f"https://unknown.example/{number}" for number in range(25)]
options = {
    "verify_ssl": config["web.loader.ssl_verification"],
    "requests_per_second": config["web.loader.concurrent_requests"],
    "trust_env": config["web.search.trust_env"],
    "external_url": config["web.loader.external_web_loader_url"],
    "external_api_key": config["web.loader.external_web_loader_api_key"],
    "continue_on_failure": False,
}
pages = ExternalWebLoader([*links, *unknown], **options).load()
assert pages and all(page.page_content and page.metadata["title"] for page in pages), pages
assert {page.metadata["source"] for page in pages} <= set(links), "it keeps the results whose link is a source"
print(links, pages[0].page_content[:80])

searxng = f"{gateway.replace('://', f'://key:{key}@')}/searxng/search"


async def ask_searxng() -> None:
    print([result.link for result in await search_searxng(searxng, question, *limits)])
    await close_session()


asyncio.run(ask_searxng())
found = search_tavily(key, question, *limits)
assert TavilyLoader([result.link for result in found], key, continue_on_failure=False).load()
print([result.link for result in found])

assert config["rag.embedding_engine"] == "openai"
base, secret = config["rag.openai.api_base_url"], config["rag.openai.api_key"]
[model, _] = requests.get(f"{base}/models", headers={"Authorization": f"Bearer {secret}"}).json()["data"]
assert config["rag.embedding_model"] == "MODEL", "in the place of this name"
vectors = generate_openai_batch_embeddings(model["id"], ["log", "another text"], base, secret)
print(len(vectors), len(vectors[1]), sep=chr(10))
"""
"""Asks as Open WebUI does: by its own modules, as `pip` installs them, with the settings that the guide names.

Its server, database and page in a browser do not run, nor does `get_web_loader`, which makes the loader: that looks up
the address of each page first. What it gives to the loader is here, with `continue_on_failure` so that errors are seen.
"""
LIBRECHAT = """
import { createSearchAPI } from "./node_modules/@librechat/agents/dist/esm/tools/search/search.mjs";

for (const config of [
  { searchProvider: "searxng" },
  { searchProvider: "tavily", tavilyApiKey: process.env.KEY, tavilySearchUrl: `${process.env.GATEWAY}/tavily/search` },
]) {
  const asked = { query: "what is the log for?", numResults: 3, safeSearch: 1 };
  const { success, error, data } = await createSearchAPI(config).getSources(asked);
  if (!success || !data.organic.every((result) => result.title && result.snippet)) throw new Error(error);
  console.log(config.searchProvider, data.organic.map((result) => result.link));
}
process.env.SEARXNG_API_KEY = "rfl_wrong";
const refused = await createSearchAPI({ searchProvider: "searxng" }).getSources({ query: "log" });
if (refused.success || !refused.error.includes("401")) throw new Error("the key is not read");
"""
"""Asks as LibreChat does: by the search of its package for npm, with the settings that the guide names."""
needs_programs = pytest.mark.skipif(
    not (SET_UP / ".ready").exists(), reason="the programs are not here: make programs (needs a package index)"
)
needs_node = pytest.mark.skipif(
    not (SET_UP / ".node").exists() or shutil.which("node") is None,
    reason="the programs for node are not here: make programs (needs node and npm)",
)
EXAMPLES = [
    pytest.param("open-webui", OPEN_WEBUI, id="Open WebUI", marks=needs_programs),
    pytest.param("js", LIBRECHAT, id="LibreChat", marks=needs_node),
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
        case "python" | "open-webui":
            return [str(PYTHON), "-c", code]
        case "js":
            (folder / "node_modules").symlink_to(SET_UP / "node_modules")
            (folder / "example.mjs").write_text(code)
            return ["node", "example.mjs"]
    return ["bash", "-euo", "pipefail", "-c", code]


def open_webui_settings(address: str, key: str, folder: Path) -> dict[str, str]:
    """Return the settings of the guide, with this gateway, and those of an Open WebUI that keeps its files there."""
    lines = re.findall(r"^([A-Z_]+)=(\S+)$", HEADINGS["Open WebUI"], re.MULTILINE)
    given = {name: text.replace(GATEWAY, address).replace("rfl_...", key) for name, text in lines}
    own = {"FROM_INIT_PY": "true", "DATA_DIR": str(folder), "STATIC_DIR": str(folder / "static")}
    without = {"WEBUI_SECRET_KEY": "test", "ENABLE_DB_MIGRATIONS": "false", "USE_SLIM_DOCKER": "true"}
    return given | own | without | {"TAVILY_API_BASE_URL": f"{address}/tavily"}


async def run_example(language: str, code: str, folder: Path, address: str, key: str) -> str:
    """Run an example with this gateway. Returns what it prints."""
    environment = {
        **os.environ,
        "GATEWAY": address,
        "KEY": key,
        "NO_PROXY": "*",
        "LITELLM_LOCAL_MODEL_COST_MAP": "True",
        "SEARXNG_INSTANCE_URL": re.findall(r"SEARXNG_INSTANCE_URL=([^`]+)", GUIDE)[0].replace(GATEWAY, address),
        "SEARXNG_API_KEY": key,
    }
    if language == "open-webui":
        environment |= open_webui_settings(address, key, folder)
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
