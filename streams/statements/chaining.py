"""Drafts and the chain model's links -> statements, each with the earlier sentences that are its context."""

from collections.abc import Callable, Sequence
from hashlib import blake2b
from typing import TypedDict
from uuid import UUID

from schemas.ids import statement_id
from streams.models.inference.chain_windows import parts
from streams.models.protocols import ChainModel, Link, shift_link
from streams.statements.contexts import collapse_spaces
from streams.statements.drafting import Draft
from streams.statements.sandbox_tasks import Drafted
from streams.statements.sentences.lengths import word_count
from streams.statements.sentences.open_texts import mark_open
from streams.statements.statement import PageStatements, Statement

MAX_HOPS = 6
"""Maximum antecedents of a statement, over all hops."""
MAX_CHAIN_WORDS = 96
"""Maximum words of a statement's antecedents together. The most probable one is kept in any case."""
MAX_EMBEDDED_WORDS = 176
"""Maximum words of a statement with its context and its chain: about the 256 tokens that the embedding reads."""
BREAK = ""
"""The sentence that marks the border of a section for the chain model."""
MAX_SECTION = 256
"""Maximum sentences of a section for the chain model. The next sentence begins a new section."""
PART_SENTENCES = 2_048
"""Minimum number of sentences of a part of a page, at whose end the deadline of the event is extended."""
_CHAINED = frozenset({"sentence", "item", "link"})


async def chain_drafts(
    chains: ChainModel, page_id: UUID, url: str, found: Drafted, note_part: Callable[[], None] = lambda: None
) -> PageStatements:
    """Return the statements of a page, with the links that the chain model finds between the drafts.

    `note_part` is called after each part of a long page.
    """
    sentences, owners = chain_input(found.drafts)
    links = [Link()] * len(sentences)
    for start, end in parts(sentences, PART_SENTENCES):
        links[start:end] = [shift_link(link, start) for link in await chains.links(sentences[start:end])]
        note_part()
    statements = make_statements(page_id, found.drafts, owners, links)
    return PageStatements(page_id, url, found.title, found.language, statements)


def chain_input(drafts: Sequence[Draft]) -> tuple[list[str], list[int]]:
    """Return the chain model's sentences, with breaks between sections, and each sentence's draft (its index or -1)."""
    sentences: list[str] = []
    owners: list[int] = []
    section, length = -1, 0
    for index, draft in enumerate(drafts):
        if draft.kind not in _CHAINED or draft.doubtful:
            continue
        if sentences and (draft.section != section or length == MAX_SECTION):
            sentences.append(BREAK)
            owners.append(-1)
            length = 0
        section, length = draft.section, length + 1
        sentences.append(draft.text)
        owners.append(index)
    return sentences, owners


def chain_of(position: int, links: Sequence[Link], words: Sequence[int], room: int = MAX_CHAIN_WORDS) -> list[int]:
    """Return the antecedents of a sentence, the most probable first, each with its own antecedents.

    Each antecedent is followed backwards until a sentence needs none. `words` are the lengths of the sentences. The
    most probable antecedent is kept in any case; others are left out where there is no room for them. Each hop leads
    to an earlier sentence, so there is no cycle.
    """
    chain: list[int] = []

    def add(at: int) -> bool:
        nonlocal room
        if len(chain) == MAX_HOPS or (chain and words[at] > room):
            return False
        room -= words[at]
        chain.append(at)
        return True

    for antecedent in links[position].antecedents:
        if 0 <= antecedent < position and antecedent not in chain:
            add(antecedent)
    for antecedent in tuple(chain):
        here, following = antecedent, links[antecedent].followed
        while 0 <= following < here and (following in chain or add(following)):
            here, following = following, links[following].followed
    return chain


def make_statements(
    page_id: UUID, drafts: Sequence[Draft], owners: Sequence[int], links: Sequence[Link]
) -> tuple[Statement, ...]:
    """Return the page's statements. `links` and `owners` are by position in the chain input."""
    chains = _Chains(drafts, owners, links)
    return tuple(
        Statement(
            id=statement_id(
                page_id, ordinal, blake2b(draft.text.encode("utf-8", "replace"), digest_size=16).hexdigest()
            ),
            ordinal=ordinal,
            text=draft.text,
            kind=draft.kind,
            block=draft.block,
            start=draft.start,
            end=draft.end,
            page=draft.page,
            anchor=draft.anchor,
            doubtful=draft.doubtful,
            **chains.around(ordinal),
        )
        for ordinal, draft in enumerate(drafts)
    )


class _Around(TypedDict):
    """The fields of a statement that come from its chain."""

    context: tuple[str, ...]
    chain: tuple[int, ...]
    need: float
    leaf: float


class _Chains:
    """The chains of a page's drafts."""

    def __init__(self, drafts: Sequence[Draft], owners: Sequence[int], links: Sequence[Link]) -> None:
        if len(owners) != len(links):
            raise ValueError(f"{len(links)} links for {len(owners)} sentences")
        self._drafts, self._owners = drafts, owners
        self._links = [_drop_invalid_antecedents(link, owners) for link in links]
        self._positions = {owner: position for position, owner in enumerate(owners) if owner >= 0}
        self._words = [0 if owner < 0 else word_count(drafts[owner].text) for owner in owners]

    def around(self, ordinal: int) -> _Around:
        """Return the draft's structural context with its antecedents behind it, and the model's probabilities."""
        draft = self._drafts[ordinal]
        link = self._links[self._positions[ordinal]] if ordinal in self._positions else Link()
        chain = self._chain(ordinal) if link.antecedents else []
        context = draft.context
        if chain:
            left = MAX_EMBEDDED_WORDS - word_count(draft.text) - sum(word_count(self._drafts[at].text) for at in chain)
            context = (*_shorten_context(context, left), *(self._drafts[at].text for at in chain))
        # In hundredths, as they are stored.
        return _Around(context=context, chain=tuple(chain), need=round(link.need, 2), leaf=round(link.leaf, 2))

    def _chain(self, ordinal: int) -> list[int]:
        """Return the ordinals of a draft's antecedents, the earliest first."""
        draft = self._drafts[ordinal]
        used = word_count(draft.text) + sum(map(word_count, draft.context))
        room = min(MAX_CHAIN_WORDS, MAX_EMBEDDED_WORDS - used)
        chain = chain_of(self._positions[ordinal], self._links, self._words, room)
        owners = [self._owners[at] for at in sorted(chain)]
        return [owner for owner in owners if mark_open(collapse_spaces(self._drafts[owner].text)) not in draft.context]


def _drop_invalid_antecedents(link: Link, owners: Sequence[int]) -> Link:
    """Return the link, without an antecedent that is no sentence (a break, or beyond the page)."""

    def is_sentence(at: int) -> bool:
        return 0 <= at < len(owners) and owners[at] >= 0

    followed = link.followed if is_sentence(link.followed) else -1
    return Link(tuple(filter(is_sentence, link.antecedents)), followed, link.need, link.leaf)


def _shorten_context(context: Sequence[str], words: int) -> list[str]:
    """Return the context without its widest parts where it is too long.

    The title goes last: it names the page's topic.
    """
    kept = list(context)
    while kept and sum(map(word_count, kept)) > words:
        del kept[1 if len(kept) > 1 else 0]
    return kept
