"""Processes import at their start nothing that only some of their uses need."""

import subprocess
import sys

import pytest

IMPORTS = {
    "streams.cli": ["pydantic", "numpy", "confluent_kafka", "psutil"],
    "streams.commands.pages.crawl": ["aiohttp", "cassandra", "lxml", "fastapi"],
    "streams.sandbox.worker": ["pydantic", "numpy", "lxml"],
    "streams.crawl.fetch.agent": ["faust", "cassandra", "qdrant_client", "lxml", "fastapi"],
    "streams.runtime.worker": ["cassandra", "qdrant_client", "lxml", "fastapi"],
    "streams.gateway.app": ["faust", "cassandra", "confluent_kafka", "lxml", "selectolax", "pint", "dask"],
}
"""Packages that a process must not import at its start, by its first module: they cost time and memory."""
FOR_ONE_USE = ["openvino", "onnxruntime", "tritonclient", "grpc", "spacy", "sklearn", "umap", "pypdfium2", "pyarrow"]


@pytest.mark.parametrize("module", IMPORTS)
def test_imports_are_lazy(module: str) -> None:
    """A package is imported by the first use of what needs it: models above all."""
    program = f"import sys, {module}; print(*sys.modules)"
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert sorted(set(done.stdout.split()) & {*IMPORTS[module], *FOR_ONE_USE}) == []
