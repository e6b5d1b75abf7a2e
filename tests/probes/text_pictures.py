"""TextProbe's pictures: functions of a state."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray
from PIL import Image, ImageDraw

from piase_gym.core.text_encoding import escape
from tests.probes.text_config import ROOMS
from tests.probes.text_rules import TextState, exits, lying

WIDTH, HEIGHT = 160, 120
_FLOORS = {"cellar": (70, 70, 90), "hall": (120, 95, 70), "garden": (70, 120, 70)}


def _people(state: TextState, room: str, agents: Sequence[str]) -> list[str]:
    """Name who is in a room."""
    places = zip(agents, state.rooms, state.status, strict=True)
    return [name for name, where, status in places if where == room and status == "playing"]


def ansi(state: TextState, agents: Sequence[str]) -> str:
    """Draw the house as a list of rooms, with who carries what."""
    lines = [f"step {state.t}, door {'open' if state.unlocked else 'locked'} ({state.side})"]
    for room in ROOMS:
        ways = ", ".join(f"{way} -> {target}" for way, _, target in exits(state, room))
        things = [*_people(state, room, agents), *lying(state, room)]
        lines.append(f"[{room:^8}] {ways} | {', '.join(things) or '-'}")
    for number, name in enumerate(agents):
        held = ", ".join(lying(state, str(number)))
        lines.append(f"{name} ({state.status[number]}) carries {held or 'nothing'}")
    return escape("\n".join(lines))


def rgb(state: TextState, agents: Sequence[str]) -> NDArray[np.uint8]:
    """Draw the three rooms side by side."""
    image = Image.new("RGB", (WIDTH * len(ROOMS), HEIGHT), (20, 20, 20))
    pen = ImageDraw.Draw(image)
    for column, room in enumerate(ROOMS):
        left = column * WIDTH
        pen.rectangle((left + 4, 4, left + WIDTH - 5, HEIGHT - 5), fill=_FLOORS[room])
        words = [room, *_people(state, room, agents), *lying(state, room)]
        pen.multiline_text((left + 10, 8), "\n".join(words), fill=(240, 240, 240))
    door = (90, 200, 90) if state.unlocked else (200, 60, 60)
    pen.rectangle((2 * WIDTH - 5, HEIGHT // 3, 2 * WIDTH + 4, 2 * HEIGHT // 3), fill=door)
    return np.array(image, np.uint8)
