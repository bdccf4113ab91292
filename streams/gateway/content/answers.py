"""The API's answers about the content of a page, as pydantic models."""

from typing import Any, Literal
from uuid import UUID

import numpy as np
from numpy.typing import NDArray
from pydantic import Field

from streams.gateway.http import presentation
from streams.gateway.http.openapi import ApiModel
from streams.pages.document.model import Block, Document
from streams.plain_text import clean_text
from streams.statements.statement import Statement

MAX_BLOCKS = 5_000
"""Maximum blocks, and maximum links, of a document in an answer."""
MAX_TEXT_CHARS = 500_000
"""Maximum characters of text of a document in an answer."""
_VECTOR_DECIMALS = 5
"""Number of decimals of a vector's values: they are stored in half precision, which has no more."""


class DocumentSpan(ApiModel):
    """A marked part of a block: `text[start:end]`, in Unicode code points."""

    start: int
    end: int
    kind: str = Field(description="`link`, `code`, `em`, `strong`, `math`, `image` or `footnote`.")
    target: str = Field("", description="A link's URL, an image's source, a footnote's text.")
    label: str = Field("", description="An image's alternative text.")


class DocumentBlock(ApiModel):
    """One text of a document."""

    tag: str = Field(description="`h1` to `h6`, `p` or `pre`.")
    text: str = Field(description="Plain text of a stranger: untrusted.")
    parent: int = Field(-1, description="Index of its container in `containers`; -1: the document itself.")
    spans: tuple[DocumentSpan, ...] = ()
    language: str = Field("", description="If it differs from the page's. Of `pre`: the language of the code.")


class DocumentContainer(ApiModel):
    """A structural element around blocks, such as `ul` or `table`."""

    tag: str
    parent: int = -1
    spanned_by: int = Field(-1, description="The earlier cell of several rows or columns whose place an empty cell is.")


class DocumentLink(ApiModel):
    url: str
    text: str = ""
    in_content: bool = Field(description="False: it is in a menu or another part that is not main content.")


class DocumentContent(ApiModel):
    """The text and structure of a page, without its markup and boilerplate (docs/reference/document.md)."""

    title: str = ""
    description: str = ""
    language: str = Field("", description="BCP 47; empty when unknown.")
    containers: tuple[DocumentContainer, ...] = ()
    blocks: tuple[DocumentBlock, ...] = Field((), description="All text, in reading order.")
    links: tuple[DocumentLink, ...] = ()
    facts: dict[str, Any] = Field({}, description="Facts that the page declares about itself, by name.")
    is_cut: bool = Field(False, description="The page has more text or links than an answer may have.")


class PageStatement(ApiModel):
    """A statement of a page, as it was indexed."""

    id: UUID
    ordinal: int = Field(description="Place in the page, from 0.")
    text: str = Field(description="Plain text of a stranger: untrusted.")
    context: tuple[str, ...] = Field((), description="Texts that a reader needs before it, the widest first.")
    kind: str = Field("sentence", description="`sentence`, `item`, `row`, `code` or `heading`.")
    block: int = Field(0, description="Index of its block in the document.")
    start: int = 0
    end: int = Field(0, description="Its place in the block: `text[start:end]`, except in a row.")
    chain: tuple[int, ...] = Field((), description="Ordinals of the earlier statements that it needs.")
    doubtful: bool = Field(False, description="Readers of the page may not see it: no answer quotes it.")


class PageDocument(ApiModel):
    """The document of an indexed page."""

    page_id: UUID
    url: str
    ref: str = Field(description="The reference of this content, as `document_ref` of events has it.")
    document: DocumentContent
    untrusted: Literal[True] = Field(True, description="All texts are of the page's author, not of this service.")


class PageStatements(ApiModel):
    """A part of the statements of a page."""

    page_id: UUID
    url: str
    ref: str = Field(description="The reference of these statements, as `statements_ref` of events has it.")
    total: int = Field(description="Number of statements of the page.")
    statements: tuple[PageStatement, ...]
    next: int | None = Field(None, description="The `after` of the next part; absent at the end.")
    untrusted: Literal[True] = Field(True, description="All texts are of the page's author, not of this service.")


class PageVectors(ApiModel):
    """A part of the vectors of a page's statements."""

    page_id: UUID
    url: str
    ref: str = Field(description="The reference of these vectors, as `vectors_ref` of events has it.")
    statements_ref: str = Field(description="The reference of the statements that they belong to.")
    model: str = Field(description="The model that made them, with its version.")
    dimensions: int
    total: int = Field(description="Number of vectors: one for each statement, in the order of the statements.")
    vectors: tuple[tuple[float, ...], ...] = Field(description="Of length 1, as long as the model makes such.")
    next: int | None = Field(None, description="The `after` of the next part; absent at the end.")


class Extract(ApiModel):
    """The content of one page: of the index, or fetched now."""

    source: Literal["index", "web"] = Field(description="`web`: the page was fetched now, and nothing was stored.")
    url: str = Field(description="The canonical URL; of a page fetched now the URL behind its redirects.")
    page_id: UUID
    document: DocumentContent
    statements: tuple[PageStatement, ...] = Field((), description="At most 200; an indexed page has more by pages.")
    statement_count: int = 0
    directives: tuple[str, ...] = Field((), description="The author's requests to robots, such as `noarchive`.")
    untrusted: Literal[True] = Field(True, description="All texts are of the page's author, not of this service.")


def to_document(document: Document) -> DocumentContent:
    """Return the document for an answer, cut to its limits."""
    blocks, chars = list[DocumentBlock](), 0
    for block in document.blocks[:MAX_BLOCKS]:
        chars += len(block.text)
        if chars > MAX_TEXT_CHARS:
            break
        blocks.append(_to_block(block))
    return DocumentContent(
        title=presentation.clean_line(document.title, presentation.MAX_TITLE_CHARS),
        description=presentation.clean_line(document.description),
        language=document.language,
        containers=tuple(DocumentContainer(**each._asdict()) for each in document.containers),
        blocks=tuple(blocks),
        links=tuple(
            DocumentLink(url=each.url, text=presentation.clean_line(each.text), in_content=each.in_content)
            for each in document.links[:MAX_BLOCKS]
        ),
        facts=presentation.plain_values(document.facts),
        is_cut=len(blocks) < len(document.blocks) or len(document.links) > MAX_BLOCKS,
    )


def to_statement(statement: Statement) -> PageStatement:
    cleaned = {"text": clean_text(statement.text), "context": tuple(map(clean_text, statement.context))}
    return PageStatement.model_validate(statement, from_attributes=True).model_copy(update=cleaned)


def to_vectors(vectors: NDArray[np.float32]) -> tuple[tuple[float, ...], ...]:
    return tuple(tuple(row) for row in np.round(vectors.astype(np.float64), _VECTOR_DECIMALS).tolist())


def _to_block(block: Block) -> DocumentBlock:
    # A character is replaced by one character, so the places of spans stay.
    text, spans = clean_text(block.text), tuple(DocumentSpan(**each._asdict()) for each in block.spans)
    return DocumentBlock(tag=block.tag, text=text, parent=block.parent, spans=spans, language=block.language)
