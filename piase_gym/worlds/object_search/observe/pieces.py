"""Texts of ObjectSearch straight from vectors, put together from pieces that are written once.

What `text.text_of` writes from the facts of a vector is written here from its bytes, in the same
words. Most pieces are like earlier ones, so each is cached by the bytes that it stands for.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from struct import Struct
from typing import Any, Final

from piase_gym.worlds.grids.codes import HEADINGS
from piase_gym.worlds.object_search.codes import PITCHES, ROLLS
from piase_gym.worlds.object_search.config import ObjectSearchConfig
from piase_gym.worlds.object_search.facts import facts_of, objects_of, other_of
from piase_gym.worlds.object_search.form import Form, form_of, names_of
from piase_gym.worlds.object_search.geometry import OWN
from piase_gym.worlds.object_search.observe.reports import (
    list_names,
    report_text,
    spot_text,
    stance_text,
)
from piase_gym.worlds.object_search.observe.rows import window_text
from piase_gym.worlds.object_search.observe.text import head_text, other_text, seen_text, text_of
from piase_gym.worlds.object_search.state import OTHER, POSE

MOST: Final = 16_384
"""The most pieces of one kind that are cached."""
MOST_REPORTS: Final = 64
"""The most cached reports of one agent: all listeners read them, but they hardly ever recur."""
_LESS: Final = [bytes((max(0, number - 1),)) for number in range(256)]
"""For each byte, the byte that is one less, as reports have 1 + x."""


class TextPieces(dict[bytes, str]):
    """Pieces of text by the bytes that they stand for, written when they are first asked for."""

    def __init__(self, write: Callable[[bytes], str], most: int = MOST) -> None:
        """Start without any pieces."""
        super().__init__()
        self._write, self._most = write, most

    def __missing__(self, data: bytes) -> str:
        """Write a piece."""
        if len(self) >= self._most:
            self.clear()
        self[data] = found = self._write(data)
        return found


class VectorWriter:
    """Writes texts from kept vectors; (vector, hint) or (vector, hint, caption) may be kept too.

    Args:
        form: Where things lie in the vectors.
    """

    def __init__(self, form: Form) -> None:
        self.form, self._cut = form, Struct(form.parts).unpack_from
        self._spots = TextPieces(spot_text)
        self._stances, self._windows = TextPieces(self._stance), TextPieces(self._window)
        self._seen, self._names = TextPieces(self._see), TextPieces(self._name)
        numbers = range(len(form.names))
        self._heads = [TextPieces(functools.partial(self._head, n)) for n in numbers]
        self._others = [TextPieces(functools.partial(self._other, n)) for n in numbers]
        self._reports = [
            TextPieces(functools.partial(self._report, n), MOST_REPORTS) for n in numbers
        ]

    def __reduce__(self) -> Any:
        """Copy and pickle without the cached pieces."""
        return vector_writer_of, (self.form.config,)

    def __call__(self, kept: Any, agent: int) -> str:
        """Write the text of the moment at which the vector was kept."""
        form = self.form
        if isinstance(kept, tuple) or not form.by_pieces:
            given = kept if isinstance(kept, tuple) else (kept,)
            return text_of(facts_of(given[0], agent, form, *given[1:]), form)
        window, *reports, others, things, spot, turned, counts = self._cut(kept)
        here = self._here(spot, turned, window) if window else f"position {spot[0]}."
        seen = self._seen[things]
        if others.strip(b"\0"):
            seen += self._see_others(others)
        for number, report in enumerate(reports):
            if report[0]:
                seen += self._reports[number][report]
        return f"{self._heads[agent][counts]}{here}{seen}"

    def _head(self, number: int, data: bytes) -> str:
        """Write who an agent is and how far the episode has come."""
        steps, limit = data[0] + 256 * data[1], data[2] + 256 * data[3]
        return head_text(self.form.names[number], steps, limit)

    def _here(self, spot: bytes, turned: bytes, window: bytes) -> str:
        """Write where an agent in a house is and where it looks, and what is ahead."""
        stance = self._stances[turned + window[OWN : OWN + 1]]
        return f"{self._spots[spot]}, {stance}{self._windows[window]}"

    def _stance(self, data: bytes) -> str:
        """Write heading, pitch and roll, and what is below."""
        heading, pitch, roll, below = data
        turned = HEADINGS[heading], PITCHES[pitch], ROLLS[roll]
        return stance_text(self.form.cell_names[below], *turned, self.form)

    def _window(self, codes: bytes) -> str:
        """Write what is ahead."""
        return window_text(codes, self.form.config.sight)

    def _see(self, places: bytes) -> str:
        """Write which objects are in sight, after a line break."""
        found = objects_of(places, self.form)
        shown = found or not self.form.house
        return f"\nYou see {seen_text(found, False)}." if shown else ""

    def _see_others(self, places: bytes) -> str:
        """Write which agents are in sight, each after a line break."""
        at = range(0, len(places), OTHER)
        pairs = zip(self._others, at, strict=True)
        return "".join([known[places[i : i + OTHER]] for known, i in pairs if places[i]])

    def _other(self, number: int, place: bytes) -> str:
        """Write where an agent is seen, after a line break."""
        return f"\n{other_text(other_of(number, place, self.form))}"

    def _report(self, number: int, report: bytes) -> str:
        """Write what an agent has reported, after a line break."""
        form = self.form
        here = f"position {report[0] - 1}"
        if form.house:
            here = self._here(_LESS[report[0]] + report[1:3], report[3:6], report[POSE:])
        return f"\n{form.names[number]} says: {report_text(here, self._names[report[6:8]], form)}"

    def _name(self, bits: bytes) -> str:
        """Write which objects a report names."""
        return list_names(names_of(bits, self.form))


@functools.lru_cache(maxsize=64)
def vector_writer_of(config: ObjectSearchConfig) -> VectorWriter:
    """Return the writer of a config's texts; for the last few, it is the same object each time."""
    return VectorWriter(form_of(config))
