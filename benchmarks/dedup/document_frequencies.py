"""Counts the documents of a corpus that contain each word, and writes the file of word weights for SimHashes.

    python -m benchmarks.dedup.document_frequencies PAGES streams/dedup/frequencies.npz

PAGES is the same as for `near_duplicates`. The shipped file comes from the documentation of PostgreSQL,
Python, SQLite and Git (their licences allow it, and the file has only hashes and counts), and from spaCy's lists of
stop words (MIT licence). Stop words count as contained in half of all documents, so that words of other languages weigh
little, too.

The file is part of the definition of a fingerprint. To replace it, raise VERSION in `streams/dedup/fingerprinting.py`
first (it is written into the file and into each fingerprint), then fingerprint all pages again
(docs/reference/dedup.md).
"""

import argparse
import importlib
import pkgutil
from collections import Counter
from collections.abc import Iterable
from pathlib import Path

import numpy as np

from benchmarks.dedup.near_duplicates import read_pages
from streams.dedup.fingerprinting import VERSION
from streams.pages.text.tokens import stored_words
from streams.sketches import word_hashes

MIN_DOCUMENTS = 3
"""Minimum number of documents of a word in the file. Rarer words weigh nearly as much as unknown ones."""
MIN_WORDS = 50


def document_frequencies(texts: Iterable[str]) -> tuple[Counter[int], int]:
    """A counter (hash of a word -> number of documents), and the number of documents with enough text."""
    counts: Counter[int] = Counter()
    total = 0
    for text in texts:
        hashes = word_hashes(stored_words(text))
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
        found |= {part for word in listed.STOP_WORDS for part in stored_words(word)}
    return found


def main() -> None:
    parser = argparse.ArgumentParser(description="Count the documents that contain each word.")
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
