"""Two sentence encoders whose vectors stand one behind the other: one of them knows a language better than all others.

A cosine of two such vectors is the mean of both encoders' cosines. The first encoder reads only texts of its language
(`pair_tokens`). Any other text has the vector of the second encoder, behind zeros. Of both encoders, unrelated texts
have cosines near 0, so that related ones stand out as far in one as in the other.
"""

from collections.abc import Sequence
from pathlib import Path

import numpy as np

from streams.errors import UsageError
from streams.models.inference.encoder import Floats, SentenceEncoder
from streams.models.inference.pair_tokens import is_for_first
from streams.models.inference.repository import MEMBERS, Parameters, check_files, parameters_in, prefixes_of
from streams.models.inference.tokenizing import prefix_in

_HALF = np.float32(0.5**0.5)


class PairEncoder:
    """Both encoders in one thread (or `threads`). Raises UsageError when a file is missing or has another checksum."""

    def __init__(self, parameters: Parameters, folder: Path, callers: int = 1) -> None:
        """`callers`: number of threads that embed at once."""
        self._first, self._second = (
            SentenceEncoder(member, place, callers) for member, place in _members(parameters, folder)
        )
        self._prefixes = prefixes_of(parameters)
        self.dimensions = self._first.dimensions + self._second.dimensions

    def tokens(self, text: str) -> int:
        """Return the number of tokens of a text, as the second model reads it."""
        return self._second.tokens(text)

    def embed(self, texts: Sequence[str]) -> Floats:
        """Return vectors in the order of the texts, shape (len(texts), dimensions)."""
        own = self._first.dimensions
        vectors = np.zeros((len(texts), self.dimensions), np.float32)
        vectors[:, own:] = self._second.embed(texts)
        encodings = self._first.encode([text.removeprefix(prefix_in(text, self._prefixes)) for text in texts])
        known = [index for index, encoding in enumerate(encodings) if is_for_first(texts[index], encoding)]
        if known:
            vectors[known, own:] *= _HALF
            vectors[known, :own] = _HALF * self._first.embed_encoded([encodings[index] for index in known])
        return vectors


def _members(parameters: Parameters, folder: Path) -> list[tuple[Parameters, Path]]:
    """Return the parameters of each model of a pair, and the folder of its version. Raises UsageError."""
    names = parameters[MEMBERS].split()
    inside = folder.parent / MEMBERS
    places = [(inside if inside.is_dir() else folder.parent.parent) / name for name in names]
    try:
        members = [parameters_in((place / "config.pbtxt").read_text()) for place in places]
    except OSError as error:
        raise UsageError(
            f"{folder.parent.name} is a pair of the models {' and '.join(names)}, which belong into the same model "
            f"repository: {error}"
        ) from error
    given = {name: parameters[name] for name in ("runtime", "threads") if name in parameters}
    return [({**member, **given}, place / folder.name) for member, place in zip(members, places, strict=True)]


def check_model_files(parameters: Parameters, folder: Path) -> None:
    """Check all files of a model, and of the models that it is made of. Raises UsageError."""
    check_files(parameters, folder)
    if MEMBERS in parameters:
        for member, place in _members(parameters, folder):
            check_files(member, place)


def open_encoder(parameters: Parameters, folder: Path, callers: int = 1) -> SentenceEncoder | PairEncoder:
    """Load a model or a pair. Raises UsageError when a file is missing or has another checksum."""
    return (PairEncoder if MEMBERS in parameters else SentenceEncoder)(parameters, folder, callers)
