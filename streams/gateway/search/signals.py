"""The signals of a result in words: why it is where it is. Pure."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from streams.gateway.http.presentation import format_date
from streams.gateway.search.answer_model import Signal
from streams.search.ranking.signals import SIGNALS

MIN_SHARE = 0.01
"""Minimum share of a page's score that is described."""
MAX_WORDS = 5
"""Maximum words of the query that are named."""
SAYS = {one.name: one.says for one in SIGNALS}
_AMOUNTS = ((0.5, "mostly"), (0.15, "partly"), (0.0, "a little"))


@dataclass(frozen=True, slots=True)
class SignalFacts:
    """The facts about a result that its signals speak of."""

    host: str = ""
    published: str = ""
    """An ISO date; empty if it is not known."""
    words: Sequence[str] = ()
    """The words of the query that are in the statements shown."""


def describe_signals(parts: Mapping[str, float], facts: SignalFacts) -> tuple[Signal, ...]:
    """Return what each signal gave the page, in words, the largest share first."""
    gains = {name: gain for name, gain in parts.items() if gain > 0}
    total = sum(gains.values())
    shares = sorted(((gain / total, name) for name, gain in gains.items()), key=lambda each: (-each[0], each[1]))
    described = [
        Signal(name=name, share=round(share, 3), amount=_amount(share), says=_sentence(SAYS.get(name, name), facts))
        for share, name in shares
        if share >= MIN_SHARE
    ]
    described += [
        Signal(name=one.name, share=0.0, amount="less", says=_sentence(one.lowers, facts))
        for one in SIGNALS
        if one.lowers and parts.get(one.name, 0) < 0
    ]
    return tuple(described)


def _amount(share: float) -> str:
    return next(words for least, words in _AMOUNTS if share >= least)


def _sentence(says: str, facts: SignalFacts) -> str:
    site, words = facts.host or "this site", _named(facts.words)
    return says.replace("{site}", site).replace("{words}", words).replace("{date}", _dated(facts.published))


def _dated(published: str) -> str:
    if published:
        return f"it was published {_in_or_on(published)} {format_date(published)}"
    return "its date is not known, so the day of the fetch that brought its text counts"


def _named(words: Sequence[str]) -> str:
    return ": " + ", ".join(f"“{word}”" for word in words[:MAX_WORDS]) if words else ", or other forms of them"


def _in_or_on(date: str) -> str:
    return "on" if len(date) == 10 else "in"
