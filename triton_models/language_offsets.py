"""Measures how far multilingual-e5-small's vectors of texts in each language are from the same texts in English.

    pip download --no-deps django==5.2.19 && unzip django-*.whl -d django
    python -m triton_models.language_offsets django

The texts are the messages of Django (BSD licence), which volunteers have translated into some eighty languages. The
file is what searches subtract from queries (`streams/search/retrieval/query_embedder.py`), in half precision.
"""

import argparse
import gettext
import re
from collections import Counter, defaultdict
from collections.abc import Mapping
from pathlib import Path

import numpy as np

from streams.models.inference.encoder import Floats, SentenceEncoder
from streams.models.inference.repository import QUERY_PREFIX, parameters_of, read_config
from streams.search.retrieval.query_embedder import OFFSETS
from triton_models.calibrate import LOCAL

MIN_CHARS = 20
"""Minimum length of an English message (characters). Shorter ones are mostly names."""
MESSAGES, MIN_MESSAGES = 120, 60
"""Number of messages, those that most languages have, and the minimum of them that a language has."""
ENGLISH, PLACE = "en", "3"
"""The primary subtag of English, and what stands in the place of a value."""
_VALUE = re.compile(r"%\(\w{1,40}\)[sd]|%[sd]")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("package", type=Path, help="folder of Django's unpacked wheel")
    translated = translations(parser.parse_args().package)
    parameters = parameters_of(read_config(LOCAL / "e5"))
    offsets = measure(SentenceEncoder(parameters, LOCAL / "e5" / "1"), parameters[QUERY_PREFIX], translated)
    np.savez(OFFSETS, **{language: offset.astype(np.float16) for language, offset in sorted(offsets.items())})
    print(f"{OFFSETS}: {len(offsets)} languages")  # noqa: T201 - a script's result


def translations(package: Path) -> dict[str, dict[str, str]]:
    """Return the translations of English messages by language (its primary subtag, as Django's folders name it)."""
    found: defaultdict[str, dict[str, str]] = defaultdict(dict)
    for file in sorted(package.rglob("locale/*/LC_MESSAGES/django.mo")):
        language = file.parents[1].name.partition("_")[0]
        with file.open("rb") as content:
            catalog: Mapping[str | tuple[str, int], str] = vars(gettext.GNUTranslations(content))["_catalog"]
        for key, text in catalog.items():
            message = (key if isinstance(key, str) else key[0]).rpartition("\x04")[2]
            if len(message) >= MIN_CHARS and text and "<" not in message and language != ENGLISH:
                found[language].setdefault(message, text)
    return found


def measure(encoder: SentenceEncoder, prefix: str, translated: Mapping[str, Mapping[str, str]]) -> dict[str, Floats]:
    """Return the offset of each language with enough messages: the mean distance to the same messages in English."""
    counts = Counter(message for own in translated.values() for message in own)
    messages = sorted(sorted(counts), key=lambda message: -counts[message])[:MESSAGES]
    english = embed(encoder, prefix, messages)
    offsets = {}
    for language, own in translated.items():
        places = [place for place, message in enumerate(messages) if message in own]
        if len(places) >= MIN_MESSAGES:
            distances = embed(encoder, prefix, [own[messages[place]] for place in places]) - english[places]
            offsets[language] = distances.mean(axis=0)
    return offsets


def embed(encoder: SentenceEncoder, prefix: str, texts: list[str]) -> Floats:
    return encoder.embed([prefix + _VALUE.sub(PLACE, text) for text in texts])


if __name__ == "__main__":
    main()
