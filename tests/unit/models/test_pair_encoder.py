"""The pair of encoders: what the first one reads, and what the vectors of both together say."""

import shutil
from pathlib import Path

import numpy as np
import pytest
from tokenizers import Tokenizer

from streams.errors import UsageError
from streams.models.inference.encoder import SentenceEncoder
from streams.models.inference.pair_encoder import PairEncoder, check_model_files, open_encoder
from streams.models.inference.pair_tokens import PairTokens, is_for_first, known_share
from streams.models.inference.repository import parameters_of, read_config
from streams.models.inference.runtimes import resolve_runtime
from streams.models.inference.tokenizing import PaddedTokenizer
from streams.settings import Settings

LOCAL = Settings().models_path / "local"
OWN = 384
"""Dimensions of each encoder."""


@pytest.fixture(scope="module")
def pair() -> PairEncoder:
    parameters = resolve_runtime(parameters_of(read_config(LOCAL / "sbert_e5")))
    check_model_files(parameters, LOCAL / "sbert_e5" / "1")
    opened = open_encoder(parameters, LOCAL / "sbert_e5" / "1")
    assert isinstance(opened, PairEncoder)
    return opened


READ_BY_BOTH = [
    # text, whether the first (English) encoder reads it
    ("How do I undo the last commit?", True),
    ("vacuum", True),
    ("A thermometer was read wrongly.\nSuppose you discover that the readings were off by two degrees.", True),
    ("SELECT count(*) FROM pages WHERE generation < 7;", True),
    ("Wie mache ich den letzten Commit rückgängig?", False),
    ("¿Cómo deshago la última confirmación de cambios?", False),
    ("Comment annuler la dernière validation enregistrée ?", False),
    ("La défense des Panthers n'a encaissé que 308 points.", False),  # mostly words of the English vocabulary
    ("Lá cây có màu xanh vì chất diệp lục.", False),
    ("The U.S. Open in Rio de Janeiro", True),
    ("Ctenophora\nThe Ediacaran Eoandromeda could putatively represent a comb jelly.", True),  # few known words
    ("Politics: U.N. Secretary General Ban Ki-moon; American leaders John Hancock and Quincy Adams", True),
    ("Wen schlugen die Panthers in der Divisional Round des Jahres?", False),
    ("Как отменить последний коммит?", False),
    ("如何撤销最后一次提交", False),
    ("最後のコミットを取り消すには", False),
    ("كيف أتراجع عن آخر إيداع؟", False),
    ("12345 -- 67", False),
    ("", False),
]


@pytest.mark.parametrize(("text", "is_read"), READ_BY_BOTH)
def test_the_first_encoder_reads_its_language_and_the_second_one_each_text(
    pair: PairEncoder, text: str, is_read: bool
) -> None:
    [vector] = pair.embed([f"passage: {text}"])
    tokens = pair._first.encode([text])[0]
    share = known_share(tokens)
    assert bool(vector[:OWN].any()) == is_read == is_for_first(text, tokens), f"{share:.2f} of letters in known words"
    assert vector[OWN:].any()
    assert np.linalg.norm(vector) == pytest.approx(1, abs=1e-5)


def test_a_cosine_is_the_mean_of_both_encoders_cosines(pair: PairEncoder) -> None:
    query, passage = "query: Who holds a lock?", "passage: A writer holds the lock until it commits."
    plain = [query.removeprefix("query: "), passage.removeprefix("passage: ")]
    first = pair._first.embed(plain)
    second = pair._second.embed([query, passage])
    asked, found = pair.embed([query, passage])
    assert asked @ found == pytest.approx((first[0] @ first[1] + second[0] @ second[1]) / 2, abs=1e-5)


def test_a_question_finds_the_passage_in_another_language(pair: PairEncoder) -> None:
    question, right, wrong = pair.embed(
        [
            "query: How do I undo a commit?",
            "passage: Wie man einen Commit rückgängig macht",
            "passage: Wie man einen Drucker einrichtet",
        ]
    )
    assert question @ right > question @ wrong + 0.1


def test_a_vector_does_not_depend_on_what_it_is_batched_with(pair: PairEncoder) -> None:
    """But for the last digit: processors without VNNI add in another order."""
    texts = [f"passage: {text}" for text, _ in READ_BY_BOTH]
    together = pair.embed(texts)
    assert np.allclose(together, np.concatenate([pair.embed([text]) for text in texts]), rtol=0, atol=1e-6)


def test_a_model_that_is_no_pair_is_opened_alone() -> None:
    parameters = resolve_runtime(parameters_of(read_config(LOCAL / "sbert")))
    assert isinstance(open_encoder(parameters, LOCAL / "sbert" / "1"), SentenceEncoder)


def test_both_models_of_a_pair_belong_into_its_repository(tmp_path: Path) -> None:
    folder = Path(shutil.copytree(LOCAL / "sbert_e5", tmp_path / "local" / "sbert_e5"))
    with pytest.raises(UsageError, match=r"sbert_e5 is a pair of the models sbert and e5, which belong into the same"):
        check_model_files(parameters_of(read_config(folder)), folder / "1")


def test_a_graph_is_given_the_tokens_that_both_encoders_read(pair: PairEncoder) -> None:
    prefixes = ("query: ", "passage: ")
    first, second = (
        PaddedTokenizer(Tokenizer.from_str(encoder._tokenizer.to_str()), max_tokens=most, pad_to=8, prefixes=own)
        for encoder, most, own in ((pair._first, 256, ()), (pair._second, 512, prefixes))
    )
    texts = [f"passage: {text}" for text, _ in READ_BY_BOTH]
    (ids, mask), (first_ids, first_mask) = PairTokens(first, second, prefixes).encode(texts)
    assert ids.shape == mask.shape == first_ids.shape == first_mask.shape
    assert ids.shape[1] % 8 == 0
    for row, (text, is_read) in enumerate(READ_BY_BOTH):
        assert ids[row, mask[row] == 1].tolist() == pair._second.encode([texts[row]])[0].ids
        expected = pair._first.encode([text])[0].ids if is_read else [0]
        assert first_ids[row, first_mask[row] == 1].tolist() == expected
        assert not first_ids[row, first_mask[row] == 0].any()
    (ids, _), (first_ids, _) = PairTokens(first, second, prefixes).encode([texts[4] * 5])
    assert first_ids.shape == (1, 8) < ids.shape, "no text is for the first encoder"
