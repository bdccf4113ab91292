"""The tokenizer of a graph, inside the model's configuration.

A graph takes token ids, so its clients need its tokenizer: the same file that the model was trained with. The export
writes the file into the configuration (`tokenizer`: zlib, base64), which Triton hands to every client. So no client can
have the tokenizer of another model, and no file is delivered to workers and gateways.
"""

import base64
import hashlib
import zlib

from tokenizers import Tokenizer

from streams.errors import StoreUnavailable
from streams.models.inference.repository import Parameters

TOKENIZER, CHECKSUM = "tokenizer", "tokenizer_sha256"
"""Parameters of a model's configuration."""


def pack_tokenizer(content: bytes) -> dict[str, str]:
    """Return the parameters that hold a file tokenizer.json."""
    packed = base64.b64encode(zlib.compress(content, 9)).decode()
    return {TOKENIZER: packed, CHECKSUM: hashlib.sha256(content).hexdigest()}


def unpack_tokenizer(parameters: Parameters, where: str) -> Tokenizer:
    """Return the tokenizer of a model's configuration. Raises StoreUnavailable if it is missing or damaged."""
    try:
        content = zlib.decompress(base64.b64decode(parameters[TOKENIZER], validate=True))
    except (KeyError, ValueError, zlib.error) as error:
        raise StoreUnavailable(f"{where}: no tokenizer in its configuration. Write one by {_EXPORT}") from error
    if (checksum := hashlib.sha256(content).hexdigest()) != parameters.get(CHECKSUM):
        raise StoreUnavailable(f"{where}: its tokenizer has the checksum {checksum}. Write it again by {_EXPORT}")
    return Tokenizer.from_str(content.decode())


_EXPORT = "triton_models/export.py"
