"""The labels of boxes: "Note", "Warning" and the like say what kind of box it is, and not what the box is about.

In manuals they are headings, so they are in the context of thousands of statements. A query for "release notes" found
each note about releasing something, by words and by meaning.
"""

from collections.abc import Sequence

BOX_LABELS = frozenset(
    label
    for labels in (
        "attention caution danger hint important info information note notes remark tip tips warning warnings",
        "achtung anmerkung gefahr hinweis hinweise tipp vorsicht warnung wichtig",  # German
        "astuce avertissement conseil remarque",  # French
        "advertencia aviso consejo importante nota precaución",  # Spanish
        "attenzione avviso avvertenza suggerimento",  # Italian
        "atenção cuidado dica observação",  # Portuguese
        "opmerking waarschuwing",  # Dutch
    )
    for label in labels.split()
)
MAX_CHARS = max(map(len, BOX_LABELS)) + 2


def drop_box_labels(context: Sequence[str]) -> tuple[str, ...]:
    """Return the texts of a context without labels of boxes, such as "Note:".

    The first text stays, since it is the page's title: there is a module `warnings`.
    """
    return (*context[:1], *(part for part in context[1:] if not is_box_label(part)))


def is_box_label(text: str) -> bool:
    """Return whether the whole text is the label of a box."""
    return len(text) <= MAX_CHARS and text.strip(" :!.\n").casefold() in BOX_LABELS
