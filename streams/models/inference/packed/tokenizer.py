"""The tokenizer of a packed file in the usual format (tokenizer.json): SentencePiece's unigrams.

The file's table of replaced characters is the normal form NFKC, with a few characters that become a space or nothing,
and one that keeps its form. So the tokenizer names the few, and NFKC does the rest, which also joins a letter and the
mark behind it.
"""

import json
import unicodedata
from typing import Any

from streams.models.inference.packed.packed_file import PackedModel

WORD = "▁"
"""The sign at the beginning of a word."""
_SHELTER = 0xF0000
"""The first private character in whose place a character waits that keeps its form."""


def tokenizer_json(model: PackedModel) -> bytes:
    """Return the file. Raises ValueError if the table of the packed file is not NFKC with few exceptions."""
    marks = model.marks
    begin, end = model.pieces[marks.begin], model.pieces[marks.end]
    special = [marks.begin, marks.padding, marks.end, marks.unknown, model.pieces.index("<mask>")]
    content = {
        "version": "1.0",
        "truncation": None,
        "padding": None,
        "added_tokens": [_added(number, model.pieces[number]) for number in special],
        "normalizer": {"type": "Sequence", "normalizers": _normalizers(model)},
        "pre_tokenizer": {
            "type": "Sequence",
            "pretokenizers": [
                {"type": "WhitespaceSplit"},
                {"type": "Metaspace", "replacement": WORD, "prepend_scheme": "always", "split": True},
            ],
        },
        "post_processor": {
            "type": "TemplateProcessing",
            "single": [_mark(begin, 0), _text("A", 0), _mark(end, 0)],
            "pair": [_mark(begin, 0), _text("A", 0), _mark(end, 0), _mark(end, 0), _text("B", 0), _mark(end, 0)],
            "special_tokens": {
                name: {"id": name, "ids": [number], "tokens": [name]}
                for name, number in ((begin, marks.begin), (end, marks.end))
            },
        },
        "decoder": {"type": "Metaspace", "replacement": WORD, "prepend_scheme": "always", "split": True},
        "model": {
            "type": "Unigram",
            "unk_id": marks.unknown,
            "vocab": [[piece, float(str(score))] for piece, score in zip(model.pieces, model.scores, strict=True)],
            "byte_fallback": False,
        },
    }
    return json.dumps(content, ensure_ascii=False, separators=(",", ":")).encode()


def _normalizers(model: PackedModel) -> list[dict[str, Any]]:
    spaces: list[str] = []
    nothing: list[str] = []
    for character, replacement in model.replaced.items():
        if unicodedata.normalize("NFKC", character) == replacement:
            continue
        if replacement not in {" ", ""}:
            raise ValueError(f"U+{ord(character):04X} becomes {replacement!r}, which is not NFKC")
        (spaces if replacement else nothing).append(character)
    kept = [(own, chr(_SHELTER + number)) for number, own in enumerate(_kept(model))]
    return [
        _replace(_one_of(nothing), ""),
        _replace(_one_of(spaces), " "),
        *(_replace(own, shelter) for own, shelter in kept),
        {"type": "NFKC"},
        *(_replace(shelter, own) for own, shelter in kept),
    ]


def _kept(model: PackedModel) -> list[str]:
    """Return the characters that NFKC would replace and the model does not, of those in the vocabulary's pieces."""
    known = {character for piece in model.pieces for character in piece}
    return sorted(
        character
        for character in known - model.replaced.keys()
        if unicodedata.normalize("NFKC", character) != character
    )


def _one_of(characters: list[str]) -> dict[str, str]:
    return {"Regex": "[" + "".join(rf"\x{{{ord(each):X}}}" for each in characters) + "]"}


def _replace(pattern: str | dict[str, str], content: str) -> dict[str, Any]:
    form = {"String": pattern} if isinstance(pattern, str) else pattern
    return {"type": "Replace", "pattern": form, "content": content}


def _added(number: int, content: str) -> dict[str, Any]:
    return {
        "id": number, "content": content, "single_word": False, "lstrip": content == "<mask>", "rstrip": False,
        "normalized": False, "special": True,
    }  # fmt: skip


def _mark(name: str, kind: int) -> dict[str, Any]:
    return {"SpecialToken": {"id": name, "type_id": kind}}


def _text(name: str, kind: int) -> dict[str, Any]:
    return {"Sequence": {"id": name, "type_id": kind}}
