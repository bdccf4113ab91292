"""Pages that answer a question with different values. Pure.

Only questions that ask for a time or a number have values that can be compared (`stated_values`): `1.2 million` of one
page and `1.4 million` of another one are shown side by side, and nobody decides for the reader.
"""

from collections.abc import Sequence

from streams.answers.confidence import Judged
from streams.answers.stated_values import is_same, stated_in
from streams.pages.text.tokens import words
from streams.search.ranking.answer_form import form_of, has_form

MAX_BEHIND = 2.0
"""Maximum distance of a statement's value below the best one's (logit) at which it is an answer, too."""
MAX_ANSWERS = 3
COMPARED_FORMS = ("time", "number")


def side_by_side(question: str, judged: Sequence[Judged]) -> tuple[list[Judged], int]:
    """Return the best statement, statements of other hosts with other values, and the number of equal ones."""
    best = judged[0]
    form, asked = form_of(question), frozenset(words(question))
    own = stated_in(best.evidence.text, question)
    if form not in COMPARED_FORMS or not own:
        return [best], 0
    shown, hosts, agreeing = [(best, own)], {best.evidence.host}, 0
    for each in judged[1:]:
        is_near = each.value >= best.value - MAX_BEHIND and each.evidence.host not in hosts
        if not is_near or not has_form(each.evidence.text, form, asked):
            continue
        values = stated_in(each.evidence.text, question)
        compared = [is_same(known, values, form) for _, known in shown]
        if all(same is None for same in compared):
            continue  # values of another kind say nothing about these
        hosts.add(each.evidence.host)
        if True in compared:
            agreeing += 1
        elif len(shown) < MAX_ANSWERS:
            shown.append((each, values))
    return [each for each, _ in shown], agreeing
