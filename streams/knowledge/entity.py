"""The knowledge about an entity: the part of each source, and the record that the parts are merged into. Pure values.

An item of Wikidata has its id there (`Q42`). An article of Wikipedia has the site's id and its title
(`enwiki:Douglas Adams`), until an item names the article: then the article is a part of the item. Own entities have
the ids of their file.
"""

from collections.abc import Sequence
from typing import Annotated, Literal, Self

from pydantic import BaseModel, ConfigDict, Field

Kind = Literal["entity", "choice", "redirect", "label"]
"""`entity`: has a panel. `choice`: a list of the things that have one name. `redirect`: now a part of another entity.
`label`: only a name for facts of others, such as a unit."""
MAX_SUMMARY_CHARS = 700
MAX_FACTS = 12
MAX_VALUES = 5
"""Maximum values of one fact."""
MAX_NAMES = 60
MAX_LINKS = 16
MAX_OPTIONS = 30
"""Maximum options of a choice."""
MAX_NAME_CHARS = 200
EMBEDDED_CHARS = 300
"""Characters of an entity's text that are embedded (docs/decisions/0068-the-first-words-of-an-entity.md)."""
MAX_ADDRESS_CHARS = 2_000
MAX_LANGUAGES = 80
"""Maximum languages in which an entity has labels or descriptions."""
Text = Annotated[str, Field(max_length=1_000)]
Name = Annotated[str, Field(max_length=MAX_NAME_CHARS)]
Address = Annotated[str, Field(max_length=MAX_ADDRESS_CHARS, pattern=r"^(https?://[^\s\x00-\x1f]+)?$")]


Language = Annotated[str, Field(pattern=r"^[a-z]{2,3}$")]
Translations = Annotated[dict[Language, Name], Field(max_length=MAX_LANGUAGES)]
"""A text by the language (its primary subtag). An empty text says that the language has the record's own text."""


class _Model(BaseModel):
    model_config = ConfigDict(frozen=True, extra="ignore", use_attribute_docstrings=True)


class Value(_Model):
    """One value of a fact."""

    text: Text = ""
    """The value in words. Empty if the value is another entity: then its name is the text."""
    entity_id: str = ""
    """The entity that the value is."""
    unit_id: str = ""
    """The entity that is the unit of a number."""
    time: str = ""
    """A date for programs: ISO 8601, a year, month or day. Years before 1 AD begin with `-`."""
    note: Text = ""
    """When the value holds: `since 2009`, `2009–2013`, `2020`."""
    url: Address = ""
    """The address that the value is."""
    source_url: Address = ""
    """The address of the source that the fact's author names."""


class Fact(_Model):
    """A property with its values."""

    property: str = ""
    """Wikidata's id of the property, such as P569; empty for own facts."""
    label: Name
    values: tuple[Value, ...] = Field(min_length=1, max_length=MAX_VALUES)
    source_url: Address = ""
    """The address at which the fact itself stands."""


class Image(_Model):
    """An image: only its addresses and its licence."""

    url: Address
    """The address of the image."""
    page_url: Address = ""
    """The page that describes the image, its author and its licence."""
    licence: Text = ""
    """The name of the licence. Empty: the page names it."""
    author: Text = ""


class Option(_Model):
    """One meaning in a choice."""

    title: Name
    description: Text = ""
    entity_id: str = ""
    """The entity, or the article (`enwiki:Rust`)."""


class _Described(_Model):
    """The fields that parts and merged records share."""

    kind: Kind = "entity"
    label: Name = ""
    description: Text = ""
    labels: Translations = {}
    """Its label in each language that the source has."""
    descriptions: Translations = {}
    type: Text = ""
    """The type in words, if the source states one."""
    type_ids: tuple[str, ...] = ()
    """The classes of an item."""
    group: str = ""
    """The group of types by which its facts are chosen, such as `person`."""
    summary: Annotated[str, Field(max_length=MAX_SUMMARY_CHARS)] = ""
    image: Image | None = None
    facts: tuple[Fact, ...] = ()
    links: tuple[str, ...] = ()
    """Related entities or articles, the most important first."""
    options: tuple[Option, ...] = ()
    article: str = ""
    """The article about an item (`enwiki:Douglas Adams`)."""
    url: Address = ""
    """The page about the entity at its source."""
    website: Address = ""


class Part(_Described):
    """The statements of one source about an entity."""

    aliases: tuple[Name, ...] = ()
    sitelinks: int = 0
    """Number of wikis with an article about the item."""
    licence: str = ""
    """Licence of the text."""


class Entity(_Described):
    """A merged record, as it is stored and as panels are made from it."""

    entity_id: str
    summary_url: str = ""
    summary_licence: str = ""
    names: tuple[str, ...] = ()
    """The label and the aliases."""
    redirect: str = ""
    """The entity that this one is a part of."""
    rank: int = 0
    """A measure of how widely known it is: the number of wikis with an article."""
    collection: str = ""
    """The collection that has the point of its panel."""
    sources: tuple[str, ...] = ()
    """`wikidata`, `wikipedia`, `own`."""
    source_urls: tuple[str, ...] = ()
    """The page about the entity at each source, in the order of `sources`; an empty text where a source names none."""

    stored_label: str = Field("", exclude=True)
    """The label of the record, where a reader sees another one."""
    stored_description: str = Field("", exclude=True)

    def for_reader(self, languages: Sequence[str]) -> Self:
        """Return the entity with its label and its description in the first of these languages that has one.

        It also has the names of all these languages. Without a label in any of them it keeps its own.
        """
        label, description = (_in_first(languages, each) for each in (self.labels, self.descriptions))
        names = (text for one in languages if (text := self.labels.get(one)))
        changed: dict[str, object] = {}
        if label and label != self.label:
            changed |= {"label": label, "stored_label": self.label}
        if description and description != self.description:
            changed |= {"description": description, "stored_description": self.description}
        if self.names and (more := [name for name in dict.fromkeys(names) if name not in self.names]):
            changed["names"] = (*self.names, *more)
        return self.model_copy(update=changed) if changed else self

    def text_to_embed(self) -> str:
        """Return the title with the beginning of the summary."""
        return f"{self.label}. {self.description}. {self.summary}"[:EMBEDDED_CHARS]


def _in_first(languages: Sequence[str], texts: dict[str, str]) -> str:
    """Return the text of the first of these languages that has one; empty if that is the record's own."""
    return next((texts[one] for one in languages if one in texts), "")
