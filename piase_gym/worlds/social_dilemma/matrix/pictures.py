"""Pictures of matrix games: the table of payoffs, and a strip of what was chosen."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray
from PIL import Image, ImageDraw, ImageFont

from piase_gym.worlds.drawing import COLOURS, GOLD, GRID, INK, PAPER, WHITE, mix, readable
from piase_gym.worlds.social_dilemma.config import SocialDilemmaConfig
from piase_gym.worlds.social_dilemma.games import GAMES_BY_NAME, UNIT

KEPT: Final = 64
"""Rounds that a record remembers."""
SIGNS: Final = {True: "C", False: "d"}
COOPERATING: Final = "#2a9d6f"
DEFECTING: Final = "#c8443c"
SCALE: Final = 2
WIDTH: Final = 640
MARGIN: Final = 20


@dataclass(frozen=True)
class Match:
    """Everything that a picture shows, apart from the state it was read from.

    Attributes:
        config: What is played.
        names: The agents that play.
        played: Rounds that are over.
        scores: What each agent has got.
        rounds: For each agent, whether it cooperated, the newest round last.
    """

    config: SocialDilemmaConfig
    names: tuple[str, ...]
    played: int
    scores: tuple[float, ...]
    rounds: tuple[tuple[bool, ...], ...]


def match_of(record: Any, config: SocialDilemmaConfig, names: Sequence[str]) -> Match:
    """Read what a picture shows from the record of an environment."""
    played, count = int(record["played"]), config.agents
    known = min(played, KEPT)
    past = [int(bits) for bits in record["past"][:count]]
    rounds = tuple(tuple(bool(bits >> m & 1) for m in reversed(range(known))) for bits in past)
    scores = tuple(units / UNIT for units in record["score"][:count].tolist())
    return Match(config, tuple(names[:count]), played, scores, rounds)


def short(value: float) -> str:
    """Write a number in a few characters."""
    return f"{value:.4g}"


def title(match: Match) -> str:
    """Say what is played and how far it has got."""
    known = match.config.known_rounds
    of = "" if known is None else f" of {known}"
    name = GAMES_BY_NAME[match.config.game].title.removeprefix("a ").capitalize()
    return f"{name}: {match.played}{of} rounds"


# -- letters ------------------------------------------------------------------------------


def ansi(match: Match) -> str:
    """Draw the table and the rounds with letters: C for cooperate, d for defect."""
    wide = max(len(name) for name in match.names)
    strips = [
        f"{name:{wide}}  {short(score):>7}  {''.join(SIGNS[deed] for deed in deeds)}".rstrip()
        for name, score, deeds in zip(match.names, match.scores, match.rounds, strict=True)
    ]
    words = GAMES_BY_NAME[match.config.game]
    legend = f"C {words.cooperate}   d {words.defect}"
    return "\n".join([title(match), "", *_table_lines(match), "", *strips, "", legend])


def _table_lines(match: Match) -> list[str]:
    """Write the table of payoffs with letters."""
    profiles = match.config.profiles
    if match.config.agents == 2:
        head = f"     {'C':^15} {'d':^15}"
        return [head] + [
            f"  {sign}  " + " ".join(f"{_pair(profiles, row, column):^15}" for column in (0, 1))
            for row, sign in enumerate("Cd")
        ]
    head = "others that cooperate " + " ".join(f"{k:>7}" for k in range(match.config.agents))
    return [head] + [
        f"  {sign}{' ' * 19}" + " ".join(f"{short(value):>7}" for value in row)
        for sign, row in zip("Cd", profiles[0], strict=True)
    ]


def _pair(profiles: NDArray[np.float64], row: int, column: int) -> str:
    """Write what each of two players gets."""
    return f"{short(profiles[0, row, 1 - column])}, {short(profiles[1, column, 1 - row])}"


# -- pixels -------------------------------------------------------------------------------


class Sheet:
    """A sheet of paper, drawn larger than it is shown so that edges are smooth."""

    def __init__(self, width: int, height: int) -> None:
        self.image = Image.new("RGB", (width * SCALE, height * SCALE), PAPER)
        self.draw = ImageDraw.Draw(self.image)

    def box(self, x: float, y: float, wide: float, high: float, colour: str, edge: str) -> None:
        """Fill a box with rounded corners."""
        corners = [x * SCALE, y * SCALE, (x + wide) * SCALE - 1, (y + high) * SCALE - 1]
        radius = min(wide, high) * SCALE * 0.12
        self.draw.rounded_rectangle(corners, radius, colour, edge, SCALE)

    def write(
        self, x: float, y: float, text: str, size: float, colour: str, anchor: str = "mm"
    ) -> None:
        """Write a line of text at a point of it; see Pillow's anchors."""
        font = ImageFont.load_default(size * SCALE)
        self.draw.text((x * SCALE, y * SCALE), text, colour, font, anchor)

    def pixels(self) -> NDArray[np.uint8]:
        """Return the sheet as it is shown, shape (height, width, 3)."""
        return np.array(self.image.reduce(SCALE), np.uint8)


