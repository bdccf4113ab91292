"""Write the English words and pairs of words of symspellpy, with their counts in books, as one compressed file.

    python -m benchmarks.search.spelling_books streams/queries/spelling/

Only the two dictionaries of that package are needed at run time. Its licence (MIT) is written beside the file.
"""

import sys
from importlib import resources
from importlib.metadata import files
from pathlib import Path

import zstandard

DICTIONARIES = ("frequency_dictionary_en_82_765.txt", "frequency_bigramdictionary_en_243_342.txt")


def main() -> None:
    folder = Path(sys.argv[1])
    texts = [resources.files("symspellpy").joinpath(name).read_text("utf-8-sig") for name in DICTIONARIES]
    rows = [" ".join(line.split()) for text in texts for line in text.splitlines() if line.strip()]
    (folder / "books.zst").write_bytes(zstandard.compress("\n".join(rows).encode(), 19))
    licence = next(file for file in files("symspellpy") or () if file.name.startswith("LICENSE"))
    (folder / "books-licence.txt").write_text(licence.read_text("utf-8"), "utf-8")
    print(f"{len(rows):,} words and pairs")


if __name__ == "__main__":
    main()
