"""The drawings of a PDF's page beside its text (straight lines, boxes, pictures), and the text that nobody sees.

Text is unseen if it has the colour of what is behind it, no paint at all (the mode of recognised text, which is read
where a picture of it is above or below), an opaque box over it, no size, or a place outside of the page's visible part.
What is too complicated to judge (gradients, patterns, round shapes, pictures) counts as a background that shows text.
"""

import ctypes
import itertools
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any, NamedTuple, Protocol

import pypdfium2 as pdfium
import pypdfium2.raw as raw

from streams.pages.formats.pdf_model import Box, Rule, Rules

MAX_OBJECTS = 3_000
"""Maximum number of objects of one page that are looked at. On a page with more, no text counts as unseen by colour."""
MAX_DOCUMENT_OBJECTS = 150_000
"""Maximum number of objects of all pages that are looked at: about a second of CPU time."""
MAX_SEGMENTS = 400
"""Maximum number of segments of one path that are looked at. A path with more is a drawing."""
MAX_DOCUMENT_SEGMENTS = 150_000
THIN = 2.5
"""Maximum thickness of a rule (points)."""
MIN_RULE = 6.0
"""Minimum length of a rule (points)."""
SAME_COLOUR = 12
"""Maximum difference of two colours that nobody sees apart, in each of red, green and blue (of 255)."""
MIN_SIZE = 1.0
"""Minimum size of letters that a reader sees (points)."""
_OPAQUE = 255
_WHITE = (255, 255, 255)
_INVISIBLE = raw.FPDF_TEXTRENDERMODE_INVISIBLE
_FILLED = frozenset({raw.FPDF_TEXTRENDERMODE_FILL, raw.FPDF_TEXTRENDERMODE_FILL_CLIP})
EVERYWHERE = Box(float("-inf"), float("-inf"), float("inf"), float("inf"))
_UNMOVED = (1.0, 0.0, 0.0, 1.0, 0.0, 0.0)
"""The matrix that moves nothing."""
_Colour = tuple[int, int, int]
_Point = tuple[float, float]


class _Paint(NamedTuple):
    """Something that covers a box. `colour` is None for a picture, and for what is too complicated to judge."""

    order: int
    box: Box
    colour: _Colour | None
    is_picture: bool


class _HasPlace(Protocol):
    """A word with its place on the page."""

    @property
    def left(self) -> float: ...
    @property
    def right(self) -> float: ...
    @property
    def middle(self) -> float: ...


@dataclass(slots=True)
class Budget:
    """The number of objects that may still be looked at in a document."""

    objects: int = MAX_DOCUMENT_OBJECTS
    segments: int = MAX_DOCUMENT_SEGMENTS


