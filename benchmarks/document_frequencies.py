"""Counts in how many documents of a corpus each word is: writes the file that weighs the words of a SimHash.

    python -m benchmarks.document_frequencies PAGES streams/dedup/frequencies.npz

PAGES as for `benchmarks.near_duplicates`. The shipped file comes from the documentation of PostgreSQL, Python, SQLite
and Git (their licences allow it, and hashes and counts are all that is kept), and from spaCy's lists of stop words
(MIT licence), which count as being in half of all documents: so small words of other languages weigh little as well.

The file is part of what a fingerprint means. To replace it, raise VERSION in `streams/dedup/frequencies.py` first (it
is written into the file, and beside each fingerprint), then fingerprint all pages again (docs/reference/dedup.md).
"""

import argparse
import importlib
import pkgutil
from collections import Counter
from collections.abc import Iterable
from pathlib import Path

import numpy as np

from benchmarks.near_duplicates import read_pages
from streams.dedup.features import word_hashes
from streams.dedup.frequencies import VERSION
from streams.pages.text.tokens import words

MIN_DOCUMENTS = 3
"""Rarer words are left out: they weigh as much as unknown ones, or nearly."""
MIN_WORDS = 50


def document_frequencies(texts: Iterable[str]) -> tuple[Counter[int], int]:
    """Hash of word -> number of documents, and the number of documents with enough text."""
    counts: Counter[int] = Counter()
    total = 0
    for text in texts:
        hashes = word_hashes(words(text))
        if len(hashes) >= MIN_WORDS:
            counts.update(np.unique(hashes).tolist())
            total += 1
    return counts, total


def stop_words() -> set[str]:
    import spacy.lang

    found: set[str] = set()
    for module in pkgutil.iter_modules(spacy.lang.__path__):
        try:
            listed = importlib.import_module(f"spacy.lang.{module.name}.stop_words")
        except ImportError:
            continue
        found |= {part for word in listed.STOP_WORDS for part in words(word)}
    return found


def main() -> None:
    parser = argparse.ArgumentParser(description="Count in how many documents each word is.")
    parser.add_argument("pages", type=Path)
    parser.add_argument("out", type=Path)
    options = parser.parse_args()
    counts, total = document_frequencies(read_pages(options.pages).values())
    for stop_word in word_hashes(sorted(stop_words())).tolist():
        counts[stop_word] = max(counts[stop_word], total // 2)
    kept = sorted(word for word, count in counts.items() if count >= MIN_DOCUMENTS)
    np.savez_compressed(
        options.out,
        version=np.uint32(VERSION),
        words=np.array(kept, np.uint64),
        documents=np.array([counts[word] for word in kept], np.uint16),
        total=np.uint32(total),
    )
    print(f"{total} documents, {len(kept)} words")


if __name__ == "__main__":
    main()
