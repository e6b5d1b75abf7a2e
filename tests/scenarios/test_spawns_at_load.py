"""What a scenario lets appear or vanish is checked when it is loaded, in every world."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from piase_gym import scenarios
from piase_gym.errors import ScenarioError
from piase_gym.worlds.household.config import HouseholdConfig
from piase_gym.worlds.household.levels import files
from piase_gym.worlds.household.levels.generator import generate
from piase_gym.worlds.household.scripting import names_of
from tests.helpers.needs import need
from tests.worlds.household.helpers import PROBLEM, game_file

HEAD = """\
scenario_name: Wrong
environment_type: {world}
initial_state: {config}
events:
  - when: {{ fact: step, at_least: 1 }}
    response:
"""
FIRST = 7
"""The line of the first response."""


def told_of(tmp_path: Path, world: str, config: dict[str, Any], rows: list[Any]) -> list[str]:
    """Return what is told of a file whose only event lets things appear and vanish.

    Args:
        tmp_path: Where the file is written.
        world: Its world.
        config: The fields of its config.
        rows: What appears: an object and a place; of what vanishes the object is ``None``.
    """
    need(world)
    path = tmp_path / "wrong.yaml"
    text = HEAD.format(world=world, config=json.dumps(config))
    for thing, place in rows:
        kind = "remove_object" if thing is None else f"spawn_object, object: {json.dumps(thing)}"
        text += f"      - {{ type: {kind}, place: {json.dumps(place)} }}\n"
    path.write_text(text, "utf-8")
    try:
        scenarios.load(path)
    except ScenarioError as error:
        return [line.removeprefix(f"{path}:") for line in str(error).splitlines()]
    return []


HOME = {"rooms": ["kitchen"], "objects": 6}
YARD = {"objects": [{"kind": "box", "position": [1, 1]}]}
CASES: list[tuple[str, dict[str, Any], list[Any], list[str]]] = [
    (
        "Household",
        HOME,
        [
            ("apple 6", "fridge 1"),
            ("aple 1", "fridge 1"),
            ("apple 7", "fridge 1"),
            ("apple 1", "fridg 1"),
            ("knife 1", "fridge 1"),
            ("mug 1", [1, 1]),
            ("pillow 1", "bed 1"),
            (None, "cabinet 13"),
            (None, "cabinet 12"),
        ],
        [
            "2: 'aple 1' cannot be put here or taken; did you mean 'apple 1'?",
            "3: 'apple 7' cannot",
            "4: there is no 'fridg 1'; did you mean 'fridge 1'?",
            "5: 'knife 1' cannot be put there; allowed: 'countertop 1',",
            "6: a place is a receptacle, not (1.0, 1.0)",
            "7: 'pillow 1' cannot be put here",
            "7: there is no 'bed 1'",
            "8: there is no 'cabinet 13'; did you mean 'cabinet 3'?",
        ],
    ),
    (
        "GridWorld",
        {"width": 5, "height": 5},
        [("key", [4, 4]), ("kye", [9, 0]), ("key", [1.5, 1]), ("key", "hall"), (None, [0, 5])],
        [
            "2: 'kye' cannot be put here or taken; did you mean 'key'?",
            "2: (9, 0) lies outside of the grid of 5 by 5",
            "3: (1.5, 1) is no cell; columns and rows are whole numbers",
            "4: a place is (x, y), not 'hall'",
            "5: (0, 5) lies outside",
        ],
    ),
    (
        "SocialDilemma",
        {"game": "cleanup", "agents": 2, "river": 3, "orchard": 4},
        [
            ("apple", [12, 1]),
            ("waste", [2, 1]),
            ("aple", [99, 0]),
            ("apple", [11, 1]),
            ("waste", [3, 1]),
            ("apple", [12, 1.5]),
            (None, [0, 0]),
        ],
        [
            "3: 'aple' cannot be put here or taken; did you mean 'apple'?",
            "3: (99, 0) lies outside of the grid of 16 by 16",
            "4: apples grow in the orchard, and that is columns 12 to 15",
            "5: waste floats on water, and the river is columns 0 to 2",
            "6: (12, 1.5) is no cell",
        ],
    ),
    (
        "SocialDilemma",
        {"game": "harvest", "agents": 2},
        [("apple", [1, 1]), ("waste", [1, 1])],
        ["2: waste floats on water, and there is none in this game"],
    ),
    (
        "SocialDilemma",
        {"game": "prisoners_dilemma"},
        [("apple", [1, 1]), (None, [1, 1])],
        [f"{k}: nothing can be put into SocialDilemma or taken out" for k in (1, 2)],
    ),
    (
        "PhysicsPlayground",
        YARD,
        [("red box", [2, 2]), ("box", [99, 0]), ("red box", "hall"), (None, [4, 0])],
        [
            "2: 'box' cannot be put here or taken; did you mean 'red box'?",
            "2: (99, 0) is not on the floor",
            "3: a place is (x, y) in metres, not 'hall'",
            "4: (4, 0) is not on the floor",
        ],
    ),
    (
        "ObjectSearch",
        {"agents": 2, "width": 12},
        [("cup", [3, 3]), ("cop", [3, 3]), ("cup", [12, 0]), ("cop", [1.5, 0]), (None, "hall")],
        [
            "2: 'cop' cannot be put here or taken; did you mean 'cup'?",
            "3: (12.0, 0.0) is no place; a place is a column and a row in 0..11",
            "4: 'cop' cannot",
            "4: (1.5, 0.0) is no place",
            "5: 'hall' is no place",
        ],
    ),
    (
        "WordCraft",
        {},
        [("fire", [1, 1]), (None, "table")],
        [f"{k}: nothing can be put into WordCraft or taken out" for k in (1, 2)],
    ),
    (
        "SqlQuery",
        {},
        [("a row", "table"), (None, "table")],
        [f"{k}: nothing can be put into SqlQuery or taken out" for k in (1, 2)],
    ),
]


@pytest.mark.parametrize(("world", "config", "rows", "expected"), CASES)
def test_wrong_spawns_are_told_with_line_and_column_all_at_once(
    world: str, config: dict[str, Any], rows: list[Any], expected: list[str], tmp_path: Path
) -> None:
    told = told_of(tmp_path, world, config, rows)
    assert len(told) == len(expected), told
    for line, wanted in zip(told, expected, strict=True):
        row, _, sentence = wanted.partition(": ")
        place, _, rest = line.partition(": ")
        number, column = place.split(":")
        assert int(number) == FIRST + int(row) - 1, line
        assert int(column) > 6, line
        assert sentence in rest, line


def test_conditions_about_what_no_home_has_are_told_too(tmp_path: Path) -> None:
    path = tmp_path / "wrong.yaml"
    path.write_text(
        "scenario_name: Wrong\nenvironment_type: Household\n"
        "initial_state: { rooms: [kitchen] }\n"
        "win_conditions:\n"
        "  - { fact: where, of: aple 1, equals: fridge 1 }\n"
        "  - { fact: state, of: apple 1, equals: cool }\n"
        "  - { fact: open, of: fridge 2, equals: 1 }\n"
        "  - { fact: count, of: bed 1, at_least: 1 }\n",
        "utf-8",
    )
    with pytest.raises(ScenarioError) as caught:
        scenarios.load(path)
    told = [line.removeprefix(f"{path}:") for line in str(caught.value).splitlines()]
    assert [line.partition(": ")[0] for line in told] == ["5:20", "7:19", "8:20"]
    assert "there is no 'aple 1'; did you mean 'apple 1'?" in told[0]
    assert "there is no 'fridge 2'; did you mean 'fridge 1'?" in told[1]


@pytest.mark.parametrize("rooms", [["kitchen"], ["bathroom"], ["bedroom", "livingroom"]])
def test_every_name_of_a_generated_home_is_known_before_it_is_made(rooms: list[str]) -> None:
    config = HouseholdConfig(rooms=rooms, tasks=("pick",), objects=20, receptacles=14)
    known = names_of(config)
    assert known is not None
    for seed in range(25):
        game = generate(config, seed).game
        assert {*game.receptacles} <= {*known.receptacles}
        for name, into in zip(game.objects, game.accepts, strict=True):
            assert {game.receptacles[k] for k in into} <= {*known.accepts[name]}


def test_a_home_that_is_given_is_known_by_its_own_names(tmp_path: Path) -> None:
    config = HouseholdConfig(problem_id=3)
    game = generate(config, 3).game
    known = names_of(config)
    assert known is not None
    assert (tuple(known.accepts), known.receptacles) == (game.objects, game.receptacles)
    one = game_file(tmp_path)
    known = names_of(HouseholdConfig(game=one))
    assert known is not None
    assert known.receptacles
    telling = told_of(tmp_path, "Household", {"game": one}, [("spoon 77", known.receptacles[0])])
    assert len(telling) == 1
    assert "'spoon 77' cannot be put here or taken" in telling[0]


def folder_of_games(place: Path) -> str:
    """Write two games, of which one has a fridge and the other one a safe."""
    for name, problem in (("one", PROBLEM), ("two", PROBLEM.replace("Fridge", "Safe"))):
        (place / name).mkdir(parents=True)
        game_file(place / name, problem=problem)
    return str(place)


def test_names_in_a_folder_of_games_are_those_of_all_its_games(tmp_path: Path) -> None:
    folder = folder_of_games(tmp_path / "games")
    rows = [("apple 1", "fridge 1"), ("apple 1", "safe 1"), ("moon 1", "safe 1"), (None, "oven 1")]
    told = told_of(tmp_path, "Household", {"game": folder}, rows)
    assert [line.split(":")[0] for line in told] == [str(FIRST + 2), str(FIRST + 3)]
    assert "'moon 1' cannot be put here or taken" in told[0]
    assert "there is no 'oven 1'" in told[1]
    told = told_of(tmp_path, "Household", {"game": folder, "problem_id": 0}, rows[:2])
    assert len(told) == 1
    assert "there is no 'safe 1'" in told[0]


def test_a_folder_with_a_damaged_game_is_not_checked(tmp_path: Path) -> None:
    folder = folder_of_games(tmp_path / "games")
    (tmp_path / "games" / "two" / "game.tw-pddl").write_text("{", "utf-8")
    assert told_of(tmp_path, "Household", {"game": folder}, [("moon 1", "fridge 1")]) == []


def test_names_in_more_games_than_are_kept_are_not_known_before(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = folder_of_games(tmp_path / "games")
    monkeypatch.setattr(files, "MOST_KEPT", 1)
    assert names_of(HouseholdConfig(game=folder)) is None
    assert told_of(tmp_path, "Household", {"game": folder}, [("moon 1", "fridge 1")]) == []
