"""What texts of grids mention, and in which words: order, sums, room, memory."""

from __future__ import annotations

import random

import numpy as np
import pytest

import piase_gym
from piase_gym.worlds.grid_world.cells import CODES
from piase_gym.worlds.grid_world.config import GridWorldConfig
from piase_gym.worlds.grid_world.form import Form, form_of
from piase_gym.worlds.grids import words
from piase_gym.worlds.grids.mentions import find_mentions, most_mentions
from piase_gym.worlds.grids.words import ViewerPlace, scene_text, words_of_cells

SIGNS = {
    ".": "floor",
    "#": "wall",
    "?": "unseen",
    "k": "key",
    "O": "box",
    "F": "fruit",
    "H": "hazard",
    "D": "drone",
}


def form(width: int, height: int) -> Form:
    """Return the form of a grid that is shown whole."""
    config = GridWorldConfig.plain({"width": width, "height": height, "observe": "grid"})
    return form_of(GridWorldConfig(**config))


def told(*rows: str) -> list[str]:
    """Return what is said of a grid, by one who stands at @ and faces north."""
    found = form(len(rows[0]), len(rows))
    cells = "".join(rows)
    y, x = divmod(cells.index("@"), len(rows[0]))
    codes = bytes(CODES["floor"] if sign == "@" else CODES[SIGNS[sign]] for sign in cells)
    text = scene_text(found, codes, ViewerPlace(x, y, 0, len(rows[0]), len(rows)))
    return text.split("\n")[2:-1]  # without what is ahead, and where the grid ends


@pytest.mark.parametrize(
    ("rows", "lines"),
    [
        (("...", ".@.", "..."), ["Nothing but free floor is in view."]),
        (  # the nearest first, then by rows from the top and by columns from the left
            ("k...k", "..HO.", "..@.k", "....."),
            [
                "You see a hazard 1 north; a box 1 north, 1 east; a key 2 east; "
                "a key 2 north, 2 west; a key 2 north, 2 east."
            ],
        ),
        (("#.#", "#@#", "#.#"), ["Walls: 1 south to 1 north, on both sides."]),
        (
            ("#..#", "#@.#", "####"),
            ["Walls: 0 to 1 north, 1 west and 2 east; 1 south, all across."],
        ),
        (
            ("#.#.#", "..@..", "#####"),
            ["Walls: 1 north, 2 west, in line and 2 east; 1 south, all across."],
        ),
        (("##.##", "..@.."), ["Walls: 1 north, 1 to 2 west and 1 to 2 east."]),
        # a thing in a row of walls is told as if it stood in place of one
        (("##k##", "..@.."), ["You see a key 1 north.", "Walls: 1 north, all across."]),
        (
            ("#...#", "k...#", "#.@.#"),
            ["You see a key 1 north, 2 west.", "Walls: 0 to 2 north, 2 west and 2 east."],
        ),
        # but not where floor is in the same column of the same rows, or at the end of a row
        (("k##..", "..@.."), ["You see a key 1 north, 2 west.", "Walls: 1 north, 0 to 1 west."]),
        # kinds of which there is much: the nearest first, those as near by their names
        (
            ("HHHH.....", "kOkO.OkOk", "....@...."),
            [
                "Boxes: 1 north, 3 west, 1 west, 1 east and 3 east.",
                "Keys: 1 north, 4 west, 2 west, 2 east and 4 east.",
                "Hazards: 2 north, 1 to 4 west.",
            ],
        ),
        (  # walls and what is dark come last; no thing stands in place of a key
            ("?????", "kkOkk", "#.@.#"),
            [
                "You see a box 1 north.",
                "Keys: 1 north, 1 to 2 west and 1 to 2 east.",
                "Walls: in your row, 2 west and 2 east.",
                "Darkness: 2 north, all across.",
            ],
        ),
    ],
)
def test_scenes_are_told_so(rows: tuple[str, ...], lines: list[str]) -> None:
    assert told(*rows) == lines


@pytest.mark.parametrize(
    "pattern", ["#.", "?.", "k.", "#?", "#k", "kkkkOOOOHHHHDDDD", "#.?.", "?k#."]
)
def test_there_is_room_for_every_mention(pattern: str) -> None:
    """Of the scenes with most to mention: hardly two neighbours are alike."""
    for width, height in ((2, 2), (5, 4), (9, 9), (64, 64)):
        found = form(width, height)
        rows = [pattern * width + pattern[: y % 2] for y in range(height)]
        codes = bytes(
            CODES[SIGNS[sign]] for y, row in enumerate(rows) for sign in row[y % 2 :][:width]
        )
        shown, place = words._words(found).shown, ViewerPlace(0, 0, 0, width, height)
        out = np.zeros(9 * len(codes) + 99, np.int64)
        count = find_mentions(np.frombuffer(codes, np.uint8), shown, out, *place)
        assert 0 < count <= most_mentions(len(codes))
        assert not out[count:].any()


def test_no_cell_is_read_that_is_not_there() -> None:
    found = form(3, 3)
    with pytest.raises(ValueError, match="buffer"):
        scene_text(found, bytes(8), ViewerPlace(0, 0, 0, 3, 3))
    floor = [["floor"] * 3] * 3
    for place in (
        ViewerPlace(0, 3, 0, 3, 4),
        ViewerPlace(3, 0, 0, 4, 3),
        ViewerPlace(0, -1, 0, 3, 3),
    ):
        with pytest.raises(IndexError, match="is not within 3 columns and 3 rows"):
            words_of_cells(floor, found, place)


def test_new_scenes_are_told_in_words_that_are_known() -> None:
    """What costs time is finding words, so there must be many fewer of them than scenes."""
    env = piase_gym.parallel_env("piase/GridWorld-Drones-8x8-v1", view="text")
    dice, scenes = random.Random(1), set()
    for seed in range(40):
        shown, infos = env.reset(seed=seed)
        while env.agents:
            scenes.add(shown["agent_0"].partition("You are")[2])
            legal = np.flatnonzero(infos["agent_0"]["action_mask"])
            shown, *_, infos = env.step({"agent_0": dice.choice(legal.tolist())})
    known = words._words(form_of(env.runner.world.config))
    assert len(scenes) > 2000
    assert len(known) < 500


def test_few_words_are_kept(monkeypatch: pytest.MonkeyPatch) -> None:
    rows = ("#k#F#", "O.@.D", "#####")
    before = told(*rows)
    known = words._words(form(5, 3))
    assert len(known) > 8
    monkeypatch.setattr(words, "MOST_WORDS", 4)
    known.clear()
    assert told(*rows) == before
    assert len(known) <= 4
