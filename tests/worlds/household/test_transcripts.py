"""Recorded games of the real engine are replayed, equal at every step."""

from __future__ import annotations

from typing import Any

import pytest

from piase_gym.interfaces.base_env import BaseEnv
from piase_gym.worlds.household.players.scripted import HouseholdScript
from tests.worlds.household.helpers import GAMES, TRANSCRIPTS, transcripts

needs_data = pytest.mark.skipif(not TRANSCRIPTS.exists(), reason="the recorded games are not here")
RECORDED = (("valid_train", "2.1.3"), ("valid_train_grammar_2.1.1", None))


@needs_data
@pytest.mark.parametrize(("name", "grammar"), RECORDED)
def test_every_step_is_that_of_the_real_engine(name: str, grammar: str | None) -> None:
    games = transcripts(name)
    assert games
    for recorded in games:
        path = GAMES / recorded["split"] / recorded["task"] / recorded["trial"] / "game.tw-pddl"
        env: Any = BaseEnv("Household", game=str(path), grammar=grammar, max_steps=1000)
        assert env.reset(seed=0).text == recorded["obs0"]
        assert [action.text for action in env.get_available_actions()] == recorded["adm0"]
        for row in recorded["steps"]:
            admissible = env.admissible_commands()
            observation, reward, done, info = env.step(row["cmd"])
            told = (path, row["cmd"])
            assert observation.text == row["obs"], told
            assert (done, info["won"], reward) == (
                row["won"],
                row["won"],
                row["reward"],
            ), told
            assert row["cmd"].strip() in admissible or observation.text == "Nothing happens.", told
            assert env.admissible_commands() == row["adm"], told
        env.close()


@needs_data
def test_the_experts_win_the_given_games() -> None:
    found = sorted(GAMES.rglob("game.tw-pddl"))
    searched = 0
    for path in found:
        env: Any = BaseEnv("Household", game=str(path), max_steps=50)
        env.reset(seed=0)
        for line in env.expert_plan():
            *_, done, info = env.step(line)
        assert done, path
        assert info["won"], path
        env.reset(seed=1)
        searcher, done = HouseholdScript(env.world), False
        while not done:
            *_, done, info = env.step(env.world.write(searcher.act(0)))
        searched += info["won"]
        env.close()
    assert searched >= 0.95 * len(found)
