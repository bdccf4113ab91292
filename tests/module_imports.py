"""Imports every module of the wheel: with the lowest versions that pyproject.toml allows (`make lowest`), and with the
newest on the newest Python (`make platforms`).

It proves the bounds as far as imports go: a name that came later, or went, is found, a changed behaviour is not. Run it
with the interpreter of an environment that has these versions.
"""

import importlib
import pkgutil
import sys

import schemas
import streams

OWN_ENVIRONMENT = frozenset({"streams.models.inference.triton_backend"})
"""Modules that need what no index of packages has: Triton's server brings the module of its Python backend."""


def main() -> int:
    """Print the modules that can't be imported, each with its error. Return 1 if there are any."""
    names = [
        module.name
        for package in (streams, schemas)
        for module in pkgutil.walk_packages(package.__path__, f"{package.__name__}.")
        if module.name not in OWN_ENVIRONMENT
    ]
    failed = 0
    for name in names:
        try:
            importlib.import_module(name)
        except Exception as error:
            failed += 1
            print(f"{name}: {type(error).__name__}: {error}")
    print(f"{len(names) - failed} of {len(names)} modules can be imported")
    return int(failed > 0 or not names)


if __name__ == "__main__":
    sys.exit(main())
