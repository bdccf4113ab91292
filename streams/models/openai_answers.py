"""Texts and vectors in the form of OpenAI's embeddings API, and the proof that an answer belongs to its request. Pure.

No server of this API seals its answers (`inference.seals`). So each request has one more text, a probe, whose vector
the model's description has. The texts of the request choose the probe and its place. An answer in which this vector is
not at this place is of another request, in another order, or of another model under the same name. The vectors of a
model differ a little between machines and batches, so they are compared by their cosine.

The API: https://platform.openai.com/docs/api-reference/embeddings
"""

import base64
import binascii
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from hashlib import blake2b
from typing import Any

import numpy as np
import orjson

from streams.models.protocols import ModelInfo, Vectors

PROBES = (
    "Granite is a rock that cools slowly below the ground.",
    "The orchestra tuned its violins before the concert.",
    "Add two eggs and stir the flour into the butter.",
    "The court dismissed the appeal of the tenant.",
    "Bees carry pollen from flower to flower.",
    "The database writes each change to a log first.",
    "Her train to Lisbon leaves at seven in the evening.",
    "Vaccines teach the immune system to recognize a virus.",
)
"""The probes. Their meanings are far apart, so that each model has eight different vectors for them."""
LEAST_COSINE = 0.99
"""Minimum cosine of a probe's vector and the vector in the description. Two machines, precisions or batches of one
model give 0.999 and more; two probes, or two models, far less."""
UNIT_TOLERANCE = 0.01
"""Maximum difference of a vector's length from 1, of a model whose vectors have unit length."""
NUMBER_BYTES, ROW_BYTES, ENVELOPE_BYTES = 32, 1_024, 1 << 16
"""Maximum bytes of a number in JSON, and of the rest of a row and of an answer."""
MAX_TEXT_CHARS = 20_000
"""Maximum characters of a text that is sent."""
USUAL_BYTES_PER_TOKEN = 4
"""Bytes of UTF-8 for a token in most texts. No token has less than one."""


@dataclass(frozen=True, slots=True)
class ServedModel:
    """A model behind a server, as its description says."""

    info: ModelInfo
    name: str
    """The name of the model at the server."""
    probes: Vectors
    """The vectors of the probes, of unit length."""
    encoding: str = "base64"
    """The form in which vectors are asked for: `base64` or `float`. Both are understood."""
    asks_dimensions: bool = False
    """True if requests name the number of dimensions: the model makes shorter vectors then."""
    batch_size: int = 64
    """Maximum texts of a request, without the probe."""


@dataclass(frozen=True, slots=True)
class Request:
    """The texts of a request, with a probe among them."""

    texts: tuple[str, ...]
    probe: int
    """The number of the probe."""
    place: int
    """The place of the probe among the texts."""

    @classmethod
    def of(cls, texts: Sequence[str]) -> "Request":
        """Return the request of these texts. They choose the probe and its place."""
        digest = blake2b(digest_size=8)
        for text in texts:
            digest.update(text.encode("utf-8", "replace") + b"\0")
        choice, probe = divmod(int.from_bytes(digest.digest(), "big"), len(PROBES))
        place = choice % (len(texts) + 1)
        return cls((*texts[:place], PROBES[probe], *texts[place:]), probe, place)

    @classmethod
    def of_sent(cls, sent: Sequence[str]) -> "Request":
        """Return the request with these texts, the probe among them. Raises ValueError if they are no request's."""
        for place, text in enumerate(sent):
            if text in PROBES and (request := cls.of([*sent[:place], *sent[place + 1 :]])).texts == tuple(sent):
                return request
        raise ValueError("no probe is among the texts, or at another place")

    @property
    def own_texts(self) -> tuple[str, ...]:
        """The texts without the probe."""
        return self.texts[: self.place] + self.texts[self.place + 1 :]

    def body(self, model: ServedModel) -> dict[str, Any]:
        """Return the request's JSON."""
        body: dict[str, Any] = {
            "model": model.name,
            "input": list(self.texts),
            "encoding_format": model.encoding,
        }
        return {**body, "dimensions": model.info.dimensions} if model.asks_dimensions else body

    def vectors(self, answer: bytes | object, model: ServedModel) -> Vectors:
        """Return the vectors of the texts without the probe. Raises ValueError with the fault of the answer."""
        vectors = read_vectors(answer, len(self.texts), model.info)
        cosine = cosine_of(vectors[self.place], model.probes[self.probe])
        if cosine < LEAST_COSINE:
            raise ValueError(
                f"the probe has another vector than described (cosine {cosine:.3f}): "
                "an answer of another request, or of another model"
            )
        return np.delete(vectors, self.place, axis=0)


