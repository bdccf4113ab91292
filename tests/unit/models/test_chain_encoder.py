"""The chain model: its windows, its links, and the quality of the shipped file."""

from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tokenizers import Tokenizer

from benchmarks.evaluation.chains import chains_of, measure_quality, read_documents
from streams.errors import UsageError
from streams.models.inference.antecedents import links_by_rule
from streams.models.inference.chain_encoder import ChainEncoder, ChainReader, chain_model
from streams.models.inference.chain_windows import (
    HISTORY_TOKENS,
    MAX_SENTENCE_TOKENS,
    PART_SENTENCES,
    WINDOW_TOKENS,
    parts,
    windows,
)
from streams.models.inference.link_columns import MAX_ANTECEDENTS, from_columns, to_columns
from streams.models.inference.repository import CHAIN_MODEL, parameters_of, read_config
from streams.models.protocols import Link, shift_link
from streams.settings import Settings

FOLDER = Settings().models_path / "local" / CHAIN_MODEL
LABELLED = Path(__file__).parents[4] / "shared" / "data" / "chains" / "dev.jsonl"
CLS, SEP = 101, 102


@given(st.lists(st.integers(0, 2 * MAX_SENTENCE_TOKENS), max_size=60))
def test_every_sentence_is_scored_once_in_a_window_with_its_history(lengths: list[int]) -> None:
    sentences = [[7] * length for length in lengths]
    read = [min(length, MAX_SENTENCE_TOKENS - 1) + 1 for length in lengths]
    scored: list[int] = []
    for part in windows(sentences, CLS, SEP):
        scored += range(part.scored, part.end)
        assert len(part.ids) == len(part.sentence_of) == 1 + sum(read[part.first : part.end]) <= WINDOW_TOKENS
        assert part.first == 0 or sum(read[part.first : part.scored]) >= HISTORY_TOKENS
        assert (part.membership.sum(1) == read[part.first : part.end]).all()
    assert scored == list(range(len(lengths)))


def test_a_page_is_asked_for_in_parts_of_whole_sections() -> None:
    sentences = (["A dog came."] * 100 + [""]) * 3 + ["It barked."]
    spans = list(parts(sentences))
    assert spans == [(0, 201), (201, 304)]
    assert all(end - start >= PART_SENTENCES for start, end in spans[:-1])
    assert not list(parts(["", " "]))


@given(
    st.lists(
        st.builds(
            Link,
            st.lists(st.integers(0, 500), max_size=MAX_ANTECEDENTS).map(tuple),
            st.integers(-1, 500),
            st.floats(0, 1, width=32),
            st.floats(0, 1, width=32),
        )
    ),
    st.integers(0, 1_000),
)
def test_links_survive_their_tensors(links: list[Link], start: int) -> None:
    assert from_columns(to_columns(links), start) == [shift_link(link, start) for link in links]


@pytest.fixture(scope="module")
def encoder() -> ChainEncoder:
    return ChainEncoder(parameters_of(read_config(FOLDER)), FOLDER / "1")


STORY = [
    "SQLite is a small database engine.",
    "It is used in every phone.",
    "",
    "D. Richard Hipp wrote the first version in 2000.",
    "He still maintains it.",
]


def test_the_model_finds_what_a_pronoun_refers_to_within_its_section(encoder: ChainEncoder) -> None:
    links = encoder.links(STORY)
    assert [link.antecedents for link in links] == [(), (0,), (), (), (3,)]
    assert links[4].need > 0.5 > links[3].need
    assert links[0].leaf > 0.5 > links[4].leaf


def test_a_conclusion_needs_the_sentence_before_it(encoder: ChainEncoder) -> None:
    sentences = ["The file is written twice.", "Therefore, the disk needs more space."]
    assert encoder.links(sentences)[1].antecedents == (0,)
    assert encoder.links(sentences[1:])[0].antecedents == (), "where there is one"


def test_a_link_does_not_depend_on_other_sections(encoder: ChainEncoder) -> None:
    """So a redelivery, or a page that is asked for in parts, has the same links."""
    alone = encoder.links(STORY[3:])
    assert encoder.links(STORY)[3:] == [shift_link(link, 3) for link in alone]
    assert encoder.links(STORY) == encoder.links(STORY)


