"""Two sentence encoders whose vectors stand one behind the other: one of them knows a language better than all others.

A cosine of two such vectors is the mean of both encoders' cosines. The first encoder reads only texts of its language:
those whose letters are mostly in whole words of its vocabulary (a word that it does not know is divided into pieces).
Any other text has the vector of the second encoder, behind zeros.

The vectors of an encoder such as multilingual-e5-small all point in nearly the same direction, which says nothing. So
its mean vector is subtracted (Mu and Viswanath, All-but-the-Top, 2018), and related texts stand out as far as they do
in the other's vectors.
"""

from collections.abc import Sequence
from pathlib import Path

import numpy as np
from tokenizers import Encoding

from streams.errors import UsageError
from streams.models.inference.encoder import Floats, SentenceEncoder
from streams.models.inference.repository import Parameters, check_files, find_file, parameters_in, prefixes_of
from streams.models.inference.tokenizing import prefix_in

MEMBERS = "members"
"""The parameter with the names of both models, which are in the same repository."""
MIN_KNOWN = 0.45
"""Minimum share of a text's letters in whole words of the first encoder's vocabulary. Nine tenths of English texts have
.8 or more; the half of texts in any other language has less than .4 (docs/decisions/0133)."""
_HALF = np.float32(0.5**0.5)


class PairEncoder:
    """Both encoders in one thread (or `threads`). Raises UsageError when a file is missing or has another checksum."""

    def __init__(self, parameters: Parameters, folder: Path, callers: int = 1) -> None:
        """`callers`: number of threads that embed at once."""
        self._first, self._second = (
            SentenceEncoder(member, place, callers) for member, place in _members(parameters, folder)
        )
        self._prefixes = prefixes_of(parameters)
        self._mean: Floats = np.load(find_file(parameters, "mean", folder), allow_pickle=False)
        self.dimensions = self._first.dimensions + self._second.dimensions

    def tokens(self, text: str) -> int:
        """Return the number of tokens of a text, as the second model reads it."""
        return self._second.tokens(text)

    def embed(self, texts: Sequence[str]) -> Floats:
        """Return vectors in the order of the texts, shape (len(texts), dimensions)."""
        own = self._first.dimensions
        vectors = np.zeros((len(texts), self.dimensions), np.float32)
        moved = self._second.embed(texts) - self._mean
        vectors[:, own:] = moved / np.maximum(np.linalg.norm(moved, axis=1, keepdims=True), np.float32(1e-12))
        encodings = self._first.encode([text.removeprefix(prefix_in(text, self._prefixes)) for text in texts])
        known = [index for index, encoding in enumerate(encodings) if known_share(encoding) >= MIN_KNOWN]
        if known:
            vectors[known, own:] *= _HALF
            vectors[known, :own] = _HALF * self._first.embed_encoded([encodings[index] for index in known])
        return vectors


def known_share(encoding: Encoding) -> float:
    """Return the share of a text's letters that are in whole words of an English vocabulary; 0 without letters."""
    pieces: dict[int, list[tuple[str, int]]] = {}
    for token, word, (start, end) in zip(encoding.tokens, encoding.word_ids, encoding.offsets, strict=True):
        if word is not None and (token.startswith("##") or token.isalpha() or token.startswith("[")):
            pieces.setdefault(word, []).append((token, end - start))
    letters = sum(length for parts in pieces.values() for _, length in parts)
    whole = sum(parts[0][1] for parts in pieces.values() if len(parts) == 1 and _is_word(parts[0][0]))
    return whole / letters if letters else 0.0


def _is_word(token: str) -> bool:
    return token.isascii() and token.isalpha()


def _members(parameters: Parameters, folder: Path) -> list[tuple[Parameters, Path]]:
    """Return the parameters of each model of a pair, and the folder of its version. Raises UsageError."""
    names = parameters[MEMBERS].split()
    places = [folder.parent.parent / name for name in names]
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
