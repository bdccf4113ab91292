"""The answer of a quick check."""

from typing import Literal

from pydantic import BaseModel, ConfigDict, Field

from streams.plain_text import Sentence

Kind = Literal["calculation", "conversion", "time", "date", "definition"]


class QuickCheck(BaseModel):
    """An answer that follows from the query by itself, or a definition that was found."""

    model_config = ConfigDict(
        frozen=True,
        json_schema_extra={
            "examples": [
                {"kind": "conversion", "asked": "5 miles", "answer": "8.04672 km", "value": "8.04672", "note": ""}
            ]
        },
    )

    kind: Kind
    asked: Sentence = Field(description="The question as it was understood.")
    answer: Sentence = Field(description="The answer for people, as plain text.")
    value: str | None = Field(
        None, description="The answer for programs: a decimal number, a date or a time in ISO 8601; absent for words."
    )
    note: Sentence = Field("", description="What else a reader should know, such as the kind of a unit.")
    url: str | None = Field(None, description="The page that has the definition.")
    title: str | None = Field(None, description="The title of that page.")
