"""Finds the files of models, and makes those that a package carries in another form: before their first use.

python -m streams.models.inference.make_files CONFIG...     the `config.pbtxt` of the models
"""

import sys
from pathlib import Path

from streams.errors import UsageError
from streams.models.inference.repository import check_files, parameters_in


def main(configs: list[str]) -> None:
    """Check all files of these models, and make those that are missing. Raises UsageError."""
    for config in map(Path, configs):
        check_files(parameters_in(config.read_text()), config.parent / "1")


if __name__ == "__main__":
    try:
        main(sys.argv[1:])
    except UsageError as error:
        sys.exit(str(error))
