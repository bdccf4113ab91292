"""A page with the records and blobs that the stages write up to its vectors."""

from typing import Any

from schemas.ids import page_id
from streams.pages.normalize import normalize
from streams.statements.chaining import chain_input, make_statements
from streams.statements.drafting import draft_statements
from streams.statements.statement import PageStatements, encode_statements
from streams.stores.opener import Stores
from streams.stores.page_record import PART_TYPES, Normalized
from streams.vectors.points import encode_vectors, texts_of
from tests.sentence_splitter import SPLITTER


async def chunked(stores: Stores, url: str, html: str, **records: Any) -> dict[str, Any]:
    """Store the statements and vectors of this HTML, and return the fields of the part `indexed`.

    `records` are fields to overwrite, by part.
    """
    identity = page_id(url)
    document = normalize(html.encode(), url=url).document
    found, _ = draft_statements(document, SPLITTER)
    sentences, owners = chain_input(found)
    made = make_statements(identity, found, owners, await stores.chains.links(sentences))
    page = PageStatements(identity, url, document.title, document.language, made)
    reference = await stores.blobs.put(encode_statements(page))
    info = await stores.embedder.info()
    vectors = encode_vectors(reference, await stores.embedder.embed(texts_of(page), "passage"))
    parts: dict[Any, dict[str, Any]] = {
        "indexed": {
            "url": url,
            "statements_ref": reference,
            "vectors_ref": await stores.blobs.put(vectors),
            "model": info.name,
            "model_version": info.version,
        },
    }
    for part, value in parts.items():
        await stores.pages.put(identity, PART_TYPES[part].of_row(value | records.get(part, {})), 1)
    if "normalized" in records:
        await stores.pages.put(identity, Normalized.of_row(records["normalized"]), 1)
    return parts["indexed"]
