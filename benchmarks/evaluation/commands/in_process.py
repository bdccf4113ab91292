"""The settings and options of a measurement of search that runs in this process, without servers."""

import os
from pathlib import Path
from typing import TYPE_CHECKING, Any

from streams.commands.console import load_settings
from streams.settings import Settings

if TYPE_CHECKING:
    from benchmarks.evaluation.search import Options


def search_in_process(cache: Path | None = None, **own: Any) -> tuple[Settings, "Options"]:
    """Return settings with the models in this process, and options with one on each core.

    Vectors are kept in a folder of RIFFLE_HOME unless `cache` is another one. `own` are further options.
    """
    from benchmarks.evaluation.search import Options

    settings = load_settings(triton={"url": "inprocess:"})
    return settings, Options(cache or settings.home / "eval", embedders=os.cpu_count() or 1, **own)
