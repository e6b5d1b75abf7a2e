"""Household's picture: its receptacles as boxes, what is in them, and where the agents are."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from piase_gym.core.text_encoding import escape
from piase_gym.worlds.drawing import COLOURS, GRID, INK, PAPER, WHITE, font, mix
from piase_gym.worlds.household.levels.game import Game
from piase_gym.worlds.household.rules.goals import CLEAN, COOL, HOT, SLICED, TOGGLED
from piase_gym.worlds.household.state import HomeState

WIDTH, LINE, GAP, LEAST = 190, 18, 12, 4
"""Pixels: a receptacle's width, a line's height, the gap between two; the fewest lines in each."""
MOST_LINES = 9
CLOSED = "#cc8a1e"
_MARKS = ((CLEAN, "clean"), (HOT, "hot"), (COOL, "cool"), (SLICED, "sliced"), (TOGGLED, "on"))


def _thing(game: Game, state: HomeState, k: int) -> str:
    """Return an object's name and what has become of it."""
    looks = [word for bit, word in _MARKS if state.marks[k] & bit]
    return f"{game.objects[k]} ({', '.join(looks)})" if looks else game.objects[k]


def _state(game: Game, state: HomeState, r: int) -> str:
    return "" if not game.openable[r] else "open" if state.opened[r] else "closed"


def _agents_at(game: Game, state: HomeState, agents: Sequence[str], r: int) -> list[int]:
    place = game.places_of[r]
    return [k for k in range(len(agents)) if state.at[k] == place and state.status[k] != "none"]


def _carries(game: Game, state: HomeState, agent: int) -> str:
    k = state.holding[agent]
    return "nothing" if k < 0 else _thing(game, state, k)


def ansi(game: Game, state: HomeState, agents: Sequence[str]) -> str:
    """Draw the receptacles as a list."""
    lines = [f"Task: {escape(game.goal_text)}   step {state.t}"]
    for r, name in enumerate(game.receptacles):
        lid = _state(game, state, r)
        things = ", ".join(_thing(game, state, k) for k in state.contents[r]) or "-"
        here = " ".join(f"<{agents[k]}>" for k in _agents_at(game, state, agents, r))
        title = f"{name}{f' ({lid})' if lid else ''}"
        lines.append(f"{title:<24} {things} {here}".rstrip())
    for k, name in enumerate(agents):
        if state.status[k] != "none":
            lines.append(f"{name} carries {_carries(game, state, k)}")
    return "\n".join(lines)


def rgb(game: Game, state: HomeState, agents: Sequence[str]) -> NDArray[np.uint8]:
    """Draw the receptacles as boxes: white if the contents can be seen, shaded if closed."""
    from PIL import Image, ImageDraw

    count = max(1, len(game.receptacles))
    columns = min(6, max(2, math.ceil(math.sqrt(count))))
    inside = max(LEAST, min(MOST_LINES, max(map(len, state.contents), default=0)))
    high = LINE * (inside + 1) + 16
    rows = math.ceil(count / columns)
    playing = [k for k in range(len(agents)) if state.status[k] != "none"]
    width = columns * (WIDTH + GAP) + GAP
    height = 44 + rows * (high + GAP) + LINE * len(playing) + GAP
    image = Image.new("RGB", (width, height), PAPER)
    pen = ImageDraw.Draw(image)
    pen.text((GAP, 12), f"{escape(game.goal_text)[:90]}   step {state.t}", INK, font(16))
    for r, name in enumerate(game.receptacles):
        left = GAP + r % columns * (WIDTH + GAP)
        top = 44 + r // columns * (high + GAP)
        _draw_box(pen, game, state, r, (left, top, left + WIDTH, top + high), inside)
        pen.text((left + 8, top + 5), name, INK, font(14))
        for place, k in enumerate(_agents_at(game, state, agents, r)):
            x = left + WIDTH - 16 - 18 * place
            pen.ellipse((x - 7, top + 6, x + 7, top + 20), COLOURS[k % len(COLOURS)])
    foot = height - LINE * len(playing) - GAP // 2
    for line, k in enumerate(playing):
        y = foot + LINE * line
        pen.ellipse((GAP, y + 1, GAP + 13, y + 14), COLOURS[k % len(COLOURS)])
        text = f"{agents[k]} carries {_carries(game, state, k)}"
        pen.text((GAP + 20, y), text, INK, font(13))
    return np.array(image, np.uint8)


def _draw_box(
    pen: Any, game: Game, state: HomeState, r: int, box: tuple[int, int, int, int], lines: int
) -> None:
    """Draw one receptacle and what is in it."""
    lid = _state(game, state, r)
    closed = lid == "closed"
    edge = CLOSED if closed else mix(INK, PAPER, 0.5)
    pen.rounded_rectangle(box, 8, GRID if closed else WHITE, edge, 3 if closed else 1)
    left, top = box[0] + 14, box[1] + LINE + 8
    if lid:
        after = pen.textlength(game.receptacles[r], font(14))
        pen.text((box[0] + 16 + after, box[1] + 7), lid, edge, font(12))
    things = [_thing(game, state, k) for k in state.contents[r]]
    if len(things) > lines:
        things = [*things[: lines - 1], f"and {len(things) - lines + 1} more"]
    for line, name in enumerate(things):
        colour = mix(INK, PAPER, 0.45) if closed else INK
        pen.text((left, top + LINE * line), name[:26], colour, font(13))
