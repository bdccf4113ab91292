"""The answer by a model as HTML that leaves in parts: a head at once, each sentence when it is there, and an end.

No script is needed. All text is escaped by the templates, and the only links are to the statements.
"""

from collections.abc import AsyncIterator, Sequence
from contextlib import aclosing
from typing import Any

from starlette.requests import Request

from streams.answers.evidence import Evidence
from streams.answers.support.checked_sentences import CheckedSentence
from streams.answers.writer import Outcome
from streams.gateway.access.clients import address_of
from streams.gateway.answers.service import ModelAnswers, RunningAnswer
from streams.gateway.http.templates import Views
from streams.search.searcher import Found

WORDS = {
    "unknown": "It does not know: no statement of the results answers this, as far as the check can tell.",
    "unavailable": "The language model does not answer at the moment.",
    "late": "The language model took too long.",
    "cut": "The language model's text was cut off before its end.",
    "nothing": "The model got no statement: nothing was found, or the publishers do not allow it.",
    "person": "You have had as many answers as one person gets. Ask again later; the results are not limited.",
    "installation": "This search engine has given as many answers in this hour as it may. The results are not limited.",
}
"""The reasons why there is no answer, for people."""


def reason_of(outcome: Outcome) -> str:
    """Return why there is no answer, or why it may be incomplete; empty if neither is so."""
    if outcome.status == "answered" and outcome.lacks:
        return f"The answer may be incomplete. {WORDS[outcome.lacks]}"
    return WORDS.get(outcome.refusal or outcome.status, "")


class AnswerSection:
    """The renderer of answers on the pages."""

    def __init__(self, answers: ModelAnswers, views: Views, proxies: Sequence[str] = ()) -> None:
        """`proxies`: the addresses whose `X-Forwarded-For` is believed."""
        self._answers, self._views, self._proxies = answers, views, proxies
        self.wants = answers.wants

    async def stream(self, request: Request, question: str, found: Found) -> AsyncIterator[str]:
        """Yield the answer to a question below the results of its search, with the way to go on.

        Where the results are only the nearest by meaning, the page says that nothing was found, and no answer follows.
        """
        if found.notes.nearest_only:
            return
        person = address_of(request, self._proxies)
        running = self._answers.answer(question, found, person)
        async for part in self.render(request, running, turns=[question]):
            yield part
        if running.outcome.status == "answered":
            related = await self._answers.related(question, running.evidence, person, Outcome(), running.outcome)
            if related:
                yield self._views.render("_model_related.html", request, related=related)

    async def render(
        self, request: Request, running: RunningAnswer, *, turns: list[str], heading: str = "Answer"
    ) -> AsyncIterator[str]:
        """Yield the parts of one answer. `turns` are the questions so far, for the next one."""
        shown: list[Evidence] = []
        yield self._views.render("_model_head.html", request, heading=heading)
        async with aclosing(running.sentences) as sentences:  # type: ignore[type-var]  # generators can be closed
            async for sentence in sentences:
                yield self._views.render("_model_sentence.html", request, **_values(sentence, shown))
        values = {"reason": reason_of(running.outcome), "shown": shown, "outcome": running.outcome, "turns": turns}
        yield self._views.render("_model_end.html", request, **values)


def _values(sentence: CheckedSentence, shown: list[Evidence]) -> dict[str, Any]:
    """Return the values of a sentence, and number its statement if it is a new one."""
    if sentence.evidence not in shown:
        shown.append(sentence.evidence)
    return {"text": sentence.text, "evidence": sentence.evidence, "number": shown.index(sentence.evidence) + 1}
