"""The choice whether the statements found answer a question, and with which of them; the answer as it is shown."""

import re
from collections.abc import Sequence
from uuid import UUID

from pydantic import BaseModel, ConfigDict, Field

from streams.answers.answer_form import form_of, has_form, is_question
from streams.answers.confidence import Judged, Parameters, confidence_of, judge_statements
from streams.answers.disagreement import side_by_side
from streams.answers.evidence import Evidence
from streams.language.function_words import is_function_word, shown_language
from streams.language.questions import DEFINING_VERBS, FIRST_WORDS, counted_noun, kind_of_value
from streams.pages.text.language import identify
from streams.pages.text.tokens import words
from streams.plain_text import clean_line, clean_text
from streams.search.query_language.matching import fold, identifiers
from streams.statements.sentences.open_texts import beginning_of
from streams.statements.sentences.reading_alone import reads_alone
from streams.stores.statement_payload import NO_PLACE, Place
from streams.vectors.bm25 import query_words, statement_terms
from streams.vectors.stemming import terms

MIN_CONFIDENCE = 0.6
"""Minimum confidence of an answer that is shown (docs/decisions/0078)."""
MAX_CHARS = 420
"""Maximum characters of an answer: a longer one is for reading, not an answer."""


class _Model(BaseModel):
    model_config = ConfigDict(frozen=True)


class Surroundings(_Model):
    """A table or a list as it stands in its page, or the part of it around the answer."""

    header: tuple[str, ...] = Field((), description="The headings of a table's columns; empty for a list.")
    rows: tuple[tuple[str, ...], ...] = Field(
        description="The cells of each row. A row of a list has one, or a term and its definition."
    )
    place: int = Field(description="The row with the answer, from 0.")
    before: int = Field(0, description="Rows that are left out before the first one.")
    after: int = Field(0, description="Rows that are left out behind the last one.")


class QuotedAnswer(_Model):
    """A statement that answers the question, word for word."""

    statement_id: UUID
    text: str = Field(description="Plain text, never HTML: escape it before you show it.")
    context: tuple[str, ...] = Field((), description="The headings and lead-ins above it, widest first.")
    kind: str = Field("", description="What the statement was made from: sentence, item, link, row or code.")
    url: str
    title: str
    host: str
    language: str = ""
    published: str | None = Field(None, description="The date that the page states (ISO 8601).")
    read_on: str | None = Field(None, description="The day on which Riffle read the page (ISO 8601).")
    surroundings: Surroundings | None = Field(None, description="The table or list that the statement stands in.")
    place: Place = Field(NO_PLACE, exclude=True)


class FoundAnswer(_Model):
    """Statements of the results that probably answer the question. Nothing is written by a model."""

    confidence: float = Field(
        description="The calibrated probability that the first statement answers the question, from 0 to 1."
    )
    disagree: bool = Field(False, description="The statements differ: they are answers of several pages side by side.")
    answers: tuple[QuotedAnswer, ...] = Field(description="One, or one of each page that says something else.")
    also: int = Field(0, description="Further results of other hosts that state the same number, date or name.")


def asks(question: str) -> bool:
    """Return True for a query that asks something: other queries look for pages."""
    return is_question(question) or bool(form_of(question))


def choose_answer(question: str, evidence: Sequence[Evidence], parameters: Parameters) -> FoundAnswer | None:
    """Return the answer to a question, or None if no statement answers it with enough confidence."""
    if not asks(question):
        return None
    confidence, judged = judge_answers(question, evidence, parameters)
    if confidence < MIN_CONFIDENCE or not has_what_is_asked(question, judged[0].evidence):
        return None
    chosen, also = side_by_side(question, judged)
    return FoundAnswer(
        confidence=round(confidence, 3),
        disagree=len(chosen) > 1,
        answers=tuple(_quote(each) for each in chosen),
        also=also,
    )


def has_what_is_asked(question: str, evidence: Evidence) -> bool:
    """Return whether a statement has a value of the kind that is asked for, or defines what is asked for.

    A question that asks for neither has no quoted answer: whether a statement answers `why` or `how`, or `could`, shows
    in no form. The other words of the question are all in the statement or around it.
    """
    asked = words(question)
    may_name = asked[:1] and (asked[0] in _NAMING or asked[0] not in FIRST_WORDS)
    value = kind_of_value(asked) if may_name else ""
    form, text, known = value or form_of(question), evidence.text, frozenset(asked)
    language = shown_language(asked, identify(question).language)
    # In `how many` and `what port`, the second word says only what is asked for.
    named = asked[2:] if asked[:1] == ["how"] else [word for word in asked if not value or not kind_of_value([word])]
    subject = [word for word in named if not is_function_word(word, language)]
    if not form or not _has_all(subject, evidence):
        return False
    match form:
        case "definition" if asked[0] == "who":
            return has_form(text, "person", known)
        case "definition":
            acts = asked[-1] if asked[1:2] in (["does"], ["do"]) else ""
            may_define = evidence.kind != "code" and (not acts or acts in _ACTS)
            return may_define and _defines(text, [word for word in subject if word != acts])
        case "command":
            return evidence.kind == "code" or _COMMAND.search(text) is not None
        case "value":
            return has_form(text, "number", known) or any(fold(name) not in known for name in identifiers(text))
        case "number" if counted := counted_noun(asked):
            return _counts(text, counted, known, is_row=evidence.kind == "row")
        case "number" if value:
            return any(not known.issuperset(words(number)) for number in _DIGITS.findall(text))
    return has_form(text, form, known)


