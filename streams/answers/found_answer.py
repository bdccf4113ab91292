"""The answer that was found among the statements of the results, as pages and the API show it."""

from uuid import UUID

from pydantic import BaseModel, ConfigDict, Field


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


class FoundAnswer(_Model):
    """Statements of the results that probably answer the question. Nothing is written by a model."""

    confidence: float = Field(
        description="The calibrated probability that the first statement answers the question, from 0 to 1."
    )
    disagree: bool = Field(False, description="The statements differ: they are answers of several pages side by side.")
    answers: tuple[QuotedAnswer, ...] = Field(description="One, or one of each page that says something else.")
    also: int = Field(0, description="Further results of other hosts that state the same number, date or name.")
