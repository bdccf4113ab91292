"""Finds out whether a sign-in page or a refresh came in place of a page. Pure.

A page with a form to sign in beside its content had that form before, too, and a page may load itself anew under
another address. In place of another page there is hardly any text but the form, and the text of the page is gone.
"""

import numpy as np

from streams.pages.text.tokens import words
from streams.sketches import shingles, word_hashes
from streams.stores.page_record import PageRecord
from streams.stores.removals import removals

MAX_CHARS = 20_000
"""Maximum number of characters of a text that are compared."""
MAX_LEFT = 0.5
"""Share of the shingles of a text from which the text is still there."""


def is_protected(record: PageRecord) -> bool:
    """Return whether the page has content that no sign-in page may replace: it never had such a form, and it stays."""
    known = record.normalized
    if not known.document_ref or known.refused or known.sign_in or "noindex" in known.directives:
        return False
    return all(one.reason == "duplicate" or one.generation < known.generation for one in removals(record))


def is_gone(former: str, text: str) -> bool:
    """Return whether hardly anything of a former text is in the text of now."""
    known, found = (shingles(word_hashes(words(one[:MAX_CHARS]))) for one in (former, text))
    return len(np.intersect1d(known, found, assume_unique=True)) < MAX_LEFT * len(known)
