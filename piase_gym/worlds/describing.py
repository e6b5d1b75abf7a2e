"""Describing a picture: what is in it and where, and a caption; and how good a description is.

A `Describer` is any function from a picture to a `Description`. The one that is implemented here
reads pixels: it finds patches of known colours. Others, such as a client of a vision model, are
registered with `register_describer`, and configs name them.
"""

from __future__ import annotations

import functools
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any, Final, NamedTuple, Protocol

import numpy as np
import scipy  # its parts are loaded when they are used
from numpy.typing import NDArray

from piase_gym.core.digest import digest_bytes
from piase_gym.errors import PiaseError, UnknownNameError
from piase_gym.worlds.texts.wording import listing

Picture = NDArray[np.uint8]
"""A picture of shape (height, width, 3)."""
LONGEST_NAME: Final = 40
LONGEST_CAPTION: Final = 500
MOST_OBJECTS: Final = 32
"""No description has more objects; the largest are kept."""


class SeenObject(NamedTuple):
    """An object in a picture.

    Attributes:
        name: What it is, in lower-case words.
        box: Its left, top, right and bottom edges in pixels; right and bottom are exclusive.
    """

    name: str
    box: tuple[int, int, int, int]

    @property
    def area(self) -> int:
        """How many pixels its box has."""
        left, top, right, bottom = self.box
        return (right - left) * (bottom - top)


class Description(NamedTuple):
    """What a describer returns for a picture: objects, the largest first, and a sentence."""

    objects: tuple[SeenObject, ...] = ()
    caption: str = ""


class Describer(Protocol):
    """Describes pictures. What it returns may be rough; `tidy` makes it fit for facts.

    A describer that cannot repeat its descriptions, such as a model, has a method
    ``log_entries()``, which returns, and then forgets, the log lines since the last call. Its
    descriptions are then logged together with these lines, and runs are replayed without it.

    Raises:
        PiaseError: If it cannot answer now; an episode then goes on without a new description.
    """

    def __call__(self, picture: Picture) -> Description:
        """Describe a picture."""


def tidy(described: Description, height: int, width: int) -> Description:
    """Return a description of limited length, with plain names and boxes within the picture."""
    found = []
    for name, box in described.objects:
        words = " ".join(re.sub(r"[^a-z0-9' -]", " ", str(name).lower()).split())[:LONGEST_NAME]
        left, right = sorted(min(max(int(edge), 0), width) for edge in (box[0], box[2]))
        top, bottom = sorted(min(max(int(edge), 0), height) for edge in (box[1], box[3]))
        if words.strip() and right > left and bottom > top:
            found.append(SeenObject(words.strip(), (left, top, right, bottom)))
    found.sort(key=lambda seen: (-seen.area, seen))
    caption = " ".join(str(described.caption).split())[:LONGEST_CAPTION]
    return Description(tuple(found[:MOST_OBJECTS]), caption)


# -- reading pixels ---------------------------------------------------------------------------

PALETTE: Final[Mapping[str, tuple[float, float, float]]] = {
    "red": (0.84, 0.15, 0.16),
    "orange": (0.95, 0.50, 0.10),
    "yellow": (0.95, 0.85, 0.15),
    "green": (0.20, 0.65, 0.25),
    "cyan": (0.20, 0.80, 0.85),
    "blue": (0.20, 0.40, 0.85),
    "purple": (0.55, 0.25, 0.75),
    "pink": (0.95, 0.55, 0.70),
}
"""Colours by name, as red, green and blue from 0 to 1."""
GREY: Final = 0.12
"""A pixel is grey, and part of no object, if its channels differ by less than this share of their
sum."""
DARK: Final = 40
"""A pixel is black, and part of no object, if its channels are all below this."""


