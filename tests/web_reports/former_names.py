"""The former names of parts of the crawler, for situations that were written for them."""

import sys
from pathlib import Path
from types import ModuleType
from typing import Any

from streams.clock import now_micros
from streams.crawl import content_signals
from streams.crawl.archives import file_importer, importer
from streams.crawl.archives.readers import NO_PLACE, Limits, Placing
from streams.crawl.archives.sending import MAX_BODY_BYTES, ImportReport, Sender
from streams.crawl.frontier.intake import answers
from streams.stores.protocols import Blobs

_FOLDER, _WARC = file_importer.import_html, importer.import_warc


def install() -> None:
    """Make the former names known to imports, until the process ends."""
    _module("streams.crawl.unavailable_after", is_expired=content_signals.is_expired)
    _module("streams.crawl.frontier.intake.fetched", _own_sitemaps=answers._own_sitemaps)
    vars(file_importer)["import_html"] = _import_html
    vars(importer)["import_warc"] = _import_warc


def _module(name: str, **names: Any) -> None:
    module = ModuleType(name)
    vars(module).update(names)
    sys.modules[name] = module


async def _import_html(folder: Path, blobs: Blobs, emit: Any, place: Placing = NO_PLACE) -> ImportReport:
    limits = Limits(MAX_BODY_BYTES, now_micros(), place=place)
    return await _FOLDER(folder, Sender(blobs, emit, limits=limits))


async def _import_warc(path: Path, blobs: Blobs, emit: Any) -> ImportReport:
    return await _WARC(path, Sender(blobs, emit))
