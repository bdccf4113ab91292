"""CPU time of the chain model beside the embedding's, for the same pages and in one thread each.

    python -m benchmarks.models.chain_cost FOLDER [--pages N]

FOLDER holds HTML files (any depth). Both models run in this process with the files of the local repository.
"""

import argparse
import json
from collections.abc import Callable
from functools import partial
from pathlib import Path
from time import process_time
from typing import Any
from uuid import UUID

from streams.errors import Refused
from streams.models.inference.chain_encoder import chain_model
from streams.models.inference.encoder import SentenceEncoder
from streams.models.inference.repository import CHAIN_MODEL, parameters_of, read_config
from streams.models.protocols import Link
from streams.pages.normalize import normalize
from streams.settings import Settings
from streams.statements.chaining import chain_input, make_statements
from streams.statements.drafting import draft_statements
from streams.statements.sentences.splitter import SentenceSplitter

PAGE = UUID(int=0)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--pages", type=int, default=40)
    parser.add_argument("--runtime", help="runtime of both models, instead of the configured ones")
    arguments = parser.parse_args()
    repository = Settings().models_path / "local"
    chosen = {"runtime": arguments.runtime} if arguments.runtime else {}
    configured = {name: parameters_of(read_config(repository / name)) | chosen for name in ("sbert", CHAIN_MODEL)}
    encoder = SentenceEncoder(configured["sbert"], repository / "sbert" / "1")
    links_of = chain_model(configured[CHAIN_MODEL], repository / CHAIN_MODEL / "1")
    encoder.embed(["warm up " * 20] * 8)
    links_of(["It warms up.", "It warms up."])
    splitter, figures = SentenceSplitter(), dict.fromkeys(("chains", "sentences", "statements", "without chains"), 0.0)
    counts = {"pages": 0, "sentences": 0, "statements": 0, "chained": 0}
    for path in sorted(arguments.folder.rglob("*.html"))[: arguments.pages]:
        try:
            document = normalize(path.read_bytes(), url=f"https://a.example/{path.name}").document
        except Refused:
            continue
        found, _ = draft_statements(document, splitter)
        sentences, owners = chain_input(found)
        links = _timed(figures, "chains", partial(links_of, sentences))
        made = make_statements(PAGE, found, owners, links)
        bare = make_statements(PAGE, found, owners, [Link()] * len(links))
        _timed(figures, "statements", partial(encoder.embed, [each.in_context for each in made]))
        _timed(figures, "without chains", partial(encoder.embed, [each.in_context for each in bare]))
        own = [text for text in sentences if text]
        _timed(figures, "sentences", partial(encoder.embed, own))
        counts["pages"] += 1
        counts["sentences"] += len(own)
        counts["statements"] += len(made)
        counts["chained"] += sum(bool(each.chain) for each in made)
    seconds = {f"{name}_cpu_seconds": round(value, 2) for name, value in figures.items()}
    print(json.dumps({**counts, **seconds}, indent=1))


def _timed(figures: dict[str, float], name: str, call: Callable[[], Any]) -> Any:
    began = process_time()
    result = call()
    figures[name] += process_time() - began
    return result


if __name__ == "__main__":
    main()
