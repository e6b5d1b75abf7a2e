"""The rules: against slow ones, and the table of rewards."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import piase_gym
from piase_gym.core.commands import Command
from piase_gym.core.last_step import without_last_step
from piase_gym.core.rng import Stream
from piase_gym.worlds.word_craft.observe.text import text_of
from piase_gym.worlds.word_craft.players.oracle import WordCraftOracle
from tests.worlds.word_craft.helpers import SMALL, book_file
from tests.worlds.word_craft.slow_rules import Said, SlowCraft

CONFIGS: dict[str, dict[str, Any]] = {
    "one": {"depth": 2, "distractors": 3, "mixes": 6},
    "shared table": {"agents": 3, "depth": 3, "distractors": 2, "mixes": 3},
    "trade": {"agents": 3, "depth": 2, "mixes": 4, "trade": True, "max_steps": 30},
    "evaluation": {"depth": 2, "mixes": 6, "evaluation": True},
    "no subgoals": {"depth": 3, "mixes": 8, "subgoal_rewards": False},
    "own rewards": {
        "depth": 3,
        "mixes": 8,
        "rewards": {"goal": 3.0, "needed": 0.5, "useless": -0.25},
    },
    "dear subgoals": {
        "depth": 3,
        "mixes": 8,
        "rewards": {"goal": 3.0, "needed": -0.5, "useless": 0.25},
    },
    "mean": {"agents": 2, "depth": 2, "mixes": 5, "shared_reward": True},
    "several products": {"depth": 3, "mixes": 12, "goals": ["house"]},
}


def said_by(dice: Stream, slow: SlowCraft, env: Any, agent: int) -> tuple[Said, Any]:
    """Draw a command: as the slow rules and as the real ones take it."""
    world, slots = env.world, env.world.envelope.slots
    table, book = slow.table(agent), slow.book
    kind = dice.integer(10)
    if kind == 0:
        return ("wait",), world.num_actions - 1
    if kind == 1 and slow.config.trade:
        slot, other = 1 + dice.integer(len(table) + 1), dice.integer(slow.config.agents)
        return ("give", slot, other), slots + other * slots + slot - 1
    if kind <= 3:
        names = sorted(table.values()) or [slow.goal]
        one, two = (names[dice.integer(len(names))] for _ in range(2))
        if kind == 3 and dice.integer(4) == 0:
            two = book.entities[dice.integer(len(book.entities))]
        command = Command("combine", {"first": one, "second": two})
        return ("pair", one, two), command
    slot = 1 + dice.integer(min(slots, len(table) + 1))
    return ("pick", slot), slot - 1


@pytest.mark.parametrize("case", CONFIGS)
def test_the_rules_are_the_slow_ones(case: str, tmp_path: Path) -> None:
    config = dict(CONFIGS[case])
    if case == "several products":
        config["recipes"] = book_file(tmp_path)
    env, dice = piase_gym.parallel_env("WordCraft", **config), Stream(3)
    seen = set()
    for seed in range(60):
        env.reset(seed=seed)
        slow = SlowCraft(env)
        while env.agents:
            drawn = [said_by(dice, slow, env, agent) for agent in range(len(env.agents))]
            names = list(env.agents)
            acts = {name: act for name, (_, act) in zip(names, drawn, strict=True)}
            rewards, outcomes = slow.step([said for said, _ in drawn])
            _, paid, terminated, truncated, infos = env.step(acts)
            assert [infos[name]["outcome"] for name in names] == outcomes
            assert list(paid.values()) == pytest.approx(rewards)
            seen |= {*outcomes, *(round(reward, 3) for reward in rewards)}
            for agent, name in enumerate(names):
                facts = env.world.facts(agent)
                table = {k: thing for k, thing in enumerate(facts.table, 1) if thing}
                assert table == slow.table(agent)
                assert facts.holding == slow.hands[agent]
                assert facts.mixes_left == slow.config.allowed_mixes - slow.used[agent]
                assert terminated[name] == slow.won
                assert truncated[name] == (slow.over and not slow.won)
                if slow.over:
                    assert infos[name]["result"] == ("won" if slow.won else "lost")
    assert {"ok", "failed", "illegal"} <= seen
    assert len(seen) > 4 or case in ("evaluation", "no subgoals")


def play(env: Any, *lines: str) -> list[tuple[float, str]]:
    """Play lines of text; returns rewards and outcomes."""
    found = []
    for line in lines:
        _, rewards, _, _, infos = env.step({"agent_0": line})
        found.append((rewards["agent_0"], str(infos["agent_0"]["outcome"])))
    return found


def house(tmp_path: Path, **config: Any) -> Any:
    """Return an environment whose task is a house of bricks."""
    env = piase_gym.parallel_env(
        "WordCraft",
        recipes=book_file(tmp_path),
        goals="house",
        depth=3,
        mixes=9,
        actions="text",
        view="text",
        **config,
    )
    env.reset(seed=0)
    return env


def test_the_table_of_rewards(tmp_path: Path) -> None:
    env = house(tmp_path)
    text = env.reset(seed=0)[0]["agent_0"]
    assert text.startswith("You are agent_0. Make this: house.\nOn the table: 1 ")
    assert play(
        env,
        "combine water and fire",  # steam and dew at once, neither of which is needed
        "combine water and water",
        "Mix the water with the earth.",
        "combine earth and water",  # again
        "combine mud and fire",
        "combine house and water",
        "combine glass and water",
        "combine brick and brick",
    ) == [
        (-0.1, "ok"),
        (-0.1, "failed"),
        (1.0, "ok"),
        (0.0, "failed"),
        (1.0, "ok"),
        (0.0, "illegal"),
        (0.0, "unparsable"),
        (1.0, "ok"),
    ]
    assert env.agents == []
    things = {thing for thing in env.world.facts(0).table if thing}
    assert things == {*SMALL}


def test_evaluation_rewards_the_goal_alone(tmp_path: Path) -> None:
    lines = ("combine water and fire", "combine water and earth", "combine mud and fire")
    env = house(tmp_path, evaluation=True)
    assert [reward for reward, _ in play(env, *lines, "combine brick and mud")] == [0, 0, 0, 1]
    env = house(tmp_path, subgoal_rewards=False)
    rewards = [reward for reward, _ in play(env, *lines, "combine brick and mud")]
    assert rewards == [-0.1, 0, 0, 1]


def test_picks_by_name_and_number(tmp_path: Path) -> None:
    env = house(tmp_path)
    slot = env.world.facts(0).table.index("water") + 1
    assert play(env, "pick water", f"pick {slot}") == [(0.0, "ok"), (-0.1, "failed")]
    assert env.world.facts(0).combined == ("water", "water")
    assert play(env, "pick 9", "pick glass", "pick", "combine water") == [
        (0.0, "illegal"),
        *[(0.0, "unparsable")] * 3,
    ]
    infos = env.step({"agent_0": "pick watr"})[4]
    assert "did you mean 'water'" in infos["agent_0"]["feedback"]
    told = []
    for line in ("combine house and water", "pick 9"):
        told.append(env.step({"agent_0": line})[4]["agent_0"]["feedback"])
    assert told == [
        "You cannot combine house and water: there is no house on your table.",
        "You cannot pick 9: nothing lies in place 9.",
    ]
    play(env, "pick fire", "combine water and earth")  # what was held is put back
    assert env.world.facts(0).holding is None


def test_names_with_and_in_them(tmp_path: Path) -> None:
    recipes = {"salt and pepper": (), "fish": (), "dinner": [("salt and pepper", "fish")]}
    env = piase_gym.parallel_env(
        "WordCraft", recipes=book_file(tmp_path, recipes), view="text", actions="text"
    )
    env.reset(seed=0)
    assert play(env, "combine salt and pepper and fish") == [(1.0, "ok")]


@pytest.mark.parametrize("end", ["", ".", "!"])
def test_names_with_a_mark_at_their_end(end: str, tmp_path: Path) -> None:
    """The original's book has a 'double rainbow!'."""
    recipes = {"sun": (), "rain": (), "bow": (), "bow!": (), "sky": [("bow!", "sun")]}
    form = {"recipes": book_file(tmp_path, recipes), "mixes": 9}
    env = piase_gym.parallel_env("WordCraft", **form, view="text", actions="text")  # type: ignore[arg-type]
    for line in ("combine sun and bow!", "sun + bow!", "the bow! with a sun", "Mix SUN with BOW!"):
        env.reset(seed=0)
        (found,) = play(env, line.replace("the", "combine the") + end)
        assert found == (1.0, "ok")
    env.reset(seed=0)
    assert play(env, f"pick bow!{end}") == [(0.0, "ok")]
    assert env.world.facts(0).holding == "bow!"


