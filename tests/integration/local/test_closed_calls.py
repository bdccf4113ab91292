"""Triton serves what Riffle asks for: a real server refuses every other call, over gRPC and over HTTP.

The server is that of the local stack, with the options of `streams.models.inference.serving`, with which the image of
the chart starts, too. HTTP is open here as in the chart; the local stack has it closed.
"""

import os
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import httpx2
import numpy as np
import pytest
from tritonclient.grpc import InferenceServerClient, InferInput
from tritonclient.utils import InferenceServerException

from streams.local.child_process import stop
from streams.local.servers.server import spawn
from streams.local.servers.triton import why_not
from streams.models.triton_connection import server_state
from streams.settings import TritonSettings
from tests.integration.test_starved_models import TritonWithHttp

pytestmark = pytest.mark.integration("triton")
CONFIG = """
name: "echo"
backend: "python"
max_batch_size: 8
input [{ name: "IN", data_type: TYPE_FP32, dims: [1] }]
output [{ name: "OUT", data_type: TYPE_FP32, dims: [1] }]
instance_group [{ kind: KIND_CPU, count: 1 }]
"""
MODEL = """
import triton_python_backend_utils as pb


class TritonPythonModel:
    def execute(self, requests):
        tensors = [pb.get_input_tensor_by_name(request, "IN").as_numpy() for request in requests]
        return [pb.InferenceResponse([pb.Tensor("OUT", tensor)]) for tensor in tensors]
"""
READY_SECONDS = 180.0


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[TritonWithHttp]:
    if reason := why_not():
        pytest.skip(reason)
    folder = tmp_path_factory.mktemp("closed")
    model = folder / "models" / "echo"
    (model / "1").mkdir(parents=True)
    (model / "config.pbtxt").write_text(CONFIG)
    (model / "1" / "model.py").write_text(MODEL)
    (folder / "home" / "logs").mkdir(parents=True)
    triton = TritonWithHttp(folder / "home" / "data" / "triton", folder / "models", ["echo"])
    child = spawn(triton, triton.prepare(), folder / "home" / "logs")
    try:
        end = time.monotonic() + READY_SECONDS
        while not triton.is_ready():
            assert time.monotonic() < end, triton.log.read_text()[-4000:]
            time.sleep(0.2)
        yield triton
    finally:
        stop([child], 20.0)
        triton.clean()


@pytest.fixture
def client(server: TritonWithHttp) -> Iterator[InferenceServerClient]:
    made = InferenceServerClient(server.url)
    yield made
    made.close()


CLOSED: dict[str, Callable[[InferenceServerClient], Any]] = {
    "the list of models": lambda client: client.get_model_repository_index(),
    "load a model": lambda client: client.load_model("echo", config='{"backend": "python"}'),
    "unload a model": lambda client: client.unload_model("echo"),
    "the state of shared memory": lambda client: client.get_system_shared_memory_status(),
    "map shared memory": lambda client: client.register_system_shared_memory("region", "/riffle_closed", 64),
    "unmap shared memory": lambda client: client.unregister_system_shared_memory(),
    "the state of a GPU's shared memory": lambda client: client.get_cuda_shared_memory_status(),
    "map a GPU's shared memory": lambda client: client.register_cuda_shared_memory("region", b"x" * 64, 0, 64),
    "the settings of traces": lambda client: client.get_trace_settings(),
    "write traces to a file": lambda client: client.update_trace_settings(settings={"trace_file": "/tmp/x"}),
    "the settings of the log": lambda client: client.get_log_settings(),
    "write the log to a file": lambda client: client.update_log_settings({"log_file": "/tmp/x"}),
}


@pytest.mark.parametrize("call", CLOSED.values(), ids=CLOSED.keys())
def test_a_call_that_riffle_does_not_need_is_refused(
    client: InferenceServerClient, call: Callable[[InferenceServerClient], Any]
) -> None:
    with pytest.raises(InferenceServerException, match="restricted"):
        call(client)


CLOSED_ON_HTTP = [
    ("GET", "/v2"),
    ("GET", "/v2/models/echo"),
    ("GET", "/v2/models/echo/config"),
    ("GET", "/v2/models/echo/stats"),
    ("GET", "/v2/models/stats"),
    ("POST", "/v2/models/echo/infer"),
    ("POST", "/v2/models/echo/generate"),
    ("POST", "/v2/repository/index"),
    ("POST", "/v2/repository/models/echo/load"),
    ("POST", "/v2/repository/models/echo/unload"),
    ("GET", "/v2/systemsharedmemory/status"),
    ("POST", "/v2/systemsharedmemory/region/x/register"),
    ("POST", "/v2/systemsharedmemory/unregister"),
    ("GET", "/v2/cudasharedmemory/status"),
    ("POST", "/v2/cudasharedmemory/region/x/register"),
    ("GET", "/v2/trace/setting"),
    ("POST", "/v2/trace/setting"),
    ("GET", "/v2/models/echo/trace/setting"),
    ("GET", "/v2/logging"),
    ("POST", "/v2/logging"),
]


@pytest.mark.parametrize(("method", "path"), CLOSED_ON_HTTP)
def test_http_answers_for_health_alone(server: TritonWithHttp, method: str, path: str) -> None:
    base = f"http://127.0.0.1:{server.http_port}"
    with httpx2.Client(base_url=base, trust_env=False, timeout=60) as http:
        assert http.get("/v2/health/live").status_code == 200
        assert http.get("/v2/health/ready").status_code == 200
        answer = http.request(method, path, json={} if method == "POST" else None)
        assert (answer.status_code, "restricted" in answer.text) == (403, True), answer.text


def test_what_riffle_asks_for_is_answered(server: TritonWithHttp, client: InferenceServerClient) -> None:
    tensor = InferInput("IN", [1, 1], "FP32")
    tensor.set_data_from_numpy(np.ones((1, 1), dtype=np.float32))
    answer = client.infer("echo", [tensor])

    assert answer is not None
    assert answer.as_numpy("OUT") == 1.0
    assert client.get_model_metadata("echo").name == "echo"
    assert client.get_model_config("echo").config.name == "echo"
    assert client.is_server_ready()
    assert server_state(TritonSettings(url=server.url), 60).models == ["echo"]


def test_the_image_starts_its_server_with_the_same_options(tmp_path: Path) -> None:
    """A program in the place of the server prints what it was started with: two secrets of two starts differ."""
    program = tmp_path / "tritonserver"
    program.write_text('#!/bin/sh\nprintf "%s\\n" "$@"\n')
    program.chmod(0o755)
    command = [sys.executable, "-m", "streams.models.inference.serving", "--model-repository=/models"]
    environment = {**os.environ, "PATH": f"{tmp_path}:/usr/bin:/bin"}
    starts = [
        subprocess.run(command, env=environment, capture_output=True, text=True, check=True).stdout.splitlines()
        for _ in range(2)
    ]
    assert [line.partition(":")[0] for line in starts[0][:2]] == [line.partition(":")[0] for line in starts[1][:2]]
    assert starts[0][2:] == ["--model-repository=/models"]
    assert starts[0][0] != starts[1][0]
