"""The files of a model that are made from a package's packed file, once for a machine.

A package carries the weights in a form that no runtime reads. The files for the runtimes are made at their first use
and kept in the user's cache, named by their checksum, so that all processes and checkouts share them. The same package
gives the same files, byte by byte. `make setup` and the image for Triton make them ahead (`make_files`).
"""

import fcntl
import hashlib
import os
from collections.abc import Callable, Mapping
from pathlib import Path

from streams.errors import UsageError
from streams.models.inference.packed.graph import network
from streams.models.inference.packed.packed_file import PackedModel, read_packed
from streams.models.inference.packed.tokenizer import tokenizer_json

MAKERS: Mapping[str, tuple[str, Callable[[PackedModel], bytes]]] = {
    "model": (".onnx", lambda model: network(model, "int8")),
    "tokenizer": (".json", tokenizer_json),
}
"""The ending and the maker of each file, by its name in a model's parameters."""


def cache_folder(environment: Mapping[str, str] = os.environ) -> Path:
    """Return the folder of the files that were made."""
    return Path(environment.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "riffle" / "models"


def made_file(what: str, packed: Path, sha256: str, folder: Path | None = None) -> Path:
    """Return the file with this checksum, made from a packed file if it isn't there. Raises UsageError."""
    folder, (ending, make) = folder or cache_folder(), MAKERS[what]
    path = folder / f"{sha256}{ending}"
    if not path.is_file():
        try:
            folder.mkdir(parents=True, exist_ok=True)
            with (folder / "lock").open("w") as lock:
                fcntl.flock(lock, fcntl.LOCK_EX)  # several processes start at once, and the second finds the file
                if not path.is_file():
                    _write(path, _make(make, packed, sha256))
        except OSError as error:
            raise UsageError(
                f"{path} can't be made: {error}. Let XDG_CACHE_HOME name a folder that can be written"
            ) from error
    return path


def _make(make: Callable[[PackedModel], bytes], packed: Path, sha256: str) -> bytes:
    try:
        content = make(read_packed(packed.read_bytes()))
    except ValueError as error:
        raise UsageError(f"{packed} is another file than the model's: {error}") from error
    if (found := hashlib.sha256(content).hexdigest()) != sha256:
        raise UsageError(f"what is made from {packed} has the checksum {found}, but its configuration says {sha256}")
    return content


def _write(path: Path, content: bytes) -> None:
    """Write a file so that nobody sees a part of it."""
    part = path.with_name(f"{path.name}.part")
    part.write_bytes(content)
    part.replace(path)
