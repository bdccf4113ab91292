"""`riffle distill`: make a static embedding model, for machines on which the network is too slow."""

import hashlib
import re
import shutil
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated

import numpy as np
import typer

from streams.commands.console import (
    AsJson,
    command,
    err,
    load_settings,
    print_result,
)
from streams.errors import UsageError
from streams.models.inference.encoder import Floats, SentenceEncoder
from streams.models.inference.repository import parameters_of, read_config
from streams.models.inference.runtimes import STATIC, resolve_runtime
from streams.models.inference.static import distill_rows, write_table

PART_TOKENS = 512
"""Number of tokens that are embedded before the command shows progress."""
FILE = "static.npy"


_NAME = re.compile(r"[a-z][a-z0-9_]*")
# Parts of a model's config.pbtxt, as those in the repository are written.
_PARAMETER = re.compile(r'(key: "([^"]*)" value \{ string_value: )"([^"]*)"')
_FALLBACK = re.compile(r'  \{ key: "fallback_(?:runtime|version)"[^\n]{0,300}+\n')
_OUTPUT = re.compile(r'(name: "EMBEDDING" data_type: TYPE_FP32 dims: \[ )\d+')
_MODEL_NAME = re.compile(r'^name: "[^"]*"', re.MULTILINE)


@command
def distill(
    name: Annotated[str, typer.Option(help="Name of the new model in the local model repository.")] = "sbert_static",
    dimensions: Annotated[int, typer.Option(min=16, help="Dimensions of its vectors.")] = 256,
    as_json: AsJson = False,
) -> None:
    """Make a static embedding model from the present model, in some minutes. A text has the mean vector of its tokens.

    Search with it:  RIFFLE_TRITON__MODEL=sbert_static RIFFLE_TRITON__QUERY_MODEL= riffle up, then riffle reindex

    Example:  riffle distill --dimensions 256
    """
    settings = load_settings()
    source, target = (settings.models_path / "local" / folder for folder in (settings.triton.model, name))
    parameters = resolve_runtime(parameters_of(read_config(source)))
    if not _NAME.fullmatch(name) or target == source:
        raise UsageError(f"{name!r} can't be the model's name: small letters, digits and _, and not {source.name}")
    if dimensions > int(parameters["dimensions"]) or parameters.get("runtime") == STATIC:
        raise UsageError(f"{source.name} makes vectors of {parameters['dimensions']} dimensions: ask for fewer")
    encoder = SentenceEncoder(parameters, source / "1")
    _make_folder(target / "1")
    rows = distill_rows(lambda tokens: _embed_parts(encoder, tokens), encoder.vocabulary, dimensions)
    write_table(target / "1" / FILE, rows)
    shutil.copyfile(source / "1" / "model.py", target / "1" / "model.py")
    config = make_config((source / "config.pbtxt").read_text(), name, dimensions, parameters, target / "1" / FILE)
    (target / "config.pbtxt").write_text(config)
    size_bytes = (target / "1" / FILE).stat().st_size
    print_result(
        f"{target}: {len(rows)} tokens, {dimensions} dimensions, {size_bytes:,} bytes.",
        {"folder": str(target), "tokens": len(rows), "dimensions": dimensions, "bytes": size_bytes},
        as_json,
    )


def _make_folder(folder: Path) -> None:
    """Make the model's folder. Raises UsageError: an installed package often belongs to another user."""
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise UsageError(
            f"{folder} can't be made ({error.strerror}). Copy the model repository to a folder of yours, and set "
            "RIFFLE_MODEL_REPOSITORY to the copy"
        ) from error


def make_config(config: str, name: str, dimensions: int, parameters: dict[str, str], table: Path) -> str:
    """Return the configuration of the static model, made from the network's configuration."""
    changed = {
        "model_name": f"{parameters['model_name']}-static",
        "model_version": f"{dimensions}-2",
        "runtime": STATIC,
        "dimensions": str(dimensions),
        "normalized": "true",
        "model_sources": f"path:{FILE}",
        "model_sha256": hashlib.sha256(table.read_bytes()).hexdigest(),
    }
    config = _PARAMETER.sub(lambda found: f'{found[1]}"{changed.get(found[2], found[3])}"', config)
    config = _FALLBACK.sub("", config)
    config = _OUTPUT.sub(rf"\g<1>{dimensions}", config)
    return _MODEL_NAME.sub(f'name: "{name}"', config, count=1)


def _embed_parts(encoder: SentenceEncoder, tokens: Sequence[str]) -> Floats:
    texts = [token.removeprefix("##") for token in tokens]
    parts = []
    with err.status("Distilling ...") as status:
        for start in range(0, len(texts), PART_TOKENS):
            parts.append(encoder.embed(texts[start : start + PART_TOKENS]))
            status.update(f"Distilling: {start} of {len(texts)} tokens")
    return np.concatenate(parts)
