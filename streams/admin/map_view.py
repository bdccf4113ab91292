"""The map of the index as an SVG picture of one window of it: zoomed, searched, without scripts. Pure."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal

from streams.maintenance.mapping import Gap, IndexMap, Label, MappedPage
from streams.pages.text.tokens import words

MAX_ZOOM = 64
MAX_SHOWN = 2_500
"""Maximum number of pages that are drawn: more are one cloud."""
COLOURS = 8
"""Number of hosts with a colour of their own: those with most pages."""
SIZE = 1_000
"""Width and height of the picture, in its own units."""
LISTED = 30
EDGE = 40
"""Minimum distance of a label from the upper and lower side, in the picture's units."""
LABEL_CHAR, LABEL_LINE = 13, 34
"""Width of a character and height of a label on a wide screen, in the picture's units."""
Anchor = Literal["start", "middle", "end"]
PlacedLabel = tuple[Label, float, float, Anchor]
"""A label, its place in the picture, and which end of it stands there."""


@dataclass(frozen=True, slots=True)
class Dot:
    """A page in the picture."""

    page: MappedPage
    x: float
    y: float
    colour: int
    """1 to COLOURS; 0 for hosts without a colour."""
    is_found: bool


@dataclass(frozen=True, slots=True)
class Window:
    """A part of the map: its middle (0 to 1), and how many times it is enlarged."""

    x: float = 0.5
    y: float = 0.5
    zoom: int = 1
    query: str = ""

    def at(self, x: float, y: float, zoom: float) -> dict[str, Any]:
        """Return the parameters of another window, inside of the map."""
        zoom = min(max(int(zoom), 1), MAX_ZOOM)
        half = 0.5 / zoom
        middle = {"x": round(min(max(x, half), 1 - half), 4), "y": round(min(max(y, half), 1 - half), 4)}
        return {**middle, "zoom": zoom, "q": self.query}

    def moves(self) -> dict[str, dict[str, Any]]:
        """Return the windows beside this one, closer and farther, by the words of their links."""
        step = 0.25 / self.zoom
        return {
            "Closer": self.at(self.x, self.y, self.zoom * 2),
            "Farther": self.at(self.x, self.y, self.zoom / 2),
            "Left": self.at(self.x - step, self.y, self.zoom),
            "Right": self.at(self.x + step, self.y, self.zoom),
            "Up": self.at(self.x, self.y - step, self.zoom),
            "Down": self.at(self.x, self.y + step, self.zoom),
            "All": self.at(0.5, 0.5, 1),
        }

    def place(self, x: float, y: float) -> tuple[float, float] | None:
        """Return the place in the picture, or None outside of the window."""
        half = 0.5 / self.zoom
        if abs(x - self.x) > half or abs(y - self.y) > half:
            return None
        return round((x - self.x + half) * self.zoom * SIZE, 1), round((y - self.y + half) * self.zoom * SIZE, 1)


@dataclass(frozen=True, slots=True)
class MapView:
    """The picture, and what stands beside it."""

    window: Window
    dots: tuple[Dot, ...]
    labels: tuple[PlacedLabel, ...]
    gaps: tuple[tuple[Gap, float, float], ...]
    hosts: tuple[tuple[str, int, int], ...]
    """Host, colour and number of pages of the hosts with a colour."""
    found: tuple[MappedPage, ...]
    inside: int
    """Number of pages in the window."""


def parse_window(parameters: dict[str, str]) -> Window:
    """Return the window of a request. What is no number is the whole map."""
    try:
        x, y, zoom = (float(parameters.get(name) or default) for name, default in (("x", 0.5), ("y", 0.5), ("zoom", 1)))
        given = Window().at(x, y, zoom)
    except (ValueError, OverflowError):
        given = Window().at(0.5, 0.5, 1)
    return Window(given["x"], given["y"], given["zoom"], parameters.get("q", "")[:100])


def view_map(map_: IndexMap, window: Window) -> MapView:
    """Return the picture of a window."""
    most = Counter(page.host for page in map_.pages).most_common(COLOURS)
    colours = {host: number for number, (host, _) in enumerate(most, start=1)}
    wanted = set(words(window.query))
    found = tuple(page for page in map_.pages if wanted and _has(page, wanted))
    dots = _dots(map_.pages, window, colours, {page.page_id for page in found})
    labels = [
        (label, place[0], min(max(place[1], EDGE), SIZE - EDGE), _anchor(place[0]))
        for label in map_.labels
        if (place := window.place(label.x, label.y))
    ]
    gaps = tuple((gap, *place) for gap in map_.gaps if (place := window.place(gap.x, gap.y)))
    hosts = tuple((host, colours[host], count) for host, count in most)
    return MapView(window, tuple(dots[:MAX_SHOWN]), _readable(labels), gaps, hosts, found[:LISTED], len(dots))


def _readable(labels: Sequence[PlacedLabel]) -> tuple[PlacedLabel, ...]:
    """Return the labels without those that would cover the label of a larger region. They appear in a closer window."""
    kept: list[PlacedLabel] = []
    for one in sorted(labels, key=lambda placed: -placed[0].pages):
        if not any(_overlap(one, other) for other in kept):
            kept.append(one)
    return tuple(kept)


def _overlap(one: PlacedLabel, other: PlacedLabel) -> bool:
    (left, right), (other_left, other_right) = _sides(one), _sides(other)
    return abs(one[2] - other[2]) < LABEL_LINE and left < other_right and other_left < right


def _sides(placed: PlacedLabel) -> tuple[float, float]:
    label, x, _, anchor = placed
    width = len(label.text) * LABEL_CHAR
    left = x - width * {"start": 0.0, "middle": 0.5, "end": 1.0}[anchor]
    return left, left + width


def _anchor(x: float) -> Anchor:
    """Return which end of a label stands at its place, so that labels at the sides are not cut off."""
    return "start" if x < SIZE / 5 else "end" if x > SIZE * 4 / 5 else "middle"


def _dots(pages: Sequence[MappedPage], window: Window, colours: dict[str, int], found: set[str]) -> list[Dot]:
    """Return the dots in the window, the found ones first: they must not be the ones left out."""
    places = ((page, window.place(page.x, page.y)) for page in pages)
    dots = [
        Dot(page, *place, colours.get(page.host, 0), page.page_id in found)
        for page, place in places
        if place is not None
    ]
    return sorted(dots, key=lambda dot: not dot.is_found)


def _has(page: MappedPage, wanted: set[str]) -> bool:
    return wanted <= {*page.words, *words(page.title), *words(page.host)}
