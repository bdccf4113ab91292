"""The choice of the chain model's threshold: what a higher threshold leaves, and the genres that are left out."""

from benchmarks.evaluation.chains import LabelledSentence
from benchmarks.evaluation.threshold_choice import (
    GRID,
    MAX_ADDED,
    choose_threshold,
    genre_of,
    leave_genres_out,
    links_at,
    measure_at,
)
from streams.models.protocols import Link


def document(need: float, noise: float) -> tuple[list[LabelledSentence], list[Link]]:
    """A document with one sentence that needs the first one, and eight that need nothing."""
    texts = ["A dog came.", "It barked.", *(f"Sentence {number} is plain." for number in range(8))]
    sentences = [
        LabelledSentence(text, number == 1, frozenset([0]) if number == 1 else frozenset(), 0 if number == 1 else -1)
        for number, text in enumerate(texts)
    ]
    links = [Link(), Link((0,), 0, need=need), *(Link((1,), 1, need=noise) for _ in range(8))]
    return sentences, links


def test_a_higher_threshold_leaves_out_links_but_not_those_of_conclusions() -> None:
    links = [Link(), Link((0,), 0, need=0.4), Link((0,), 0, need=0.1), Link((0,), 0, need=0.1)]
    texts = ["One.", "It is two.", "It is three.", "Therefore it is four."]
    found = links_at(links, texts, 0.3)
    assert [link.antecedents for link in found] == [(), (0,), (), (2,)]
    assert [link.need for link in found] == [link.need for link in links]
    assert links_at(links, texts, GRID[0])[2] == links[2]


def test_the_chosen_threshold_adds_few_chains_and_keeps_the_needed_ones() -> None:
    answered = [document(need=0.5, noise=0.2)]
    threshold = choose_threshold(answered)
    assert 0.2 < threshold <= 0.5
    assert measure_at(answered, threshold).added <= MAX_ADDED
    assert measure_at(answered, GRID[0]).added > MAX_ADDED


def test_a_genre_is_measured_by_the_choice_of_the_others() -> None:
    documents = {
        "GUM_news_one": document(need=0.5, noise=0.2),
        "GUM_news_two": document(need=0.5, noise=0.2),
        "GUM_bio_one": document(need=0.1, noise=0.05),
    }
    choice = leave_genres_out(documents)
    assert choice.thresholds["bio"] == choose_threshold([documents["GUM_news_one"], documents["GUM_news_two"]])
    assert choice.thresholds["news"] == choose_threshold([documents["GUM_bio_one"]])
    assert choice.quality.contained < 1.0, "the threshold of the news is too high for the other genre"


def test_the_genre_is_the_second_part_of_a_name() -> None:
    assert (genre_of("GUM_news_homeless"), genre_of("letter"), genre_of("my_letter")) == ("news", "letter", "my_letter")
