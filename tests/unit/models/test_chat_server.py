"""The small language model on this machine: what is refused, and one answer of a real one where its weights are."""

import os
import sys
from pathlib import Path

import pytest

from streams.errors import UsageError
from streams.local.ports import free_ports
from streams.models.chat import OpenAIChat
from streams.models.chat_protocol import ChatOptions, Message, Usage
from streams.models.chat_server import start_chat_server

WEIGHTS = os.environ.get("TEST_GGUF", "")


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


@pytest.mark.skipif(not WEIGHTS, reason="TEST_GGUF names no file of weights")
async def test_a_real_model_answers_in_pieces() -> None:
    pytest.importorskip("xllamacpp")
    (port,) = free_ports(1)
    server = start_chat_server(Path(WEIGHTS), port, 1_024, 1)
    chat, usage = OpenAIChat(server.url, "any", ""), Usage()
    messages = [Message("user", "Which colour has the sky? One word.")]
    pieces = [piece async for piece in chat.stream(messages, ChatOptions(8, 60.0), usage)]
    await chat.close()
    assert len(pieces) > 1
    assert usage.answer > 0
