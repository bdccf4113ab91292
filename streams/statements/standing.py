"""One number of each statement says whether it stands by itself. It is judged once, when its page is indexed. Pure.

A reader of results has the page's title, the headings and the lead-in of a statement, and not the sentences before it.
The number says how probable it is that this is enough. It is the logistic of a sum of weights: of the words and the
parts of words with which the text begins and ends (hashed into a table), of its other words, and of its structure,
which needs no words: its kind, whether a lead-in completes it, its marks and its length.

The weights are a student's. A multilingual sentence encoder with a layer that was trained on readers' labels in seven
languages judged thousands of statements without a label, and these weights were fitted to what it said
(`benchmarks.labelling.standing_model`). So no model runs here, and the number is the same on all machines, with each
embedding model. A language that was not in the training is judged by the structure of a text, and by its marks.
"""

import math
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cache
from itertools import pairwise
from pathlib import Path
from zlib import crc32

import numpy as np

from streams.language.marks import QUESTION_MARKS, ends_sentence, is_closed
from streams.stores.statement_payload import MAX_ALONE

SLOTS = 1 << 15
"""Number of weights of the table. Two parts of texts may share one."""
BEGINNING_CHARS, END_CHARS = 24, 12
"""Number of characters at the beginning and at the end whose parts are read."""
SUBWORD_CHARS = 4
"""Length of the parts of longer words: endings say much in languages that inflect."""
MAX_SUBWORDS = 16
"""Maximum number of first words whose parts are read."""
READ_CHARS = 300
"""Maximum characters of a text whose words and letters are read."""
SPACELESS_CHARS = 120
"""Maximum characters of a text without spaces whose pairs are read."""
WEIGHTS = Path(__file__).with_name("standing.npz")
_KINDS = ("sentence", "item", "link", "list", "row", "code")
_COLONS = (":", "：")
_FIRST_SPACELESS = "\u2e80"
"""The first letter of the scripts of East Asia, which have no spaces."""
_WORD = re.compile(r"\w+|[^\w\s]")


@dataclass(frozen=True, slots=True)
class Weights:
    table: bytes
    """A weight in units of `unit` for each slot, with 128 as its zero."""
    unit: float
    structure: tuple[float, ...]
    bias: float


@cache
def read_weights() -> Weights:
    """Return the weights that come with Riffle."""
    with np.load(WEIGHTS) as file:
        unit, bias, *structure = (float(value) for value in file["others"])
        return Weights(file["table"].tobytes(), unit, tuple(structure), bias)


def stands_alone(text: str, kind: str, context: Sequence[str]) -> int:
    """Return how probably a reader understands the statement with its context, from 1 to MAX_ALONE."""
    weights = read_weights()
    slots = {slot_of(part) for part in parts(text)}
    total = weights.bias + sum(map(math.prod, zip(weights.structure, structure(text, kind, context), strict=True)))
    if slots:
        total += weights.unit * sum(weights.table[slot] - 128 for slot in slots) / math.sqrt(len(slots))
    probability = 1 / (1 + math.exp(-max(-30.0, min(30.0, total))))
    return max(1, round(MAX_ALONE * probability))


def slot_of(part: str) -> int:
    return crc32(part.encode("utf-8", "replace")) % SLOTS


def parts(text: str) -> Iterator[str]:
    """Yield the parts of a text that have a weight: a letter says of which place, and the text follows."""
    folded = " ".join(text[: 4 * READ_CHARS].split()).lower()
    begin, end = folded[:BEGINNING_CHARS], " ".join(text[-4 * END_CHARS :].split()).lower()[-END_CHARS:]
    for size in (2, 3, 4):
        yield from (f"^{begin[at : at + size]}" for at in range(len(begin) - size + 1))
        yield from (f"${end[at : at + size]}" for at in range(len(end) - size + 1))
    words = _WORD.findall(folded[:READ_CHARS])
    yield from (f"1{' '.join(words[:count])}" for count in (1, 2, 3))
    yield from (f"z{' '.join(words[-count:])}" for count in (1, 2))
    yield from (f"w{word}" for word in words)
    yield from (f"b{one} {other}" for one, other in pairwise(words))
    for word in words[:MAX_SUBWORDS]:
        if len(word) > SUBWORD_CHARS:
            marked = f"<{word}>"
            yield from (f"s{marked[at : at + SUBWORD_CHARS]}" for at in range(len(marked) - SUBWORD_CHARS + 1))
    shown = folded[:SPACELESS_CHARS]
    yield from (f"c{one}{other}" for one, other in pairwise(shown) if one >= _FIRST_SPACELESS)


def structure(text: str, kind: str, context: Sequence[str]) -> tuple[float, ...]:
    """Return the features of a statement that need no word of a language, each from 0 to about 1."""
    shown = text.strip()
    read = shown[:READ_CHARS]
    size, count = len(read.encode("utf-8", "replace")), max(1, len(read))
    is_led = bool(context) and is_closed(context[-1].strip())
    return (
        *(float(kind == each) for each in _KINDS),
        float(is_led),
        float(is_led and kind in ("item", "list", "row")),
        float(is_led and kind == "code"),
        min(len(context), 8) / 8,
        float(ends_sentence(shown)),
        float(shown.endswith(_COLONS)),
        float(shown[-1:] in QUESTION_MARKS),
        min(8.0, math.log1p(size)) / 8,
        float(size < 40),
        float(size < 80),
        float(not shown[:1].isalpha()),
        float(shown[:1].islower()),
        sum(map(str.isdigit, read)) / count,
        sum(map(str.isalpha, read)) / count,
    )
