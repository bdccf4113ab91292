"""Drafts and the chain model's answer -> statements, each with the earlier sentences that it needs."""

from collections.abc import Sequence
from hashlib import blake2b
from uuid import UUID

from schemas.ids import statement_id
from streams.statements.drafting import Draft
from streams.statements.lengths import word_count
from streams.statements.statement import Statement

MAX_ANTECEDENTS = 2
"""Maximum antecedents of a statement."""
MAX_ANTECEDENT_WORDS = 64
"""Maximum words of a statement's antecedents together. The nearest one is kept in any case."""
BREAK = ""
"""The sentence that marks the border of a section for the chain model."""
_CHAINED = frozenset({"sentence", "item"})


def chain_input(drafts: Sequence[Draft]) -> tuple[list[str], list[int]]:
    """The sentences for the chain model, with breaks between sections, and the index of each one's draft (or -1)."""
    sentences: list[str] = []
    owners: list[int] = []
    section = -1
    for index, draft in enumerate(drafts):
        if draft.kind not in _CHAINED:
            continue
        if sentences and draft.section != section:
            sentences.append(BREAK)
            owners.append(-1)
        section = draft.section
        sentences.append(draft.text)
        owners.append(index)
    return sentences, owners


def statements(
    page_id: UUID, drafts: Sequence[Draft], owners: Sequence[int], antecedents: Sequence[int]
) -> tuple[Statement, ...]:
    """The page's statements. `antecedents` index the chain input, as `owners` does; an impossible one is ignored."""
    before = {
        owner: owners[antecedent]
        for position, (owner, antecedent) in enumerate(zip(owners, antecedents, strict=True))
        if owner >= 0 and 0 <= antecedent < position and owners[antecedent] >= 0
    }
    return tuple(
        Statement(
            id=statement_id(
                page_id, ordinal, blake2b(draft.text.encode("utf-8", "replace"), digest_size=16).hexdigest()
            ),
            ordinal=ordinal,
            text=draft.text,
            context=(*draft.context, *_antecedent_texts(drafts, before, ordinal)),
            kind=draft.kind,
            block=draft.block,
            start=draft.start,
            end=draft.end,
        )
        for ordinal, draft in enumerate(drafts)
    )


def _antecedent_texts(drafts: Sequence[Draft], before: dict[int, int], ordinal: int) -> list[str]:
    """The chain of antecedents, the earliest first, cut to a length that doesn't outweigh the statement."""
    texts: list[str] = []
    words = 0
    while ordinal in before and len(texts) < MAX_ANTECEDENTS:
        ordinal = before[ordinal]
        words += word_count(drafts[ordinal].text)
        if texts and words > MAX_ANTECEDENT_WORDS:
            break
        texts.insert(0, drafts[ordinal].text)
    return texts