@pytest.mark.parametrize(
    ("sentences", "windows_read"),
    [
        (STORY, 2),
        (STORY[:1], 0),
        ([*STORY[:1], "", *STORY[3:4]], 0),
        (["SQLite is small.", "Phones use SQLite."], 0),
        (["SQLite is small.", "As a result, phones use SQLite."], 1),
        # By itself in its section it can have no antecedent, but the question whether it is a leaf is still asked.
        (["It is small."], 1),
        # Three windows, and only the sentences of the last one refer to something.
        ([*["The file is written to the disk by the engine. " * 7] * 10, "It is small."], 1),
        # The network only knows English, and finds no need in other languages.
        (["数据库很小。", "它很快。"], 0),
        (["Die Datenbank ist klein.", "Diese ist schnell."], 0),
    ],
)
def test_a_window_is_read_only_if_a_sentence_of_it_can_refer_to_another(
    encoder: ChainEncoder, monkeypatch: pytest.MonkeyPatch, sentences: list[str], windows_read: int
) -> None:
    network, read = encoder._model, []

    def counted(inputs: dict[str, Any]) -> Any:
        read.append(len(inputs["input_ids"]))
        return network(inputs)

    monkeypatch.setattr(encoder, "_model", counted)
    links = encoder.links(sentences)
    assert len(read) == windows_read
    if not windows_read:
        assert links == [Link(need=0.0, leaf=1.0)] * len(sentences)


@pytest.mark.parametrize(("multilingual", "count"), [("false", 0), ("true", 1)])
def test_a_multilingual_model_reads_windows_without_english_words(multilingual: str, count: int) -> None:
    parameters = parameters_of(read_config(FOLDER)) | {"multilingual": multilingual}
    reader = ChainReader(parameters, Tokenizer.from_file(str(FOLDER / "1" / "tokenizer.json")))
    assert len(list(reader.passes(["Die Datenbank ist klein.", "Diese ist schnell."]))) == count


def test_windows_that_are_not_read_change_no_link(encoder: ChainEncoder, monkeypatch: pytest.MonkeyPatch) -> None:
    sentences = [
        "The hot pool is in the harbour.",
        "Swimmers pay at the door.",
        "",
        "The museum was built in 1901.",
        "It has two floors.",
        "Tickets are sold in the shop.",
        "",
        "The library lends maps.",
    ]
    links = encoder.links(sentences)
    monkeypatch.setattr("streams.models.inference.chain_encoder.may_refer", lambda sentence: True)
    everything = encoder.links(sentences)
    assert [link.antecedents for link in links] == [link.antecedents for link in everything]
    assert [link.antecedents for link in links] == [()] * 4 + [(3,)] + [()] * 3


@pytest.mark.parametrize(
    "sentences",
    [
        [],
        [""],
        ["\ud800", "It is \ud800."],
        ["数据库很小。", "它很快。"],
        ["word " * 5_000, "It is long. " * 500],
        ["\x00\u202e", "It \x00 is."],
        [f"It is sentence number {n}." for n in range(60)],
    ],
)
def test_any_text_has_links_to_earlier_sentences(encoder: ChainEncoder, sentences: list[str]) -> None:
    links = encoder.links(sentences)
    assert len(links) == len(sentences)
    for index, link in enumerate(links):
        assert all(0 <= at < index for at in link.antecedents)
        assert link.followed in {-1, *link.antecedents[:1]}


def test_without_a_configured_model_the_rules_answer() -> None:
    links_of = chain_model({"model_name": "rules"}, FOLDER / "1")
    assert links_of(STORY) == links_by_rule(STORY)


def test_a_configured_model_without_its_file_is_an_error(tmp_path: Path) -> None:
    parameters = parameters_of(read_config(FOLDER)) | {"model_sources": "path:missing.onnx"}
    with pytest.raises(UsageError, match=r"missing\.onnx"):
        chain_model(parameters, tmp_path)


@pytest.mark.night
def test_the_shipped_model_reaches_its_quality(encoder: ChainEncoder) -> None:
    if not LABELLED.is_file():
        pytest.skip("the labelled sentences of ../shared/data/chains are not here")
    made = []
    for document in read_documents(LABELLED).values():
        texts = [sentence.text for sentence in document]
        made.append((document, chains_of(encoder.links(texts), texts)))
    found = measure_quality(made)
    assert found.contained >= 0.82
    assert found.added <= 0.12
