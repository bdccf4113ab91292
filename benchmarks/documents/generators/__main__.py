"""Makes the set of manuals: `python -m benchmarks.documents.generators DIR`.

    DIR/looked-at/{html,truth}     pages of generators that may be looked at
    DIR/kept/{html,truth}          pages of the others: judge by them, never read them
    DIR/packages                   what was downloaded, so that a second run asks for nothing

`python -m benchmarks eval extract DIR/looked-at` judges extractors by a half. The table that is printed says how exact
the truth is: how many items the readers found in the sources, and how many of them the pages show.
"""

import argparse
import hashlib
import json
from collections import Counter
from collections.abc import Sequence
from pathlib import Path

from benchmarks.documents.generators.manuals import KEPT, LOOKED_AT, Manual
from benchmarks.documents.generators.packages import Packages
from benchmarks.documents.generators.truth import make_truth
from streams.errors import UsageError

PAGES = 16
"""Maximum pages of a manual."""
MAX_BYTES = 300_000
"""Maximum size of a page: the extractors beside Riffle need minutes for larger ones."""


def write_manual(manual: Manual, packages: Packages, folder: Path, counts: Counter[str]) -> int:
    """Write the pages of a manual, chosen by a hash of their paths. Returns their number."""
    written = 0
    for page in sorted(manual.pages(packages), key=lambda page: hashlib.sha256(page.path.encode()).digest()):
        if written == PAGES:
            break
        if len(page.html) > MAX_BYTES:
            continue
        if (truth := make_truth(page.html, page.source, counts)) is None:
            counts["pages without items"] += 1
            continue
        name = f"{manual.generator}-{manual.language}-{hashlib.sha256(page.path.encode()).hexdigest()[:8]}"
        url = f"https://{manual.generator}.example/{manual.language}/{page.path}"
        about = {"url": url, "page_type": {"primary": manual.generator}}
        (folder / "html" / f"{name}.html").write_bytes(page.html)
        stored = {**about, "ground_truth": {**truth, "language": manual.language}}
        (folder / "truth" / f"{name}.json").write_text(json.dumps(stored, ensure_ascii=False), encoding="utf-8")
        written += 1
    return written


def write_half(manuals: Sequence[Manual], packages: Packages, folder: Path) -> None:
    """Write the pages of a half, and print how many items of its sources the pages show."""
    for part in ("html", "truth"):
        (folder / part).mkdir(parents=True, exist_ok=True)
        for path in (path for manual in manuals for path in (folder / part).glob(f"{manual.generator}-*")):
            path.unlink(missing_ok=True)
    for manual in manuals:
        counts: Counter[str] = Counter()
        try:
            pages = write_manual(manual, packages, folder, counts)
        except UsageError as error:
            print(f"{folder.name:10}{manual.generator:20}{manual.language:4} left out: {error}", flush=True)
            continue
        shares = (
            f"{kind} {counts[f'{kind} kept']:,} of {counts[f'{kind} read']:,}" for kind in ("names", "values", "code")
        )
        print(
            f"{folder.name:10}{manual.generator:20}{manual.language:4}{pages:4} pages  {'  '.join(shares)}", flush=True
        )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("directory", type=Path, metavar="DIR")
    parser.add_argument("--only", nargs="*", metavar="GENERATOR", help="these generators alone")
    arguments = parser.parse_args()
    packages = Packages(arguments.directory.absolute() / "packages")
    for name, manuals in (("looked-at", LOOKED_AT), ("kept", KEPT)):
        chosen = [one for one in manuals if not arguments.only or one.generator in arguments.only]
        if chosen:
            write_half(chosen, packages, arguments.directory / name)


if __name__ == "__main__":
    main()
