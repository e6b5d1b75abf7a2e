"""The columns ahead in words: what is told, what is taken for granted, and the way back."""

from __future__ import annotations

import re
from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

import piase_gym
from piase_gym.core.rng import Stream
from piase_gym.errors import TextParseError
from piase_gym.worlds.object_search.codes import TABLE
from piase_gym.worlds.object_search.config import ObjectSearchConfig
from piase_gym.worlds.object_search.form import cells_of, form_of
from piase_gym.worlds.object_search.observe.rows import read_window, window_text
from tests.worlds.object_search.reference import nearest

SIGNS = {sign: code for code, sign in TABLE.signs.items()} | {"?": 0, "@": 2}
"""The codes of maps; a question mark is dark, and the agent is over bare floor."""
KINDS = {"Walls": "#", "Low furniture": "o", "Tall furniture": "O", "Dark": "?", "Floor": "."}
KINDS |= {"Outside": " "}
AHEAD = [(ahead, right) for ahead in range(1, 7) for right in range(-3, 4) if abs(right) <= ahead]
FORM = form_of(ObjectSearchConfig(agents=2))


def drawn(*rows: str) -> bytes:
    """Return a window of rows, the farthest first; rows that are left out are dark."""
    lines = ["?" * 7] * (7 - len(rows)) + list(rows)
    return bytes(SIGNS[sign] for line in lines for sign in line)


@pytest.mark.parametrize(
    ("rows", "told"),
    [
        (["??###??", "???@???"], ["Walls 1 ahead, all across."]),
        (
            ["???#???", "??#.#??", "??#.#??", "???@???"],
            ["Walls 1 to 2 ahead, 1 left and right; 3 ahead."],
        ),
        (
            [".......", ".......", ".......", ".......", "?....o?", "??..o??", "???@???"],
            ["Low furniture 1 ahead, 1 right; 2 ahead, 2 right."],
        ),
        (  # over the tall furniture its neighbour's column is seen, and what is behind the low one
            ["????.??", "???..??", "??.O#??", "??...??", "???@???"],
            [
                "Tall furniture 2 ahead.",
                "Walls 2 ahead, 1 right.",
                "Dark 2 ahead, 2 left and right; 3 ahead, 1 to 2 left.",
                "Floor 3 ahead, 0 to 1 right; 4 ahead, 1 right.",
            ],
        ),
    ],
)
def test_windows_are_told_kind_by_kind(rows: list[str], told: list[str]) -> None:
    cells = drawn(*rows)
    assert sorted(window_text(cells, 6).split("\n")[1:]) == sorted(told)
    assert read_window(window_text(cells, 6).split("\n")[1:], 2, FORM) == cells


def read(lines: list[str], sight: int) -> dict[tuple[int, int], str]:
    """Read lines as a stranger does who knows what the prompt says: signs by (ahead, right)."""
    told = {}
    for line in lines:
        title, words = re.fullmatch(r"(\D+) (\d.*)\.", line).groups()  # type: ignore[union-attr]
        for item in words.split("; "):
            rows, _, places = item.partition(" ahead")
            first, _, last = rows.partition(" to ")
            for ahead in range(int(first), int(last or first) + 1):
                for right in sides(places.removeprefix(", "), min(ahead, 3)):
                    told[ahead, right] = KINDS[title]
    for ahead, right in AHEAD:
        line = [(step, aside(step, ahead, right)) for step in range(1, ahead)]
        hidden = ahead > sight or any(told[cell] in "#O? " for cell in line)
        told.setdefault((ahead, right), "?" if hidden else ".")
    return told


def aside(step: int, ahead: int, right: int) -> int:
    """Return how far to the right the line to a column is in a row."""
    return nearest(Fraction(step * abs(right), ahead)) * (1 if right > 0 else -1)


def sides(places: str, wide: int) -> list[int]:
    """Return how far to the right some places are."""
    if places in ("", "all across"):
        return [*range(-wide, wide + 1)] if places else [0]
    found: list[int] = []
    for place in places.split(" and "):
        numbers = [int(number) for number in re.findall(r"\d", place)]
        if place == "right":
            found += [-number for number in found]
        elif re.fullmatch(r"\d left to \d right", place):
            found += range(-numbers[0], numbers[1] + 1)
        elif place == "straight ahead":
            found.append(0)
        else:
            sign = -1 if place.endswith(" left") else 1
            found += [sign * k for k in range(numbers[0], numbers[-1] + 1)]
    return found


@given(st.integers(1, 6), st.lists(st.sampled_from("????....##oO "), min_size=49, max_size=49))
def test_any_window_is_read_back_by_the_world_and_by_a_stranger(sight: int, signs: str) -> None:
    form = form_of(ObjectSearchConfig(agents=2, sight=sight))
    shown = {cell: signs[i] for i, cell in enumerate(AHEAD)}
    cells = drawn(
        *("".join(shown.get((row, k), "?") for k in range(-3, 4)) for row in range(6, 0, -1)),
        "???@???",
    )
    lines = window_text(cells, sight).split("\n")[1:]
    assert read(lines, sight) == shown
    assert read_window(lines, 2, form) == cells
    assert cells_of(cells, form)[-1][3] == "floor"


@pytest.mark.parametrize(
    "line",
    [
        "Walls 2 ahead, 3 left.",
        "Walls 1 ahead, 1 left and 1 right.",
        "Walls 2 ahead; 1 ahead.",
        "Floor 1 ahead.",
        "Walls 1 ahead, here.",
        "Walls 1 behind.",
        "A wall 1 ahead.",
    ],
)
def test_lines_that_are_not_written_are_refused(line: str) -> None:
    with pytest.raises(TextParseError, match="ObjectSearch: cannot read"):
        read_window([line], 2, FORM)


def test_little_is_said_of_the_dark() -> None:
    env = piase_gym.parallel_env("ObjectSearch", agents=4, view="text")
    dice, count, dark = Stream(3), 0, 0
    for seed in range(3):
        shown, _ = env.reset(seed=seed)
        for _ in range(25):
            count += len(shown)
            dark += sum("Dark " in text.partition("\nagent_")[0] for text in shown.values())
            shown, *_ = env.step({name: dice.integer(13) for name in env.agents})
    assert count == 300
    assert dark < 50
