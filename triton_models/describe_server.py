"""Writes the description of an embedding model behind a server with the API of OpenAI.

    python triton_models/describe_server.py URL MODEL --name NAME [--repository FOLDER] [options]

URL is the server's address up to its version, such as https://models.example/v1, and MODEL the model's name there. The
script asks the server a few times, and writes FOLDER/local/NAME: the dimensions of the vectors, their length, the form
in which the server gives them, two usual cosines, and the vectors of the probes, with which each later answer is
compared. FOLDER is the model repository (RIFFLE_MODEL_REPOSITORY; by default triton_models). Then set
RIFFLE_TRITON__URL=openai+URL and RIFFLE_TRITON__MODEL=NAME.

Give another --version whenever the model changes, and the words that it reads before each text, as it was trained.
"""

import argparse
import hashlib
import json
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import httpx2
import numpy as np
import orjson

from streams.client.plain_http import plain_client
from streams.errors import UsageError
from streams.models.inference.repository import PREFIXES_DIGEST, SERVER_MODEL, prefixes_digest
from streams.models.openai_answers import LEAST_COSINE, PROBES, UNIT_TOLERANCE, most_bytes, read_vectors
from streams.models.openai_embedder import PATH, REFUSED
from streams.models.protocols import ModelInfo, Vectors

QUESTIONS = (
    "Which rock cools slowly below the ground?",
    "What did the orchestra do before the concert?",
    "How many eggs are stirred into the butter?",
    "What did the court do with the appeal?",
    "Who carries pollen from flower to flower?",
    "Where does the database write changes first?",
    "When does the train to Lisbon leave?",
    "What does a vaccine teach the immune system?",
)
"""A question to each probe, for the usual cosine of a question and the nearest sentence."""
MAX_DIMENSIONS = 65_536
SECONDS = 60.0


class Server:
    """The server, and the form of its answers that it was found to have."""

    def __init__(self, http: httpx2.Client, url: str, key: str, body: dict[str, Any]) -> None:
        self._http, self._url, self._body = http, url.rstrip("/") + PATH, body
        self._headers = {"Authorization": f"Bearer {key}"} if key else {}

    def ask(self, texts: Sequence[str], **more: Any) -> bytes | None:
        """Return the answer, or None if the server refuses the request. Raises UsageError."""
        body = {**self._body, "input": list(texts), **more}
        content = bytearray()
        with self._http.stream("POST", self._url, json=body, headers=self._headers) as response:
            if response.status_code in REFUSED:
                return None
            if response.status_code != 200:
                raise UsageError(f"{self._url} answered with status {response.status_code}")
            for piece in response.iter_bytes():
                content += piece
                if len(content) > most_bytes(len(texts), MAX_DIMENSIONS):
                    raise UsageError(f"{self._url} answered with more than {len(content):,} bytes")
        return bytes(content)


def main(arguments: Sequence[str] | None = None) -> int:
    own = _arguments(arguments)
    key = own.key_file.read_text().strip() if own.key_file else ""
    try:
        with plain_client(follow_redirects=False, trust_env=False, timeout=SECONDS) as http:
            body = {"model": own.model, **({"dimensions": own.dimensions} if own.dimensions else {})}
            parameters, probes = describe(Server(http, own.url, key, body), own)
    except (UsageError, ValueError, httpx2.HTTPError) as error:
        print(f"{own.url}: {error}", file=sys.stderr)  # noqa: T201 - a script's result
        return 1
    folder = write(own.repository / "local" / own.name, parameters, probes)
    print(f"{folder}: set RIFFLE_TRITON__URL=openai+{own.url} and RIFFLE_TRITON__MODEL={own.name}")  # noqa: T201 - as above
    return 0


