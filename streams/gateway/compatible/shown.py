"""The results, answers and texts of a search in the forms of other services. Pure.

Most of the programs that ask hand the texts to a language model, and none of these forms can say that a publisher does
not want it. So a page that is kept from models has an address and a title here, and no text. Nor can they say that
results are only the nearest by meaning: these are left out.
"""

from dataclasses import dataclass

from streams.answers.choosing import FoundAnswer
from streams.gateway.http.presentation import surround
from streams.gateway.search.answer_model import Result, SearchAnswer


@dataclass(frozen=True, slots=True)
class ShownAnswer:
    """An answer above the results, with the page that says it; empty for a calculation."""

    text: str
    url: str = ""


def results_of(answer: SearchAnswer) -> tuple[Result, ...]:
    """Return the results that were found, without those that are only the nearest ones."""
    return tuple(each for each in answer.results if not each.nearest)


def text_of(result: Result) -> str:
    """Return the statements of a result, each behind the sentences that it needs to be understood."""
    if result.kept_from_models:
        return ""
    parts, known = [], set[str]()
    for statement in result.statements:
        _, before = surround(statement.text, statement.kind, statement.context)
        lines = [line for line in (*before, statement.text) if line not in known | {"", "…"}]
        known.update(lines)
        parts.append(" ".join(lines))
    return " … ".join(filter(None, parts))


def answers_of(answer: SearchAnswer) -> list[ShownAnswer]:
    """Return the answer that follows from the query, or the statements that answer it and that models may have."""
    allowed = {result.url for result in results_of(answer) if not result.kept_from_models}
    if answer.quick and (not answer.quick.url or answer.quick.url in allowed):
        return [ShownAnswer(answer.quick.answer, answer.quick.url or "")]
    found = (answer.beside or {}).get("answer")
    if not isinstance(found, FoundAnswer):
        return []
    return [ShownAnswer(each.text, each.url) for each in found.answers if each.url in allowed]
