"""The OpenAPI document as generators of clients read it: what they make compiles."""

import json
import os
import shutil
import sys
from pathlib import Path

import pytest

from tests.clients import DOCUMENT, NODE_PROGRAMS, ROOT, TOOLS, needs_tools, run

pytestmark = [needs_tools, pytest.mark.timeout(1_800)]
HERE = Path(__file__).parent


@pytest.fixture(scope="module")
def generated(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The clients of OpenAPI Generator in Java, Rust and Python. Maven has compiled the one in Java."""
    folder = tmp_path_factory.mktemp("generated")
    shutil.copy(HERE / "java" / "pom.xml", folder)
    run("mvn", "-q", "-B", "compile", f"-Ddocument={DOCUMENT}", folder=folder)
    return folder / "target"


def test_java(generated: Path) -> None:
    names = {path.stem for path in (generated / "classes").rglob("*.class")}
    assert {"SearchApi", "CrawlsApi", "WritingApi", "ChangesApi", "SearchAnswer", "PageIndexedEvent"} <= names


def test_rust(generated: Path) -> None:
    run("cargo", "check", "--quiet", folder=generated / "rust", CARGO_TARGET_DIR=str(TOOLS / "cargo"))
    assert (generated / "rust" / "src" / "apis" / "search_api.rs").exists()


def test_python(generated: Path) -> None:
    program = "import openapi_client as c; print(c.SearchApi.search.__name__, c.SearchAnswer.__name__)"
    assert "search SearchAnswer" in run(sys.executable, "-c", program, folder=generated / "python", PYTHONPATH="")


PATH = f"{NODE_PROGRAMS}:{os.environ['PATH']}"
OAPI_CODEGEN = ["-generate", "types,client", "-package", "client", "-o", "client.go"]
OGEN = ["--target", ".", "--package", "client", "--clean"]


@pytest.mark.parametrize(("generator", "options"), [("oapi-codegen", OAPI_CODEGEN), ("ogen", OGEN)])
def test_go(generator: str, options: list[str], tmp_path: Path) -> None:
    for name in ("go.mod", "go.sum"):
        shutil.copy(HERE / "go" / name, tmp_path)
    package = tmp_path / "client"
    package.mkdir()
    run(TOOLS / generator, *options, DOCUMENT, folder=package)
    run("go", "vet", "./client", folder=tmp_path)
    assert "BeginCrawl" in "".join(path.read_text() for path in package.glob("*.go"))


@pytest.fixture
def npm(tmp_path: Path) -> Path:
    """A folder of a program, with the package as npm installs it."""
    package = tmp_path / "node_modules" / "@riffle-search" / "client"
    shutil.copytree(ROOT / "schemas" / "npm", package, ignore=shutil.ignore_patterns("node_modules"))
    script: str = json.loads((package / "package.json").read_text())["scripts"]["prepack"]
    run("bash", "-c", script.replace("../generated/openapi.json", str(DOCUMENT)), folder=package, PATH=PATH)
    (tmp_path / "node_modules" / "openapi-fetch").symlink_to(TOOLS / "node_modules" / "openapi-fetch")
    (tmp_path / "node_modules" / "openapi-typescript-helpers").symlink_to(
        TOOLS / "node_modules" / "openapi-typescript-helpers"
    )
    return tmp_path


TYPED = """
import { riffle, verify, type Schemas } from "@riffle-search/client";

const client = riffle("http://127.0.0.1:8080", "rfl_...");
const begun = await client.POST("/api/v1/crawls", { body: { seeds: ["https://docs.example/"], depth: 0 } });
const crawl: Schemas["CrawlAnswer"] | undefined = begun.data;
const written = await client.PUT("/api/v1/pages", {
  params: { query: { url: "https://docs.example/a" } }, body: "<p>Hi", headers: { "Content-Type": "text/html" },
});
const event = await verify("{}", {}, "whsec_...");
if (event.type === "riffle.pages.indexed.v1") console.log(event.data.statements, crawl?.state, written.data?.page_id);
"""
OPTIONS = ["--noEmit", "--strict", "--module", "nodenext", "--target", "es2023", "--lib", "es2023,dom"]


@pytest.mark.parametrize(("code", "fails"), [(TYPED, False), (TYPED.replace("depth: 0", 'depth: "none"'), True)])
def test_typescript(npm: Path, code: str, fails: bool) -> None:
    (npm / "program.mts").write_text(code)
    run(NODE_PROGRAMS / "tsc", *OPTIONS, "program.mts", folder=npm, fails=fails)


def test_every_operation_has_a_name_that_reads_well() -> None:
    """A generator makes a method of `operationId`. Without one, it makes a name of the path."""
    operations = [each for path in json.loads(DOCUMENT.read_text())["paths"].values() for each in path.values()]
    names = [each["operationId"] for each in operations]
    assert len(set(names)) == len(names)
    assert [name for name in names if not name.isidentifier() or len(name) > 20] == []
