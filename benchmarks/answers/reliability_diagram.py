"""The reliability diagram of answers' confidence, as SVG, from the figures of `benchmarks.answers.confidence fit`.

    python -m benchmarks.answers.confidence fit FILE --train squad-a wikiqa-a > FIGURES
    python -m benchmarks.answers.reliability_diagram FIGURES --out docs/images/answer-reliability.svg

A dot is a bin of one set: its mean confidence, and the share of its answers that was right. Its area is the number of
its questions. On the diagonal, both are equal.
"""

import argparse
import json
from collections.abc import Mapping
from html import escape
from pathlib import Path
from typing import Any

from streams.answers.choosing import MIN_CONFIDENCE

SIDE, MARGIN, LEGEND = 320, 56, 170
"""Width and height of the plot, its margin, and the width of the legend (pixels)."""
COLOURS = ("#0b6477", "#b4560b", "#6b3fa0", "#3a7d2c")
AREA = 7.0
"""Area of a dot for each question (square pixels)."""


def draw(figures: Mapping[str, Any]) -> str:
    """Return the diagram of the sets in `figures`: each has `questions`, `without_answer`, `ece` and `reliability`."""
    width, height = SIDE + 2 * MARGIN + LEGEND, SIDE + 2 * MARGIN
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" width="{width}" height="{height}" '
        'font-family="sans-serif" font-size="12" role="img">',
        "<title>Confidence of answers, and the share that was right</title>",
        f'<rect width="{width}" height="{height}" fill="#fff"/>',
        *_axes(),
    ]
    for number, (name, of_set) in enumerate(figures.items()):
        colour = COLOURS[number % len(COLOURS)]
        parts += [_dot(row, colour) for row in of_set["reliability"]]
        parts += _legend(number, name, of_set, colour)
    return "\n".join([*parts, "</svg>"]) + "\n"


def _place(confidence: float, right: float) -> tuple[float, float]:
    return MARGIN + SIDE * confidence, MARGIN + SIDE * (1 - right)


def _line(begin: tuple[float, float], end: tuple[float, float], colour: str, dash: str = "") -> str:
    (x1, y1), (x2, y2) = _place(*begin), _place(*end)
    dashed = f' stroke-dasharray="{dash}"' if dash else ""
    return f'<line x1="{x1:.1f}" y1="{y1:.1f}" x2="{x2:.1f}" y2="{y2:.1f}" stroke="{colour}"{dashed}/>'


def _axes() -> list[str]:
    parts = []
    for step in range(6):
        value = step / 5
        x, y = _place(value, value)
        parts += [
            _line((value, 0), (value, 1), "#ddd"),
            _line((0, value), (1, value), "#ddd"),
            f'<text x="{x:.1f}" y="{MARGIN + SIDE + 18}" text-anchor="middle">{value:g}</text>',
            f'<text x="{MARGIN - 8}" y="{y + 4:.1f}" text-anchor="end">{value:g}</text>',
        ]
    x, _ = _place(MIN_CONFIDENCE, 0)
    middle = MARGIN + SIDE / 2
    return [
        *parts,
        _line((0, 0), (1, 1), "#555"),
        _line((MIN_CONFIDENCE, 0), (MIN_CONFIDENCE, 1), "#555", "4 3"),
        f'<text x="{x:.1f}" y="{MARGIN - 8}" text-anchor="middle">shown from {MIN_CONFIDENCE:g} on</text>',
        f'<text x="{middle}" y="{MARGIN + SIDE + 40}" text-anchor="middle">confidence</text>',
        f'<text transform="translate(16 {middle}) rotate(-90)" text-anchor="middle">share that was right</text>',
    ]


def _dot(row: Mapping[str, float], colour: str) -> str:
    x, y = _place(row["confidence"], row["right"])
    radius = (AREA * row["count"] / 3.1416) ** 0.5
    return (
        f'<circle cx="{x:.1f}" cy="{y:.1f}" r="{radius:.1f}" fill="{colour}" fill-opacity="0.55" stroke="{colour}">'
        f"<title>{row['count']} questions: {row['confidence']:.2f}, right {row['right']:.2f}</title></circle>"
    )


def _legend(number: int, name: str, of_set: Mapping[str, Any], colour: str) -> list[str]:
    x, y = 2 * MARGIN + SIDE - 24, MARGIN + 12 + 54 * number
    count = of_set["questions"] + of_set["without_answer"]
    return [
        f'<circle cx="{x}" cy="{y - 4}" r="6" fill="{colour}"/>',
        f'<text x="{x + 14}" y="{y}">{escape(name)}</text>',
        f'<text x="{x + 14}" y="{y + 16}" fill="#555">{count} questions,</text>',
        f'<text x="{x + 14}" y="{y + 32}" fill="#555">calibration error {of_set["ece"]:.3f}</text>',
    ]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("figures", type=Path)
    parser.add_argument("--out", type=Path, required=True)
    arguments = parser.parse_args()
    arguments.out.write_text(draw(json.loads(arguments.figures.read_text(encoding="utf-8"))), encoding="utf-8")


if __name__ == "__main__":
    main()
