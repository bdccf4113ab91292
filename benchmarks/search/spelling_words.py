"""Count the technical words of documentation, and write those that the base dictionaries of spelling don't have.

    python -m benchmarks.search.spelling_words PAGES streams/queries/spelling/technical.txt

PAGES is a folder of pages (HOST/path.html). The shipped file comes from the documentation of PostgreSQL, Python, SQLite
and Git in the bundled web; their licences allow it, and the file has only words and counts.
"""

import argparse
from collections import Counter
from pathlib import Path

from spellchecker import SpellChecker

from streams.pages.normalize import normalize
from streams.queries.spelling.words import split_query

MIN_PAGES = 2
MIN_COUNT = 4


def main() -> None:
    parser = argparse.ArgumentParser(description="Count the technical words of documentation.")
    parser.add_argument("pages", type=Path)
    parser.add_argument("out", type=Path)
    options = parser.parse_args()
    known = SpellChecker("en").word_frequency.dictionary
    counts: Counter[str] = Counter()
    pages: Counter[str] = Counter()
    for path in sorted(options.pages.rglob("*.html")):
        url = f"https://{path.relative_to(options.pages).as_posix()}"
        text = normalize(path.read_bytes(), url=url).document.text
        found = Counter(
            word.text
            for line in text.split("\n")
            for token in line.split()
            for word in split_query(token)
            if word.is_free
        )
        counts.update(found)
        pages.update(found.keys())
    kept = {word: count for word, count in counts.items() if pages[word] >= MIN_PAGES and count >= MIN_COUNT}
    rows = [f"{word}\t{count}" for word, count in sorted(kept.items(), key=lambda each: (-each[1], each[0]))]
    new = [row for row in rows if row.split("\t")[0] not in known]
    header = "# Words of the documentation of PostgreSQL, Python, SQLite and Git, with their counts."
    options.out.write_text("\n".join([header, *new]) + "\n", "utf-8")
    print(f"{len(counts)} words, {len(new)} written")


if __name__ == "__main__":
    main()