@dataclass(slots=True)
class Painted:
    """The drawings of a page."""

    rules: Rules = field(default_factory=Rules)
    visible: Box = EVERYWHERE
    """The part of the page that is shown."""
    may_hide: bool = False
    """True if any text of the page may be unseen."""
    _paints: list[_Paint] = field(default_factory=list)
    _orders: dict[int, int] = field(default_factory=dict)
    """The place of each object of text in the order of drawing, by its address."""
    _unseen: dict[int, bool] = field(default_factory=dict)
    _is_complete: bool = True

    @classmethod
    def on(cls, page: Any, budget: Budget) -> "Painted":
        """Return what a page draws, as far as the budget allows."""
        painted = cls(visible=_visible_box(page))
        count = raw.FPDFPage_CountObjects(page)
        objects = (raw.FPDFPage_GetObject(page, index) for index in range(min(count, MAX_OBJECTS)))
        painted._read(objects, budget, _UNMOVED, nested=False)
        painted._is_complete = painted._is_complete and count <= MAX_OBJECTS
        return painted

    def hides(self, letter: Any, word: "_HasPlace", size: float) -> bool:
        """Return whether nobody sees a word. `letter` is the object of its first letter."""
        x, y = (word.left + word.right) / 2, word.middle
        if size <= MIN_SIZE:
            return True
        if not letter:
            return False
        address = ctypes.addressof(letter.contents)
        found = self._unseen.get(address)
        if found is None:
            found = self._unseen[address] = self._is_unseen(letter, address, x, y)
        return found

    def is_outside(self, word: "_HasPlace") -> bool:
        """Return whether a word is not in the part of the page that is shown."""
        return not self.visible.holds((word.left + word.right) / 2, word.middle)

    def _is_unseen(self, letter: Any, address: int, x: float, y: float) -> bool:
        """Return whether an object of text is unseen, by the middle of its first word."""
        around = [paint for paint in self._paints if paint.box.holds(x, y)]
        mode = raw.FPDFTextObj_GetTextRenderMode(letter)
        if mode == _INVISIBLE:
            return self._is_complete and not any(paint.is_picture for paint in around)
        order = self._orders.get(address)
        if mode not in _FILLED or order is None or not self._is_complete:
            return False
        if any(paint.colour is not None and paint.order > order for paint in around):
            return True
        ground = next((paint.colour for paint in reversed(around) if paint.order < order), _WHITE)
        colour, opacity = _fill_of(letter)
        if colour is None or ground is None:
            return False
        return opacity == 0 or all(abs(one - other) <= SAME_COLOUR for one, other in zip(colour, ground, strict=True))

    def _read(self, objects: Iterator[Any], budget: Budget, matrix: tuple[float, ...], *, nested: bool) -> None:
        for item in objects:
            if budget.objects <= 0:
                self._is_complete = False
                return
            budget.objects -= 1
            order = MAX_DOCUMENT_OBJECTS - budget.objects
            match raw.FPDFPageObj_GetType(item):
                case raw.FPDF_PAGEOBJ_TEXT:
                    self._orders[ctypes.addressof(item.contents)] = order
                    self.may_hide = self.may_hide or _may_be_unseen(item, self.visible, matrix)
                case raw.FPDF_PAGEOBJ_PATH:
                    self._read_path(item, order, budget, matrix)
                case raw.FPDF_PAGEOBJ_FORM if not nested:
                    count = min(raw.FPDFFormObj_CountObjects(item), MAX_OBJECTS)
                    inside = (raw.FPDFFormObj_GetObject(item, index) for index in range(count))
                    self._read(inside, budget, _matrix_of(item), nested=True)
                case _:  # a picture, a gradient, or a form in a form
                    self._paints.append(_Paint(order, _bounds_of(item, matrix), None, is_picture=True))

    def _read_path(self, path: Any, order: int, budget: Budget, matrix: tuple[float, ...]) -> None:
        mode, stroke = ctypes.c_int(), ctypes.c_int()
        if not raw.FPDFPath_GetDrawMode(path, mode, stroke):
            return
        box = _bounds_of(path, matrix)
        if not (mode.value or stroke.value) or self._add_rule(box):
            return
        count = raw.FPDFPath_CountSegments(path)
        if count > min(MAX_SEGMENTS, budget.segments):
            parts, is_straight = list[list[_Point]](), False
        else:
            budget.segments -= count
            parts, is_straight = _parts_of(path, count, matrix)
        for part in parts:
            for (left, bottom), (right, top) in itertools.pairwise(part) if stroke.value else ():
                self._add_rule(Box(min(left, right), min(bottom, top), max(left, right), max(bottom, top)))
            if mode.value:
                self._add_rule(_around(part))
        if mode.value:
            is_box = is_straight and len(parts) == 1 and 4 <= len(parts[0]) <= 6 and _is_rectangle(parts[0])
            colour, opacity = _fill_of(path)
            is_plain = is_box and opacity == _OPAQUE and not raw.FPDFPageObj_HasTransparency(path)
            clip = _clip_of(path)
            shown = Box(
                max(box.left, clip.left), max(box.bottom, clip.bottom),
                min(box.right, clip.right), min(box.top, clip.top),
            )  # fmt: skip
            self._paints.append(_Paint(order, shown, colour if is_plain else None, is_picture=False))
            self.may_hide = self.may_hide or is_plain

    def _add_rule(self, box: Box) -> bool:
        """Add a box to the rules if it is one."""
        width, height = box.right - box.left, box.top - box.bottom
        if height <= THIN and width >= MIN_RULE:
            self.rules.across.append(Rule((box.bottom + box.top) / 2, box.left, box.right))
        elif width <= THIN and height >= MIN_RULE:
            self.rules.down.append(Rule((box.left + box.right) / 2, box.bottom, box.top))
        else:
            return False
        return True


def _may_be_unseen(letters: Any, visible: Box, matrix: tuple[float, ...]) -> bool:
    """Return whether an object of text is bright or without paint, not wholly on the page, or of a tiny font."""
    if raw.FPDFTextObj_GetTextRenderMode(letters) == _INVISIBLE:
        return True
    box = _bounds_of(letters, matrix)
    if box.top - box.bottom <= MIN_SIZE or not (
        visible.left <= box.left
        and box.right <= visible.right
        and visible.bottom <= box.bottom <= box.top <= visible.top
    ):
        return True
    colour, opacity = _fill_of(letters)
    return opacity < _OPAQUE or (colour is not None and min(colour) >= _OPAQUE - 2 * SAME_COLOUR)