@pytest.mark.parametrize("case", ["one", "shared table", "trade"])
def test_a_batch_does_what_one_does(case: str) -> None:
    config = CONFIGS[case]
    batch = piase_gym.batch_env("WordCraft", num_envs=8, autoreset="disabled", **config)
    shown, infos = batch.reset(seed=40)
    envs = [piase_gym.parallel_env("WordCraft", **config) for _ in range(8)]
    views = [env.reset(seed=40 + k)[0] for k, env in enumerate(envs)]
    dice = np.random.default_rng(1)
    for _ in range(12):
        for k, env in enumerate(envs):
            for agent, name in enumerate(env.agents):
                assert np.array_equal(shown[k, agent], views[k][name]["vector"])
                assert without_last_step(views[k][name]["text"]) == text_of(env.facts(name))
        weights = dice.random(infos["action_mask"].shape) * infos["action_mask"]
        acts = weights.argmax(-1)
        shown, rewards, *_, infos = batch.step(acts)
        for k, env in enumerate(envs):
            if env.agents:
                given = {name: int(acts[k, a]) for a, name in enumerate(env.agents)}
                views[k], paid, *_ = env.step(given)
                assert list(paid.values()) == rewards[k].tolist()


@pytest.mark.parametrize("task", ["Pantry", "Depth5", "Team-2p", "Trade-3p", "NewGoals"])
def test_the_oracle_wins_every_task(task: str) -> None:
    env = piase_gym.parallel_env(f"piase/WordCraft-{task}-v2")
    from piase_gym.agents import Percept, make_agent

    for seed in range(25):
        env.reset(seed=seed)
        oracle, results, step = make_agent("oracle"), {}, 0
        mixes = WordCraftOracle(env.world).certificate(0)
        assert mixes is not None
        assert 0 < mixes <= env.world.config.depth
        while env.agents:
            acts = {}
            for agent, name in enumerate(env.possible_agents):
                oracle.perceive(Percept(env.world, agent, step))
                acts[name] = oracle.act()
            infos, step = env.step(acts)[4], step + 1
            results = {name: info.get("result") for name, info in infos.items()}
        assert set(results.values()) == {"won"}
        used = env.world.states["used"][0, : env.world.config.agents]
        assert mixes == used.sum()
        assert WordCraftOracle(env.world).certificate(0) is None  # the episode is over