def rgb(match: Match) -> NDArray[np.uint8]:
    """Draw the table and the rounds as a picture, 640 pixels wide."""
    count = len(match.names)
    lane = 30 if count <= 8 else 16
    table = 150
    height = 60 + table + 40 + count * lane + MARGIN
    sheet = Sheet(WIDTH, height + height % 2)
    sheet.write(MARGIN, 30, title(match), 20, INK, "lm")
    if count == 2:
        _paint_pairs(sheet, match, 60)
    else:
        _paint_shares(sheet, match, 60)
    _paint_strips(sheet, match, 60 + table + 20, lane)
    return sheet.pixels()


def _paint_pairs(sheet: Sheet, match: Match, top: float) -> None:
    """Paint the four outcomes of a game of two; the last one is framed in gold."""
    profiles, words = match.config.profiles, GAMES_BY_NAME[match.config.game]
    left, wide, high = 190.0, 200.0, 52.0
    now = tuple(int(not deeds[-1]) for deeds in match.rounds) if match.played else None
    for act, verb in enumerate((words.cooperate, words.defect)):
        hue = DEFECTING if act else COOPERATING
        sheet.write(left + (act + 0.5) * (wide + 8), top + 10, verb, 14, hue)
        sheet.write(left - 12, top + 24 + (act + 0.5) * (high + 8), verb, 14, hue, "rm")
    for row in (0, 1):
        for column in (0, 1):
            x, y = left + column * (wide + 8), top + 24 + row * (high + 8)
            lit = now == (row, column)
            sheet.box(x, y, wide, high, mix(GOLD, WHITE, 0.55) if lit else WHITE, GRID)
            own, other = profiles[0, row, 1 - column], profiles[1, column, 1 - row]
            sheet.write(x + wide * 0.3, y + high / 2, short(own), 22, COLOURS[0])
            sheet.write(x + wide * 0.7, y + high / 2, short(other), 22, COLOURS[1])


def _paint_shares(sheet: Sheet, match: Match, top: float) -> None:
    """Paint the table of a game of many: own choice by how many others cooperate."""
    words, rows = GAMES_BY_NAME[match.config.game], match.config.profiles[0]
    left, count = 170.0, match.config.agents
    wide = (WIDTH - MARGIN - left) / count
    size = min(18.0, wide * 0.42)
    together = sum(deeds[-1] for deeds in match.rounds) if match.played else None
    sheet.write(left - 12, top + 10, "others that cooperate", 13, INK, "rm")
    for others in range(count):
        sheet.write(left + (others + 0.5) * wide, top + 10, str(others), min(13.0, size), INK)
        for act, verb in enumerate((words.cooperate, words.defect)):
            hue, y = DEFECTING if act else COOPERATING, top + 24 + act * 60
            if others == 0:
                sheet.write(left - 12, y + 26, verb, 14, hue, "rm")
            lit = together is not None and others == together - (1 - act)
            fill = mix(GOLD, WHITE, 0.55) if lit else WHITE
            sheet.box(left + others * wide, y, wide - 3, 52, fill, GRID)
            sheet.write(left + (others + 0.5) * wide, y + 26, short(rows[act, others]), size, hue)


def _paint_strips(sheet: Sheet, match: Match, top: float, lane: float) -> None:
    """Paint a lane for each agent: its name, its last rounds, its score."""
    left, right = 150.0, 80.0
    room = int((WIDTH - left - right) // (lane - 6))
    for agent, name in enumerate(match.names):
        y, hue = top + agent * lane, COLOURS[agent % len(COLOURS)]
        size = lane * 0.47
        sheet.box(MARGIN, y + 3, 118, lane - 6, hue, hue)
        sheet.write(MARGIN + 59, y + lane / 2, name[:16], size * 0.95, readable(hue))
        for place, deed in enumerate(match.rounds[agent][-room:]):
            x, colour = left + place * (lane - 6), COOPERATING if deed else DEFECTING
            sheet.box(x, y + 3, lane - 8, lane - 6, colour, colour)
            if lane >= 30:
                sheet.write(x + (lane - 8) / 2, y + lane / 2, SIGNS[deed].upper(), 12, WHITE)
        sheet.write(WIDTH - MARGIN, y + lane / 2, short(match.scores[agent]), size, INK, "rm")