def most_bytes(rows: int, dimensions: int) -> int:
    """Return the maximum bytes of an answer."""
    return ENVELOPE_BYTES + rows * (ROW_BYTES + dimensions * NUMBER_BYTES)


def as_sent(text: str, prefix: str, max_bytes: int) -> str:
    """Return the text as it is sent: behind the prefix, no half of a surrogate pair, not empty, and at most this long.

    A statement's context is in the lines before it, so the beginning of a long text is left out.
    """
    content = text[-MAX_TEXT_CHARS:].encode("utf-8", "replace")[-max_bytes:]
    return prefix + content.decode("utf-8", "ignore") or " "


def read_vectors(answer: bytes | object, rows: int, info: ModelInfo) -> Vectors:
    """Return the vectors of an answer (its JSON, or the JSON's value) in the order of its request.

    Raises ValueError with the answer's fault.
    """
    try:
        content = orjson.loads(answer) if isinstance(answer, bytes) else answer
    except orjson.JSONDecodeError as error:
        raise ValueError("no JSON") from error
    data = content.get("data") if isinstance(content, Mapping) else None
    if not isinstance(data, list) or len(data) != rows:
        raise ValueError(f"{len(data) if isinstance(data, list) else 'no'} rows for {rows} texts")
    vectors = np.empty((rows, info.dimensions), np.float32)
    missing = set(range(rows))
    for row in data:
        index = row.get("index") if isinstance(row, Mapping) else None
        if type(index) is not int or index not in missing:
            raise ValueError(f"a row has the index {str(index)[:20]}, which no text has, or another row has it")
        missing.discard(index)
        vectors[index] = _vector(row.get("embedding"), info.dimensions)
    if fault := find_vector_fault(vectors, info):
        raise ValueError(fault)
    return vectors


def find_vector_fault(vectors: Vectors, info: ModelInfo) -> str:
    """Return the reason why vectors are not the model's, or an empty string."""
    if not np.isfinite(vectors).all():
        return "numbers that are not finite"
    lengths = np.linalg.norm(vectors, axis=1)
    if info.normalized and (abs(lengths - 1) > UNIT_TOLERANCE).any():
        return f"vectors that are not of unit length, such as {lengths[abs(lengths - 1).argmax()]:.3g}"
    return "" if lengths.all() else "vectors without a direction"


def cosine_of(one: Vectors, other: Vectors) -> float:
    return float(one @ other / max(float(np.linalg.norm(one) * np.linalg.norm(other)), 1e-12))


def _vector(value: object, dimensions: int) -> Vectors:
    """Return a vector of a row, as numbers or in base64 (little-endian floats of 32 bits). Raises ValueError."""
    if isinstance(value, str):
        try:
            content = base64.b64decode(value, validate=True)
        except binascii.Error as error:
            raise ValueError("a vector is not base64") from error
        found: Vectors = np.frombuffer(content[: len(content) // 4 * 4], "<f4")
    elif isinstance(value, list) and all(type(number) in (int, float) for number in value):
        with np.errstate(over="ignore"):  # a number beyond 32 bits becomes infinite, which is a fault
            found = np.array(value, np.float64).astype(np.float32)
    else:
        raise ValueError("a vector is no list of numbers")
    if len(found) != dimensions:
        raise ValueError(f"a vector of {len(found)} dimensions in place of {dimensions}")
    return found