def _visible_box(page: Any) -> Box:
    try:
        media, crop = Box(*page.get_mediabox()), Box(*page.get_cropbox())
    except (pdfium.PdfiumError, TypeError, ValueError):
        return EVERYWHERE
    box = Box(
        max(media.left, crop.left), max(media.bottom, crop.bottom), min(media.right, crop.right),
        min(media.top, crop.top),
    )  # fmt: skip
    return box if box.left < box.right and box.bottom < box.top else EVERYWHERE


def _matrix_of(item: Any) -> tuple[float, ...]:
    matrix = raw.FS_MATRIX()
    if not raw.FPDFPageObj_GetMatrix(item, matrix):
        return _UNMOVED
    return (matrix.a, matrix.b, matrix.c, matrix.d, matrix.e, matrix.f)


def _move(x: float, y: float, matrix: tuple[float, ...]) -> tuple[float, float]:
    a, b, c, d, e, f = matrix
    return a * x + c * y + e, b * x + d * y + f


def _around(points: list[_Point]) -> Box:
    across, up = [x for x, _ in points], [y for _, y in points]
    return Box(min(across), min(up), max(across), max(up))


def _bounds_of(item: Any, matrix: tuple[float, ...]) -> Box:
    left, bottom, right, top = ctypes.c_float(), ctypes.c_float(), ctypes.c_float(), ctypes.c_float()
    if not raw.FPDFPageObj_GetBounds(item, left, bottom, right, top):
        return EVERYWHERE
    if matrix == _UNMOVED:
        across, up = sorted((left.value, right.value)), sorted((bottom.value, top.value))
        return Box(across[0], up[0], across[1], up[1])
    corners = [
        (left.value, bottom.value),
        (right.value, top.value),
        (left.value, top.value),
        (right.value, bottom.value),
    ]
    return _around([_move(x, y, matrix) for x, y in corners])


def _fill_of(item: Any) -> tuple[_Colour | None, int]:
    """Return colour and opacity of a fill; no colour for a pattern."""
    red, green, blue, opacity = ctypes.c_uint(), ctypes.c_uint(), ctypes.c_uint(), ctypes.c_uint()
    if not raw.FPDFPageObj_GetFillColor(item, red, green, blue, opacity):
        return None, 0
    return (red.value, green.value, blue.value), opacity.value


def _clip_of(item: Any) -> Box:
    """Return the box around what is left of an object by its clipping path."""
    clip = raw.FPDFPageObj_GetClipPath(item)
    count = raw.FPDFClipPath_CountPaths(clip) if clip else 0
    shown = EVERYWHERE
    for index in range(min(max(count, 0), 4)):
        points = []
        for number in range(min(max(raw.FPDFClipPath_CountPathSegments(clip, index), 0), 10)):
            points.append(_point_of(raw.FPDFClipPath_GetPathSegment(clip, index, number)))
        if points:
            box = _around(points)
            shown = Box(
                max(shown.left, box.left), max(shown.bottom, box.bottom), min(shown.right, box.right),
                min(shown.top, box.top),
            )  # fmt: skip
    return shown


def _point_of(segment: Any) -> tuple[float, float]:
    x, y = ctypes.c_float(), ctypes.c_float()
    raw.FPDFPathSegment_GetPoint(segment, x, y)
    return x.value, y.value


def _parts_of(path: Any, count: int, matrix: tuple[float, ...]) -> tuple[list[list[_Point]], bool]:
    """Return the points of each part of a path, and whether all of its segments are straight."""
    own = _matrix_of(path)
    parts: list[list[_Point]] = []
    is_straight = True
    for index in range(count):
        segment = raw.FPDFPath_GetPathSegment(path, index)
        kind = raw.FPDFPathSegment_GetType(segment)
        x, y = _point_of(segment)
        point = _move(*_move(x, y, own), matrix)
        if kind == raw.FPDF_SEGMENT_MOVETO or not parts:
            parts.append([point])
        elif kind == raw.FPDF_SEGMENT_LINETO:
            parts[-1].append(point)
        else:
            is_straight = False
            parts.append([point])
        if raw.FPDFPathSegment_GetClose(segment):
            parts[-1].append(parts[-1][0])
    return [part for part in parts if len(part) > 1], is_straight


def _is_rectangle(points: list[_Point]) -> bool:
    """Return whether each edge goes across or up."""
    return all(abs(x - u) < 1 or abs(y - v) < 1 for (x, y), (u, v) in itertools.pairwise(points))
