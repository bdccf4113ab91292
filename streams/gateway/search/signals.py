"""The signals of a result in words: why it is where it is. Pure."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from streams.gateway.search.answer_model import Signal
from streams.language.months import date_words
from streams.plain_text import DateText, message
from streams.search.ranking.signals import SIGNALS

MIN_SHARE = 0.01
"""Minimum share of a page's score that is described."""
MAX_WORDS = 5
"""Maximum words of the query that are named."""
SAYS = {one.name: one.says for one in SIGNALS}
_THIS_SITE = message("this site")
_AMOUNTS = ((0.5, message("mostly")), (0.15, message("partly")), (0.0, message("a little")))


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
        Signal(
            name=name, share=round(share, 3), amount=_amount(share), says=_sentence(name, SAYS.get(name, name), facts)
        )
        for share, name in shares
        if share >= MIN_SHARE
    ]
    described += [
        Signal(name=one.name, share=0.0, amount=message("less"), says=_sentence(one.name, one.lowers, facts))
        for one in SIGNALS
        if one.lowers and parts.get(one.name, 0) < 0
    ]
    return tuple(described)


def _amount(share: float) -> str:
    return next(words for least, words in _AMOUNTS if share >= least)


def _sentence(name: str, says: str, facts: SignalFacts) -> str:
    match name:
        case "words" if not facts.words:
            return message("it has words of your query, or other forms of them")
        case "freshness" if not facts.published:
            return message(
                "newer pages gain: its date is not known, so the day of the fetch that brought its text counts"
            )
        case "freshness" if len(facts.published) < 10:
            says = message("newer pages gain: it was published in %(date)s")
    words = ", ".join(f"“{word}”" for word in facts.words[:MAX_WORDS])
    return message(says, site=facts.host or _THIS_SITE, words=words, date=_dated(facts.published))


def _dated(published: str) -> str:
    return DateText(date_words(*map(int, published.split("-"))), published) if published else ""
