"""Own entities: what a line of their file may have. The published schema is made from this model."""

import re
from typing import Annotated, Any

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from streams.knowledge.entity import (
    MAX_FACTS,
    MAX_LINKS,
    MAX_NAMES,
    MAX_SUMMARY_CHARS,
    MAX_VALUES,
    Address,
    Fact,
    Image,
    Name,
    Part,
    Text,
    Value,
)

Id = Annotated[str, Field(min_length=1, max_length=200, pattern=r"^[^\s\x00-\x1f]([^\x00-\x1f]*[^\s\x00-\x1f])?$")]
SCHEMA_ID = "urn:riffle:schema:own-entity.v1"
"""The name of the JSON Schema of an own entity."""
_SPACES = re.compile(r"\s+")


class _Model(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid", use_attribute_docstrings=True)


class OwnFact(_Model):
    """A fact: a label, and a value or several."""

    label: Name
    values: list[Text] = Field(default=[], max_length=MAX_VALUES)
    """The values in words."""
    entities: list[Id] = Field(default=[], max_length=MAX_VALUES)
    """Values that are entities themselves, by their ids."""
    source: Address = ""
    """The address at which the fact stands."""


class OwnEntity(_Model):
    """One entity: a line of the file."""

    id: Id
    """A name of your own that stays the same, such as `acme:pump-3`. With an id of Wikidata (`Q42`), what the line says
    is shown in place of what Wikidata says."""
    removed: bool = False
    """Remove the entity. All other fields are ignored."""
    label: Name = ""
    """The name that is shown."""
    type: Text = ""
    """The type in words: `person`, `pump`."""
    description: Text = ""
    """A few words."""
    summary: Annotated[str, Field(max_length=MAX_SUMMARY_CHARS)] = ""
    """Some sentences."""
    aliases: list[Name] = Field(default=[], max_length=MAX_NAMES)
    """Further names."""
    facts: list[OwnFact] = Field(default=[], max_length=MAX_FACTS)
    """Facts in the order in which they are shown."""
    related: list[Id] = Field(default=[], max_length=MAX_LINKS)
    """Ids of related entities, the most important first."""
    url: Address = ""
    """The page about the entity: its source."""
    website: Address = ""
    image: Image | None = None
    licence: Text = ""
    """The licence of the summary."""


def read_own(row: Any) -> tuple[str, Part | None]:
    """Return the id and the part of a line; None for a removed entity. Raises ValueError, which says what is wrong."""
    try:
        own = OwnEntity.model_validate(row)
    except ValidationError as error:
        raise ValueError(_reason(error)) from None
    if own.removed:
        return own.id, None
    if not own.label:
        raise ValueError("label: is missing")
    return own.id, Part(
        label=own.label,
        type=own.type,
        description=own.description,
        summary=_SPACES.sub(" ", own.summary).strip(),
        aliases=tuple(own.aliases),
        facts=tuple(_fact(fact) for fact in own.facts if fact.values or fact.entities),
        links=tuple(dict.fromkeys((*own.related, *(one for fact in own.facts for one in fact.entities))))[:MAX_LINKS],
        url=own.url,
        website=own.website,
        image=own.image,
        licence=own.licence,
    )


def _fact(fact: OwnFact) -> Fact:
    values = [*(Value(text=text) for text in fact.values), *(Value(entity_id=one) for one in fact.entities)]
    return Fact(label=fact.label, values=tuple(values[:MAX_VALUES]), source_url=fact.source)


def _reason(error: ValidationError) -> str:
    problem = error.errors(include_url=False)[0]
    place = ".".join("*" if isinstance(part, int) else str(part) for part in problem["loc"])
    return f"{place or 'line'}: {problem['msg'][0].lower()}{problem['msg'][1:]}"


def json_schema() -> dict[str, Any]:
    schema = OwnEntity.model_json_schema()
    schema.pop("title", None)
    dialect = "https://json-schema.org/draft/2020-12/schema"
    return {"$schema": dialect, "$id": SCHEMA_ID, "title": "Own entity of Riffle", **schema}
