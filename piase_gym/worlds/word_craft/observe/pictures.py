"""WordCraft's picture: the table, and the tree of what the goal takes."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from piase_gym.core.text_encoding import escape
from piase_gym.worlds.drawing import COLOURS, GOLD, GRID, INK, PAPER, WHITE, font, mix

CARD, HIGH, GAP = 130, 30, 10
"""In pixels: the width and height of a card, and the gap between two."""
ACROSS, MOST_ROWS = 4, 10
"""Cards in a row of a table, and rows that are shown of all tables, but of each at least two."""
DONE = "#009e73"


@dataclass(frozen=True)
class Scene:
    """What is drawn.

    Attributes:
        recipes: (product, first, second) of the task, the goal's first.
        made: The things of the task that have been made.
        tables: What lies on each table.
        hands: What each agent holds.
        left: How many pairs each agent may still combine.
        agents: Their names.
        slots: How many things a table has room for, so that all pictures have the same size.
    """

    recipes: Sequence[tuple[str, ...]]
    made: Collection[str]
    tables: Sequence[Sequence[str | None]]
    hands: Sequence[str | None]
    left: Sequence[int]
    agents: Sequence[str]
    slots: int

    @property
    def goal(self) -> str:
        """The thing to make."""
        return self.recipes[0][0]

    def branches(self) -> list[tuple[int, str, bool]]:
        """Return the tree from the goal down: depth, thing, and whether it was made or given."""
        made_of = {product: parts for product, *parts in self.recipes}
        rows: list[tuple[int, str, bool]] = []

        def grow(thing: str, depth: int) -> None:
            rows.append((depth, thing, thing in self.made or thing not in made_of))
            for part in made_of.get(thing, ()):
                grow(part, depth + 1)

        grow(self.goal, 0)
        return rows


def ansi(scene: Scene) -> str:
    """Draw the tables and the tree as lines."""
    lines = [f"Goal: {escape(scene.goal)}"]
    for k, table in enumerate(scene.tables):
        whose = f" of {scene.agents[k]}" if len(scene.tables) > 1 else ""
        things = [f"{slot}:{escape(thing)}" for slot, thing in enumerate(table, 1) if thing]
        lines.append(f"Table{whose}: {'  '.join(things) or '-'}")
    for name, hand, left in zip(scene.agents, scene.hands, scene.left, strict=True):
        lines.append(f"{name} holds {escape(hand) if hand else '-'}, mixes left: {left}")
    for depth, thing, there in scene.branches():
        lines.append(f"{'  ' * depth}{'*' if there else 'o'} {escape(thing)}")
    return "\n".join(lines)


def rgb(scene: Scene) -> NDArray[np.uint8]:
    """Draw the tables on the left and the tree on the right: green is there, grey is missing."""
    from PIL import Image, ImageDraw

    step, rows = HIGH + GAP, scene.branches()
    deep = max(depth for depth, *_ in rows)
    block = min(max(2, MOST_ROWS // len(scene.tables)), -(-scene.slots // ACROSS))
    shown = block * ACROSS
    left = GAP + ACROSS * (CARD + GAP)
    head = 44
    tables_high = len(scene.tables) * (block * step + 26)
    foot = 22 * len(scene.agents)
    height = head + max(tables_high + foot, len(rows) * step) + GAP
    width = left + 2 * GAP + deep * 28 + CARD + GAP
    image = Image.new("RGB", (width, height), PAPER)
    pen = ImageDraw.Draw(image)
    pen.text((GAP, 12), f"Make: {escape(scene.goal)[:60]}", INK, font(18))
    top = head
    for k, table in enumerate(scene.tables):
        whose = f"On the table of {scene.agents[k]}" if len(scene.tables) > 1 else "On the table"
        more = sum(thing is not None for thing in table[shown:])
        whose += f", and {more} more" if more else ""
        pen.text((GAP, top), whose, mix(INK, PAPER, 0.3), font(13))
        for slot, thing in enumerate(table[:shown]):
            if thing:
                x, y = GAP + slot % ACROSS * (CARD + GAP), top + 22 + slot // ACROSS * step
                holders = [a for a, hand in enumerate(scene.hands) if hand == thing]
                mine = [a for a in holders if len(scene.tables) == 1 or a == k]
                edge = COLOURS[mine[0] % len(COLOURS)] if mine else mix(INK, PAPER, 0.5)
                _card(pen, (x, y), f"{slot + 1} {escape(thing)}", WHITE, edge, 3 if mine else 1)
        top += 26 + block * step
    for k, (name, hand, mixes) in enumerate(
        zip(scene.agents, scene.hands, scene.left, strict=True)
    ):
        pen.ellipse((GAP, top + 2, GAP + 13, top + 15), COLOURS[k % len(COLOURS)])
        text = f"{name} holds {escape(hand) if hand else 'nothing'}; mixes left: {mixes}"
        pen.text((GAP + 20, top), text[:70], INK, font(13))
        top += 22
    _tree(pen, rows, left + 2 * GAP, head)
    return np.array(image, np.uint8)


def _tree(pen: Any, rows: Sequence[tuple[int, str, bool]], left: int, head: int) -> None:
    """Draw the tree, each thing below and to the right of what it is a part of."""
    step = HIGH + GAP
    line = mix(INK, PAPER, 0.5)
    last: dict[int, int] = {}
    for k, (depth, thing, there) in enumerate(rows):
        x, y = left + 28 * depth, head + k * step
        last[depth] = k
        if depth:
            elbow, above = x - 14, head + last[depth - 1] * step + HIGH
            pen.line((elbow, above, elbow, y + HIGH // 2), line, 2)
            pen.line((elbow, y + HIGH // 2, x, y + HIGH // 2), line, 2)
        fill = mix(DONE, WHITE, 0.75) if there else GRID
        _card(
            pen, (x, y), escape(thing), fill, GOLD if depth == 0 else line, 3 if depth == 0 else 1
        )


def _card(pen: Any, at: tuple[int, int], word: str, fill: str, edge: str, thick: int) -> None:
    """Draw a card with a word."""
    x, y = at
    pen.rounded_rectangle((x, y, x + CARD, y + HIGH), 6, fill, edge, thick)
    letters = font(13)
    while pen.textlength(word, letters) > CARD - 12 and len(word) > 4:
        word = f"{word[:-3]}.."
    pen.text((x + 7, y + 7), word, INK, letters)