_NAMING, _ACTS = frozenset({"what", "which"}), frozenset({"do", "mean"})
_COMMAND = re.compile(r"(?<![\w.-])[a-z][\w.-]*+(?: --?[A-Za-z]|\([1-9]\))|(?<!`)`[^`]++`")
"""A name with an option, a name with the section of its manual, or a text in backticks."""
_DIGITS = re.compile(r"(?<![\w.])\d[\d.,]{0,20}+")
_MAX_BEFORE = 3
"""Maximum words between a number and the noun that it counts."""
_MAX_BESIDE = 4
"""Maximum words beside the subject before the verb of a definition."""


def _has_all(subject: Sequence[str], evidence: Evidence) -> bool:
    has = statement_terms((evidence.text, evidence.title, *evidence.context), evidence.language)
    return all(not has.isdisjoint(forms) for word in subject for forms in query_words(word, "en"))


def _counts(text: str, noun: str, known: frozenset[str], *, is_row: bool) -> bool:
    """Return whether the text counts the noun: a number, or the word `number`, stands before it.

    "Indexes can have up to 32 columns" counts no indexes. In a row of a table, the number stands behind its heading.
    """
    spoken = words(text[:MAX_CHARS])
    (wanted,) = query_words(noun, "en")
    places = [place for place, forms in enumerate(terms(spoken)) if forms[0] in wanted]
    beside = [spoken[max(place - _MAX_BEFORE - 1, 0) : place] for place in places]
    if is_row:
        beside += [spoken[place + 1 : place + 2] for place in places]
    return has_form(text, "number", known) and any(
        "number" in few or has_form(" ".join(few), "number", known) for few in beside
    )


def _defines(text: str, subject: Sequence[str]) -> bool:
    """Return whether the text begins with the subject, and says more than that.

    Other words may stand beside the subject only before a verb that defines.
    """
    spoken = words(text[:MAX_CHARS])
    verb = next((place for place, word in enumerate(spoken) if word in DEFINING_VERBS), len(spoken))
    most = verb if verb <= len(subject) + _MAX_BESIDE else len(subject) + 1
    before = statement_terms((" ".join(spoken[:most]),))
    has_subject = all(not before.isdisjoint(forms) for word in subject for forms in query_words(word, "en"))
    return bool(subject) and has_subject and len(spoken) > most + 1


def judge_answers(question: str, evidence: Sequence[Evidence], parameters: Parameters) -> tuple[float, list[Judged]]:
    """Return the probability that the first of the statements answers the question, and the statements that may."""
    judged = judge_statements(question, [each for each in evidence if can_answer(each)], parameters)
    return confidence_of(question, judged, parameters), prefer_antecedent(judged)


def prefer_antecedent(judged: Sequence[Judged]) -> list[Judged]:
    """Return the statements, with one first that the context of the best one consists of, if it has more of the
    question's terms itself.

    "It stands on a hill." gets its vector and terms from the sentence before, which may be the answer.
    """
    if not judged:
        return []
    best, *rest = judged
    for each in rest:
        is_before = each.evidence.page_id == best.evidence.page_id and each.evidence.text in best.evidence.context
        if is_before and each.features["covered_own"] > best.features["covered_own"]:
            return [each, best, *(other for other in rest if other is not each)]
    return list(judged)


def can_answer(evidence: Evidence) -> bool:
    """Return True for a short statement that makes sense by itself, and that its publisher lets others quote."""
    is_short = len(evidence.text) <= MAX_CHARS and evidence.kind != "heading"
    is_half = evidence.kind == "sentence" and beginning_of(evidence.text, evidence.context)
    limit = evidence.consent.max_snippet
    is_allowed = limit is None or len(evidence.text) <= limit
    return is_short and is_allowed and not is_half and reads_alone(evidence.text, evidence.kind, evidence.context)


def _quote(judged: Judged) -> QuotedAnswer:
    found = judged.evidence
    return QuotedAnswer(
        statement_id=found.id,
        text=clean_text(found.text) if found.kind == "code" else clean_line(found.text),
        context=tuple(clean_line(part) for part in found.context) if found.consent.max_snippet is None else (),
        kind=found.kind,
        url=found.url,
        title=clean_line(found.title) or found.host,
        host=found.host,
        language=found.language,
        published=found.published or None,
        read_on=found.fetched or None,
        place=found.place,
    )
