"""The signals of a result in words: why it is where it is. Pure."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from streams.gateway.http.presentation import format_date
from streams.gateway.search.answer_model import Signal

MIN_SHARE = 0.01
"""Minimum share of a page's score that is described."""
MAX_WORDS = 5
"""Maximum words of the query that are named."""
_FORMS = {
    "time": "it states a time, as your question asks",
    "number": "it states a number, as your question asks",
    "person": "it names a person, as your question asks",
    "place": "it names a place, as your question asks",
    "definition": "it defines what your question is about",
}
_AMOUNTS = ((0.5, "mostly"), (0.15, "partly"), (0.0, "a little"))


@dataclass(frozen=True, slots=True)
class SignalFacts:
    """The facts about a result that its signals speak of."""

    host: str = ""
    published: str = ""
    """An ISO date; empty if it is not known."""
    words: Sequence[str] = ()
    """The words of the query that are in the statements shown."""
    form: str = ""
    """The form of answer that the query asks for."""


def describe_signals(parts: Mapping[str, float], facts: SignalFacts) -> tuple[Signal, ...]:
    """Return what each signal gave the page, in words, the largest share first."""
    gains = {name: gain for name, gain in parts.items() if gain > 0}
    total = sum(gains.values())
    shares = sorted(((gain / total, name) for name, gain in gains.items()), key=lambda each: (-each[0], each[1]))
    described = [
        Signal(name=name, share=round(share, 3), amount=_amount(share), says=_sentence(name, facts))
        for share, name in shares
        if share >= MIN_SHARE
    ]
    lowered = {
        "preference": f"your preferences lower {facts.host or 'this site'}",
        "clicks": "people who asked this opened it less often than others",
        "quality": "its text looks as if it was made for search engines",
    }
    described += [
        Signal(name=name, share=0.0, amount="less", says=says)
        for name, says in lowered.items()
        if parts.get(name, 0) < 0
    ]
    return tuple(described)


def _amount(share: float) -> str:
    return next(words for least, words in _AMOUNTS if share >= least)


def _sentence(name: str, facts: SignalFacts) -> str:
    if name == "words":
        return f"it has words of your query{_named(facts.words)}"
    if name == "freshness":
        if facts.published:
            return f"newer pages gain: it was published {_in_or_on(facts.published)} {format_date(facts.published)}"
        return "newer pages gain: its date is not known, so the day of the fetch that brought its text counts"
    return {
        "meaning": "its meaning is near the meaning of your query",
        "coverage": "it has many of your words together",
        "address": "your query is its address",
        "title": "its title has the words of your query, and no others",
        "site": f"your query is the name of {facts.host or 'this site'}, and this is its first page",
        "rerank": "a language model that read your query and this page together found that they fit",
        "answer_form": _FORMS.get(facts.form, "it has the form of an answer to your question"),
        "preference": f"your preferences raise {facts.host or 'this site'}",
        "clicks": "people who asked this opened it more often than its place explains",
        "wish": "it is as your query wishes (`prefer:`)",
        "authority": f"pages of other sites link to {facts.host or 'this site'}",
    }.get(name, name.replace("_", " "))


def _named(words: Sequence[str]) -> str:
    return ": " + ", ".join(f"“{word}”" for word in words[:MAX_WORDS]) if words else ", or other forms of them"


def _in_or_on(date: str) -> str:
    return "on" if len(date) == 10 else "in"