def describe(server: Server, own: argparse.Namespace) -> tuple[dict[str, str], Vectors]:
    """Return the parameters of the description, and the vectors of the probes. Raises UsageError, ValueError."""
    encoding, first = next(
        ((form, found) for form in ("base64", "float") if (found := server.ask(PROBES, encoding_format=form))),
        ("", b""),
    )
    if not encoding:
        raise UsageError(f"the server refuses eight short texts. Does it have the model {own.model}?")
    info = ModelInfo(own.name, own.version, _dimensions(first), normalized=False)
    vectors = read_vectors(first, len(PROBES), info)
    lengths = np.linalg.norm(vectors, axis=1)
    probes = (vectors / lengths[:, None]).astype(np.float32)
    again = _embed(server, PROBES[::-1], info, encoding)[::-1]
    if ((probes * again).sum(axis=1) < LEAST_COSINE).any():
        raise UsageError("two answers to the same texts differ: several models are behind this address")
    others = (probes @ probes.T)[~np.eye(len(PROBES), dtype=bool)]
    if others.max() >= LEAST_COSINE:
        raise UsageError("two texts have the same vector: this model can't be searched by, and answers not compared")
    passages = _embed(server, [own.passage_prefix + text for text in PROBES], info, encoding)
    questions = _embed(server, [own.query_prefix + text for text in QUESTIONS], info, encoding)
    cosines = questions @ passages.T
    related = np.eye(len(PROBES), dtype=bool)
    size = own.batch_size
    while size > 1 and server.ask(["a text"] * (size + 1), encoding_format=encoding) is None:
        size //= 2
    parameters = {
        "model_name": own.name,
        "model_version": own.version,
        SERVER_MODEL: own.model,
        "dimensions": str(info.dimensions),
        "max_tokens": str(own.max_tokens),
        "normalized": "true" if (abs(lengths - 1) < UNIT_TOLERANCE / 2).all() else "false",
        "query_prefix": own.query_prefix,
        "passage_prefix": own.passage_prefix,
        "cosine_unrelated": f"{cosines[~related].mean():.3f}",
        "cosine_related": f"{cosines[related].mean():.3f}",
        "encoding_format": encoding,
        "asks_dimensions": "true" if own.dimensions else "false",
        "batch_size": str(size),
    }
    return {**parameters, PREFIXES_DIGEST: prefixes_digest(parameters)}, probes


def write(folder: Path, parameters: dict[str, str], probes: Vectors) -> Path:
    """Write the description, and return its folder."""
    (folder / "1").mkdir(parents=True, exist_ok=True)
    file = folder / "1" / "probes.npy"
    np.save(file, probes)
    digest = hashlib.sha256(file.read_bytes()).hexdigest()
    values = {**parameters, "probes_sources": "path:probes.npy", "probes_sha256": digest}
    lines = [f'  {{ key: "{key}" value {{ string_value: {_quoted(value)} }} }}' for key, value in values.items()]
    (folder / "config.pbtxt").write_text(
        "# A model behind a server with the API of OpenAI, as triton_models/describe_server.py found it.\n"
        f"name: {_quoted(folder.name)}\nparameters [\n" + ",\n".join(lines) + "\n]\n"
    )
    return folder


def _quoted(value: str) -> str:
    """Return a text in quotation marks. The text format of protobuf has the escapes of JSON."""
    return json.dumps(value, ensure_ascii=False)


def _embed(server: Server, texts: Sequence[str], info: ModelInfo, encoding: str) -> Vectors:
    """Return vectors of unit length."""
    vectors = read_vectors(server.ask(texts, encoding_format=encoding) or b"", len(texts), info)
    found: Vectors = vectors / np.linalg.norm(vectors, axis=1, keepdims=True)
    return found


def _dimensions(answer: bytes) -> int:
    """Return the number of dimensions in an answer. Raises ValueError."""
    try:
        vector = orjson.loads(answer)["data"][0]["embedding"]
        size = len(vector) if isinstance(vector, list) else len(vector) // 4 * 3 // 4
    except (orjson.JSONDecodeError, LookupError, TypeError) as error:
        raise ValueError("its answer has no vectors") from error
    if not 2 <= size <= MAX_DIMENSIONS:
        raise ValueError(f"its vectors have {size} dimensions")
    return size


def _arguments(given: Sequence[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("url")
    parser.add_argument("model")
    parser.add_argument("--name", required=True)
    parser.add_argument("--repository", type=Path, default=Path(__file__).parent)
    parser.add_argument("--version", default="1")
    parser.add_argument("--query-prefix", default="")
    parser.add_argument("--passage-prefix", default="")
    parser.add_argument("--max-tokens", type=int, default=512)
    parser.add_argument("--dimensions", type=int, default=0, help="ask for shorter vectors")
    parser.add_argument("--batch-size", type=int, default=64)
    parser.add_argument("--key-file", type=Path)
    return parser.parse_args(given)


if __name__ == "__main__":
    sys.exit(main())