class ColourDescriber:
    """Finds patches of known colours: connected pixels of one hue, however bright they are.

    Args:
        palette: Name -> the colour of the objects with this name. Two objects with the same name
            are told apart if their patches do not touch.
        tolerance: How far a pixel's share of red, green and blue may be from that of a colour.
        least: The smallest number of pixels of an object.
        noun: The word after each name in captions, such as ``patch``.
    """

    def __init__(
        self,
        palette: Mapping[str, tuple[float, float, float]] = PALETTE,
        tolerance: float = 0.08,
        least: int = 12,
        noun: str = "",
    ) -> None:
        self.names = tuple(palette)
        self.shares = _shares(np.array([*palette.values()], np.float64) * 255.0)
        self.tolerance, self.least, self.noun = tolerance, least, noun

    def __call__(self, picture: Picture) -> Description:
        """Describe a picture."""
        height, width = picture.shape[:2]
        codes = self.coded(picture)
        found = []
        for code, part in enumerate(scipy.ndimage.find_objects(codes), 1):
            if part is None:
                continue
            patches, _ = scipy.ndimage.label(codes[part] == code, np.ones((3, 3)))
            sizes = np.bincount(patches.ravel())
            top, left = part[0].start, part[1].start
            for number, (rows, columns) in enumerate(scipy.ndimage.find_objects(patches), 1):
                if sizes[number] >= self.least:
                    box = (left + columns.start, top + rows.start)
                    ends = (left + columns.stop, top + rows.stop)
                    found.append(SeenObject(self.names[code - 1], (*box, *ends)))
        described = tidy(Description(tuple(found)), height, width)
        return described._replace(caption=caption(described.objects, height, width, self.noun))

    def coded(self, picture: Picture) -> NDArray[np.int64]:
        """Return for each pixel the number of its colour in the palette, from 1 on, or 0."""
        red, green, blue = np.moveaxis(picture, -1, 0).astype(np.int32)
        colours = (red << 16) + (green << 8) + blue
        known = _known_colours(self.shares.tobytes(), self.tolerance)
        new = np.sort(colours[known[colours] == 0])
        new = new[np.diff(new, prepend=-1) > 0]  # np.unique takes far longer for many colours
        known[new] = 1 + self._numbers((new[:, None] >> (16, 8, 0) & 255).astype(np.uint8))
        codes: NDArray[np.int64] = known[colours].astype(np.int64) - 1
        return codes

    def _numbers(self, colours: NDArray[np.uint8]) -> NDArray[np.int64]:
        """Return the number of each colour (n, 3) in the palette, from 1 on, or 0."""
        numbers = np.zeros(len(colours), np.int64)
        brightest, total = colours.max(-1), np.maximum(colours.sum(-1, dtype=np.int64), 1)
        coloured = (brightest - colours.min(-1) >= GREY * total) & (brightest >= DARK)
        shares = _shares(colours[coloured].astype(np.float64))
        gaps = np.linalg.norm(shares[:, None, :] - self.shares, axis=-1)
        numbers[coloured] = np.where(gaps.min(-1) <= self.tolerance, gaps.argmin(-1) + 1, 0)
        return numbers


@functools.lru_cache(maxsize=4)
def _known_colours(shares: bytes, tolerance: float) -> NDArray[np.uint16]:
    """Return a table of all colours, with 1 more than their numbers, or 0 where not yet known.

    A picture has many pixels and few colours. The system gives memory only to what is written.
    """
    return np.zeros(1 << 24, np.uint16)


