"""A small language model on this machine, behind the API of OpenAI: llama.cpp, from the optional package `xllamacpp`.

It is for trials and small installations. The weights are a GGUF file that the operator has: nothing is downloaded.
"""

from pathlib import Path
from typing import Any

from streams.errors import UsageError

MAGIC = b"GGUF"
"""First bytes of a file of weights (the GGUF specification of ggml)."""
HOST = "127.0.0.1"


class ChatServer:
    """A running server. It listens until the process ends."""

    def __init__(self, server: Any) -> None:
        self._server = server

    @property
    def url(self) -> str:
        """The address for `RIFFLE_ANSWERS__URL`."""
        return f"{self._server.listening_address}/v1"


def start_chat_server(file: Path, port: int, context_tokens: int, threads: int) -> ChatServer:
    """Load the weights and listen on loopback. Raises UsageError for another file, and without the package.

    `threads`: 0 is one for each core.
    """
    with file.open("rb") as opened:
        if opened.read(len(MAGIC)) != MAGIC:
            raise UsageError(f"{file} is no file of weights in the format GGUF")
    try:
        import xllamacpp
    except ImportError:
        raise UsageError("a model on this machine needs llama.cpp: pip install 'riffle-search[chat]'") from None
    params = xllamacpp.CommonParams()
    params.model.path, params.hostnames, params.port, params.n_ctx = str(file), [HOST], port, context_tokens
    if threads:
        params.cpuparams.n_threads = threads
    try:
        return ChatServer(xllamacpp.Server(params))
    except RuntimeError as error:
        raise UsageError(f"llama.cpp can't serve {file} on port {port}. Its log says why ({error})") from error
