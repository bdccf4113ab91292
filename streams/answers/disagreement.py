"""Pages that answer a question with different values. Pure.

Only questions that ask for a time or a number have values that can be compared exactly: `1.2 million` of one page and
`1.4 million` of another one are shown side by side, and nobody decides for the reader.
"""

from collections.abc import Sequence
from decimal import Decimal

from streams.answers.confidence import Judged
from streams.answers.support.quantities import quantities_of
from streams.pages.text.tokens import words
from streams.search.ranking.answer_form import form_of, has_form

MAX_BEHIND = 2.0
"""Maximum distance of a statement's value below the best one's (logit) at which it is an answer, too."""
MAX_ANSWERS = 3
COMPARED_FORMS = ("time", "number")

Values = frozenset[tuple[Decimal, str]]


def side_by_side(question: str, judged: Sequence[Judged]) -> tuple[list[Judged], int]:
    """Return the best statement, statements of other hosts with other values, and the number of equal ones."""
    best = judged[0]
    form, asked = form_of(question), frozenset(words(question))
    own = _values(best, question)
    if form not in COMPARED_FORMS or not own:
        return [best], 0
    shown, hosts, agreeing = [(best, own)], {best.evidence.host}, 0
    for each in judged[1:]:
        is_near = each.value >= best.value - MAX_BEHIND and each.evidence.host not in hosts
        if not is_near or not has_form(each.evidence.text, form, asked):
            continue
        values = _values(each, question)
        if not values:
            continue
        hosts.add(each.evidence.host)
        if any(values & known for _, known in shown):
            agreeing += 1
        elif len(shown) < MAX_ANSWERS:
            shown.append((each, values))
    return [each for each, _ in shown], agreeing


def _values(judged: Judged, question: str) -> Values:
    """Return the quantities of a statement that the question doesn't have."""
    asked = {each.value for each in quantities_of(question)}
    return frozenset(each.key for each in quantities_of(judged.evidence.text) if each.value not in asked)