def _shares(colours: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return each channel as a share of the sum of the three: the hue without the brightness."""
    shares: NDArray[np.float64] = colours / np.maximum(colours.sum(-1, keepdims=True), 1.0)
    return shares


def caption(objects: Sequence[SeenObject], height: int, width: int, noun: str = "") -> str:
    """Write a sentence about where things are in a picture."""
    if not objects:
        return "Nothing that I know is in the picture."
    parts = []
    for name, (left, top, right, bottom) in objects:
        side = ("left", "middle", "right")[min(2, 3 * (left + right) // (2 * width))]
        level = ("upper", "", "lower")[min(2, 3 * (top + bottom) // (2 * height))]
        where = f"in the {level} {side}" if level else _BESIDE[side]
        called = f"{name} {noun}".strip()
        article = "an" if called[0] in "aeiou" else "a"
        parts.append(f"{article} {called} {where}")
    sentence = listing(parts)
    return f"{sentence[0].upper()}{sentence[1:]}."


_BESIDE: Final = {"left": "on the left", "middle": "in the middle", "right": "on the right"}


# -- describers by name -----------------------------------------------------------------------

Palette = Mapping[str, tuple[float, float, float]]
"""The colours of the things that may be in pictures, by name; empty if they are unknown."""


def _colours(palette: Palette) -> Describer:
    return ColourDescriber(palette, least=6) if palette else ColourDescriber(noun="patch")


_DESCRIBERS: dict[str, Callable[[Palette], Describer]] = {"colours": _colours}


def register_describer(name: str, make: Callable[[Palette], Describer]) -> None:
    """Register a describer for configs; `make` is called for each environment and its config."""
    _DESCRIBERS[name] = make


def describer(name: str, palette: Palette) -> Describer:
    """Return a describer of pictures of the things in the palette.

    Raises:
        UnknownNameError: If no describer with this name is registered.
    """
    if name not in _DESCRIBERS:
        raise UnknownNameError("describer", name, sorted(_DESCRIBERS))
    return _DESCRIBERS[name](palette)


# -- descriptions in logs ---------------------------------------------------------------------

PICTURE: Final = "picture"
"""The kind of the lines in logs that hold a description."""
Recalled = Mapping[str, Description]
"""Earlier descriptions of pictures, by the digests of the pictures."""
_RECALLED: ContextVar[Recalled | None] = ContextVar("recalled", default=None)


@contextmanager
def recalling(known: Recalled | None) -> Iterator[None]:
    """Let worlds that are made in this context use known descriptions and ask no describer."""
    token = _RECALLED.set(known)
    try:
        yield
    finally:
        _RECALLED.reset(token)


def recalled() -> Recalled | None:
    """Return the descriptions for a world that is made now; ``None`` to ask a describer."""
    return _RECALLED.get()


class Recaller:
    """Describes pictures that were described before.

    Args:
        known: The earlier descriptions.
    """

    def __init__(self, known: Recalled) -> None:
        self._known = known

    def __call__(self, picture: Picture) -> Description:
        """Return the earlier description of a picture.

        Raises:
            PiaseError: If there is none.
        """
        found = self._known.get(picture_digest(picture))
        if found is None:
            raise PiaseError("the log has no description of it")
        return found


def picture_digest(picture: Picture) -> str:
    """Return the digest of a picture."""
    return digest_bytes(np.ascontiguousarray(picture).data)


def description_value(picture: Picture, described: Description) -> dict[str, Any]:
    """Return a description in the form in which logs hold it."""
    objects = [[name, list(box)] for name, box in described.objects]
    fields = {"caption": described.caption, "objects": objects}
    return {"kind": PICTURE, "picture": picture_digest(picture), "described": fields}


def descriptions_in(events: Iterable[Mapping[str, Any]]) -> dict[str, Description]:
    """Return the descriptions in the lines of a run, by picture; malformed ones are left out."""
    found = {}
    for event in events:
        data = event["event_data"]
        if data.get("kind") == PICTURE and isinstance(data.get("picture"), str):
            try:
                fields = data["described"]
                rows = [(str(name), [*map(int, box)]) for name, box in fields["objects"]]
                seen = tuple(SeenObject(name, (a, b, c, d)) for name, (a, b, c, d) in rows)
                found[data["picture"]] = Description(seen, str(fields["caption"]))
            except (KeyError, TypeError, ValueError):
                continue
    return found


# -- truth ------------------------------------------------------------------------------------


class Score(NamedTuple):
    """How good a description is.

    Attributes:
        precision: The share of the described objects that are in the picture.
        recall: The share of the objects in the picture that were described.
        overlap: The mean overlap (intersection over union) of the boxes that were matched.
    """

    precision: float
    recall: float
    overlap: float = 0.0

    @property
    def f1(self) -> float:
        """The harmonic mean of precision and recall."""
        total = self.precision + self.recall
        return 2.0 * self.precision * self.recall / total if total else 0.0


def objects_in(mask: NDArray[np.int32], names: Mapping[int, str], least: int) -> Description:
    """Return what a segmentation mask shows: the truth about a picture.

    Args:
        mask: For each pixel the number of the body that is seen there.
        names: Names, by number, of the bodies that are objects.
        least: The smallest number of pixels for an object to count as seen.
    """
    found = []
    for number, name in names.items():
        rows, columns = np.nonzero(mask == number)
        if len(rows) >= least:
            box = (columns.min(), rows.min(), columns.max() + 1, rows.max() + 1)
            found.append(SeenObject(name, (int(box[0]), int(box[1]), int(box[2]), int(box[3]))))
    height, width = mask.shape
    described = tidy(Description(tuple(found)), height, width)
    return described._replace(caption=caption(described.objects, height, width))


def score_objects(
    told: Iterable[SeenObject], truth: Iterable[SeenObject], overlap: float = 0.3
) -> Score:
    """Score the objects of a description: a match has the same name and at least this overlap."""
    left, right = list(told), list(truth)
    if not left or not right:
        return Score(float(not left), float(not right), float(not left and not right))
    gains = np.array([[_overlap(one, two) for two in right] for one in left])
    gains[gains < overlap] = 0.0
    rows, columns = scipy.optimize.linear_sum_assignment(-gains)
    matched = gains[rows, columns]
    matched = matched[matched > 0.0]
    mean = float(matched.mean()) if matched.size else 0.0
    return Score(matched.size / len(left), matched.size / len(right), mean)


def score_caption(words: str, truth: Iterable[SeenObject], vocabulary: Iterable[str]) -> Score:
    """Score a caption by the names in it, whoever wrote it.

    Args:
        words: The caption.
        truth: What is in the picture.
        vocabulary: Every name to look for in the caption; longer names take precedence.
    """
    there, rest, named = {seen.name for seen in truth}, words.lower(), set()
    for name in sorted({*vocabulary, *there}, key=lambda name: (-len(name), name)):
        rest, count = re.subn(rf"\b{re.escape(name)}s?\b", " ", rest)
        if count:
            named.add(name)
    if not named or not there:
        return Score(float(not named), float(not there))
    right = len(named & there)
    return Score(right / len(named), right / len(there))


def _overlap(one: SeenObject, two: SeenObject) -> float:
    """Return the intersection over union of two boxes with the same name, else 0."""
    if one.name != two.name:
        return 0.0
    left, top = max(one.box[0], two.box[0]), max(one.box[1], two.box[1])
    right, bottom = min(one.box[2], two.box[2]), min(one.box[3], two.box[3])
    both = max(0, right - left) * max(0, bottom - top)
    return both / (one.area + two.area - both)
