"""The reliability diagram: a dot for each bin at its place, and names of sets as texts."""

import xml.etree.ElementTree as ElementTree

import pytest

from benchmarks.answers.reliability_diagram import MARGIN, SIDE, draw

SVG = "{http://www.w3.org/2000/svg}"


def test_each_bin_has_its_dot() -> None:
    rows = [{"count": 100, "confidence": 0.0, "right": 0.0}, {"count": 25, "confidence": 1.0, "right": 0.5}]
    figures = {"a<b": {"questions": 90, "without_answer": 35, "ece": 0.1, "reliability": rows}}
    root = ElementTree.fromstring(draw(figures))
    first, second = [circle for circle in root.iter(f"{SVG}circle") if circle.get("fill-opacity")]
    assert (float(first.get("cx", "")), float(first.get("cy", ""))) == (MARGIN, MARGIN + SIDE)
    assert (float(second.get("cx", "")), float(second.get("cy", ""))) == (MARGIN + SIDE, MARGIN + SIDE / 2)
    assert float(first.get("r", "")) == pytest.approx(2 * float(second.get("r", "")), abs=0.2), "area: its questions"
    texts = [text.text for text in root.iter(f"{SVG}text")]
    assert "a<b" in texts
    assert "125 questions," in texts
