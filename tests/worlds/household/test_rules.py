"""The engine beside the rules of the domain over plain facts, in random play."""

from __future__ import annotations

from typing import Any

import pytest

from piase_gym.core.rng import Stream
from piase_gym.worlds.household.config import HouseholdConfig
from piase_gym.worlds.household.levels.files import load_game, read_game
from piase_gym.worlds.household.levels.game import Game, display_names
from piase_gym.worlds.household.levels.generator import generate
from piase_gym.worlds.household.rules.commands import perform
from piase_gym.worlds.household.rules.goals import MARKS
from piase_gym.worlds.household.rules.legality import in_order, near_entries
from piase_gym.worlds.household.state import HomeState
from tests.worlds.household.helpers import GAMES, data
from tests.worlds.household.reference import AGENT, Fact, Reference

CHANGING = (
    *("inreceptacle", "holds", "atlocation", "opened", "objectatlocation"),
    *(mark for mark in MARKS if mark != "ison"),
)


def facts_of(game: Game, state: HomeState, ids: dict[str, list[str]]) -> set[Fact]:
    """Return a state of the engine as facts."""
    objects, receptacles, places = ids["object"], ids["receptacle"], ids["location"]
    found: set[Fact] = {("atlocation", AGENT, places[state.at[0]])}
    found |= {
        ("inreceptacle", objects[k], receptacles[r])
        for r, row in enumerate(state.contents)
        for k in row
    }
    found |= {
        ("objectatlocation", objects[k], places[s])
        for k, row in enumerate(state.spots)
        for s in row
    }
    found |= {("opened", receptacles[r]) for r, is_open in enumerate(state.opened) if is_open}
    if state.holding[0] >= 0:
        found.add(("holds", AGENT, objects[state.holding[0]]))
    for mark, bit in MARKS.items():
        if mark != "ison":
            found |= {(mark, objects[k]) for k, marks in enumerate(state.marks) if marks & bit}
    return found


def games() -> list[Any]:
    """Return homes of our own, and some of the given games where they are at hand."""
    large = HouseholdConfig(difficulty=4)  # type: ignore[call-arg]
    found = [read_game(data()).game, *(generate(large, seed).game for seed in range(8))]
    return found + [load_game(str(path)).game for path in sorted(GAMES.rglob("*.tw-pddl"))[::6]]


@pytest.mark.parametrize("game", games())
def test_the_engine_follows_the_rules(game: Game) -> None:
    assert game.problem is not None
    rows = game.problem.facts.values()
    known = sorted({word for row in rows for fact in row for word in fact})
    types = game.problem.types
    ids = {kind: [w for w in known if types[w] == kind] for kind in {*types.values()}}
    slow = Reference(game.problem, display_names(known))
    state, dice = game.start.copy(), Stream(5)
    for _ in range(60):
        entries = in_order(game, state.at[0], True, near_entries(game, state, 0, "move", True))
        possible = slow.actions()
        assert [row.line for row in entries] == sorted(possible)
        changing = [row for row in entries if row.verb not in ("go", "look", "help", "inventory")]
        chosen = changing if changing and dice.integer(3) else entries
        row = chosen[dice.integer(len(chosen))]
        perform(game, state, 0, row, True)
        slow.act(row.line)
        expected = {fact for fact in slow.facts if fact[0] in CHANGING}
        assert facts_of(game, state, ids) == expected, row.line
