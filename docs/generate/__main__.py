"""Write the generated files that are out of date, or list them: `python -m docs.generate [--check]`."""

import argparse
import sys

from docs.generate import ROOT, published_files


def main() -> int:
    """Return 1 if `--check` found a file that is out of date, 0 otherwise."""
    parser = argparse.ArgumentParser(prog="python -m docs.generate", description=__doc__)
    parser.add_argument("--check", action="store_true", help="list the files that are out of date, and write nothing")
    check = parser.parse_args().check
    stale = {p: c for p, c in published_files().items() if not p.exists() or p.read_text() != c}
    for path, content in stale.items():
        if not check:
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(content)
        sys.stdout.write(f"{'out of date:' if check else 'wrote'} {path.relative_to(ROOT)}\n")
    if not stale:
        sys.stdout.write("All generated files are up to date.\n")
    return 1 if stale and check else 0


if __name__ == "__main__":
    sys.exit(main())
